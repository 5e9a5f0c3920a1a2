package httpsource

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/html/charset"

	"github.com/kbsync/kbsync/connector"
)

// Bounds of sitemaps: those of the protocol (sitemaps.org), and a few that it lacks.
const (
	maxSitemap        = 50 << 20 // unpacked bytes of one file
	maxSitemapEntries = 50_000   // of one file
	maxSitemapFiles   = 5_000
	maxSitemapDepth   = 3       // an index of indexes of sitemaps
	maxSitemapToken   = 1 << 20 // bytes of one element's tag or text
	maxSitemapNesting = 32
)

// sitemapFile is a sitemap that is to be read.
type sitemapFile struct {
	url   *url.URL
	depth int
}

// sitemapEntry is a <url> or <sitemap>.
type sitemapEntry struct{ loc, lastmod string }

// sitemap reads the file at the head of l.files and puts what it names into the queue, or before the other files. A fault leaves
// everything as it is.
func (l *listing) sitemap(ctx context.Context, f sitemapFile) error {
	if l.fetchN >= maxSitemapFiles {
		return connector.Errorf(connector.ClassInvalid, "http: more than %d sitemap files; name fewer of them", maxSitemapFiles)
	}
	index, entries, err := l.source.readSitemap(ctx, f.url)
	if err != nil {
		return err
	}
	var files []sitemapFile
	for _, e := range entries {
		u, ok := l.source.scope.link(f.url, e.loc)
		switch {
		case !ok:
			return connector.Errorf(connector.ClassInvalid, "http: sitemap %s: %.100q is no URL that can be fetched", display(f.url), e.loc)
		case !index:
			l.add(u, item{origin: mapped, lastmod: e.lastmod})
		case !l.source.scope.sitemapHosts[u.Host]:
			return connector.Errorf(connector.ClassInvalid, "http: sitemap %s names one on another host; add %s to hosts if it should be read", display(f.url), u.Host)
		case f.depth+1 >= maxSitemapDepth:
			return connector.Errorf(connector.ClassInvalid, "http: sitemap %s: sitemap indexes are nested more than %d deep", display(f.url), maxSitemapDepth-1)
		default:
			files = append(files, sitemapFile{u, f.depth + 1})
		}
	}
	if len(l.files)+len(files)+l.fetchN > maxSitemapFiles {
		return connector.Errorf(connector.ClassInvalid, "http: sitemap %s: more than %d sitemap files; name fewer of them", display(f.url), maxSitemapFiles)
	}
	l.fetchN++
	l.files = append(files, l.files[1:]...)
	return nil
}

// readSitemap fetches one file whole: a part of it would look like fewer documents.
func (s *Source) readSitemap(ctx context.Context, u *url.URL) (index bool, entries []sitemapEntry, err error) {
	a, err := s.fetch(ctx, http.MethodGet, u, nil, patience*s.config.Timeout)
	if err != nil {
		return false, nil, err
	}
	defer func() { _ = a.body.Close() }()
	if err := s.success(a); err != nil {
		return false, nil, err
	}
	r, err := a.content(maxSitemap)
	if err != nil {
		return false, nil, err
	}
	fault := &faults{r: r}
	packed := bufio.NewReader(fault)
	if magic, _ := packed.Peek(2); string(magic) == "\x1f\x8b" {
		zr, err := gzip.NewReader(packed)
		if err != nil {
			return false, nil, notSitemap(u, fault, err)
		}
		r = &capped{r: zr, left: maxSitemap, limit: maxSitemap, url: u}
	} else {
		r = packed
	}
	index, entries, err = parseSitemap(r)
	if err != nil {
		return false, nil, notSitemap(u, fault, err)
	}
	return index, entries, nil
}

// notSitemap tells a transfer that broke from a file that is none.
func notSitemap(u *url.URL, f *faults, err error) error {
	if f.err != nil {
		return f.err
	}
	return connector.Errorf(connector.ClassInvalid, "http: %s is no complete sitemap: %w", display(u), err)
}

// parseSitemap reads a urlset or a sitemapindex, whatever its namespaces; only loc and lastmod right inside an entry count, those of
// image and news extensions do not.
func parseSitemap(r io.Reader) (index bool, entries []sitemapEntry, err error) {
	budget := &budget{r: r, left: maxSitemapToken}
	d := xml.NewDecoder(budget)
	d.CharsetReader = charset.NewReaderLabel
	var nest []string
	var text strings.Builder
	var entry sitemapEntry
	closed := false
	for {
		budget.left = maxSitemapToken
		t, err := d.RawToken() // namespaces are beside the point, and entities are never expanded
		if errors.Is(err, io.EOF) && closed {
			return index, entries, nil
		}
		if err != nil {
			return false, nil, sitemapFault(err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			nest = append(nest, t.Name.Local)
			text.Reset()
			switch {
			case closed, len(nest) > maxSitemapNesting:
				return false, nil, errors.New("its elements are nested as in no sitemap")
			case len(nest) == 1 && t.Name.Local != "urlset" && t.Name.Local != "sitemapindex":
				return false, nil, fmt.Errorf("it starts with <%.40s>, not with <urlset> or <sitemapindex>", t.Name.Local)
			case len(nest) == 1:
				index = t.Name.Local == "sitemapindex"
			case len(nest) == 2:
				entry = sitemapEntry{}
			}
		case xml.CharData:
			if len(nest) == 3 && text.Len() < 4*maxURL {
				text.Write(t)
			}
		case xml.EndElement:
			if len(nest) == 0 || nest[len(nest)-1] != t.Name.Local {
				return false, nil, fmt.Errorf("</%.40s> closes another element", t.Name.Local)
			}
			switch within := strings.Join(nest, " "); within {
			case "urlset url loc", "sitemapindex sitemap loc":
				entry.loc = strings.TrimSpace(text.String())
			case "urlset url lastmod", "sitemapindex sitemap lastmod":
				entry.lastmod = strings.TrimSpace(text.String())
			case "urlset url", "sitemapindex sitemap":
				if len(entries) >= maxSitemapEntries {
					return false, nil, fmt.Errorf("it has more than %d entries", maxSitemapEntries)
				}
				if entry.loc == "" {
					return false, nil, errors.New("an entry has no loc")
				}
				entries = append(entries, entry)
			}
			nest = nest[:len(nest)-1]
			closed = len(nest) == 0
		}
	}
}

func sitemapFault(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// budget bounds how much is read for one token, so that no tag or text grows without end in memory.
type budget struct {
	r    io.Reader
	left int
}

func (b *budget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("a tag or text is longer than %d bytes", maxSitemapToken)
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
