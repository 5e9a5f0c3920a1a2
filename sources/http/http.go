// Package httpsource lists the pages and files of web sites: a list of URLs, what sitemaps name, what a polite crawl finds.
//
// Nothing is kept from one run to the next. Each listed URL costs a HEAD request, whose ETag, or else Last-Modified and length, is the
// version of the document; a crawl costs a GET of each page. Where a server gives neither, the version is empty and the engine reads
// and compares the content.
//
// # Config
//
// urls, sitemap and crawl say where documents are; at least one of them is needed. hosts are further hosts that sitemaps and crawls may
// lead to. base is a prefix that is taken off the paths; what lies outside it is not listed. include and exclude are globs over the
// paths. rate holds for each host, and is lowered where robots.txt asks for a Crawl-delay. username and password, token and headers go
// to the hosts of urls, sitemap and crawl alone, never to where a redirect leads. Addresses in private networks are refused unless
// allow_private is set; the proxies of the environment are not used, because behind a proxy the address cannot be checked.
//
// # Limits
//
// A listing that meets more than max_pages URLs ends with an error: what was found is stored, and nothing is deleted. Links are taken
// from the first 8 MiB of an HTML page; no script is run. Sitemaps are XML, packed or not, of at most 50 MiB and 50,000 entries each, in
// at most 5,000 files. robots.txt is read up to 512 KiB. URLs over 2,048 bytes are skipped. While a page that may hold links cannot be
// read, a crawl deletes nothing.
package httpsource

import (
	"context"
	"fmt"
	"iter"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/globs"
)

// Source lists web sites.
type Source struct {
	config  Config
	scope   *scope
	filter  *globs.Filter
	reach   *globs.Filter // exclude alone: which pages may be fetched to find links
	base    *http.Transport
	client  *http.Client
	limits  *limits
	bodies  *bodies
	secrets *secrets
	robot   string // the name that robots.txt knows

	mu   sync.Mutex
	last *listing
}

var _ connector.Resumer = (*Source)(nil)

// Plugin is the registry entry of kind "http".
func Plugin() connector.SourcePlugin {
	return connector.Define("http", "Pages and files of web sites: listed, by sitemap or by a polite crawl.", defaults(),
		func(_ context.Context, c *Config, _ connector.Env) (connector.Source, error) {
			return Open(*c)
		})
}

// Open makes the source. Nothing is fetched before the first listing.
func Open(c Config) (*Source, error) {
	return open(c, nil)
}

// open takes the resolver of names; nil is that of the system.
func open(c Config, resolver *net.Resolver) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	sc, err := newScope(&c)
	if err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	s := &Source{
		config: c, scope: sc,
		filter:  globs.New(c.Include, c.Exclude),
		reach:   globs.New([]string{"**"}, c.Exclude),
		limits:  newLimits(float64(c.Rate)),
		bodies:  newBodies(cachedBodies),
		secrets: newSecrets(&c, sc),
		robot:   productToken(c.userAgent()),
	}
	if s.base, err = newTransport(&c, resolver); err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	s.client = &http.Client{Transport: &transport{source: s, next: s.base}, CheckRedirect: s.checkRedirect}
	return s, nil
}

// Capabilities promises no versions: not every server gives one.
func (s *Source) Capabilities() connector.SourceCapabilities {
	return connector.SourceCapabilities{MaxTreeSize: s.config.MaxTreeSize}
}

// Changes lists urls, then what the sitemaps name, then what the crawl finds, breadth first. Whatever could make the listing look shorter
// than it is ends it with an error: a sitemap, a start page or a robots.txt that cannot be had, an overloaded server.
func (s *Source) Changes(ctx context.Context) iter.Seq2[connector.Change, error] {
	return func(yield func(connector.Change, error) bool) {
		l := newListing(s)
		s.mu.Lock()
		s.last = l
		s.mu.Unlock()
		l.run(ctx, yield)
	}
}

// Resume goes on with the URL at which the last listing broke.
func (s *Source) Resume(ctx context.Context) iter.Seq2[connector.Change, error] {
	return func(yield func(connector.Change, error) bool) {
		s.mu.Lock()
		if s.last == nil {
			s.last = newListing(s)
		}
		l := s.last
		s.mu.Unlock()
		l.run(ctx, yield)
	}
}

// Close ends idle connections.
func (s *Source) Close() error {
	s.base.CloseIdleConnections()
	s.bodies.clear()
	return nil
}

// settling is how long a content must have been unchanged before Last-Modified, which counts seconds, tells it from the next one
// (RFC 9110, 8.8.2.2).
const settling = time.Minute
