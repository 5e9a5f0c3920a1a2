package httpsource

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/globs"
)

// Config of the source.
type Config struct {
	URLs         []string                    `yaml:"urls" doc:"URLs of documents"`
	Sitemap      []string                    `yaml:"sitemap" doc:"URLs of sitemaps or sitemap indexes, packed or not"`
	Crawl        []string                    `yaml:"crawl" doc:"URLs of pages whose links are followed"`
	Base         string                      `yaml:"base" doc:"URL prefix that is taken off the paths, so that a site may move; nothing outside it is listed"`
	Include      []string                    `yaml:"include" doc:"globs of the paths to list"`
	Exclude      []string                    `yaml:"exclude" doc:"globs of paths to leave out; a crawl does not fetch them"`
	Hosts        []string                    `yaml:"hosts" doc:"further hosts that sitemaps and crawls may lead to"`
	MaxDepth     int                         `yaml:"max_depth" doc:"how many links a crawl goes from its start"`
	MaxPages     int                         `yaml:"max_pages" doc:"a listing that meets more URLs ends with an error"`
	Rate         Rate                        `yaml:"rate" doc:"most requests to one host, such as 2/s or 30/m; 0: no limit"`
	Concurrency  int                         `yaml:"concurrency" doc:"requests of a listing at a time, 1 to 16"`
	Robots       bool                        `yaml:"robots" doc:"obey robots.txt, noindex and nofollow in sitemaps and crawls"`
	TrustLastmod bool                        `yaml:"trust_lastmod" doc:"take a sitemap's lastmod as the version, without asking for each page"`
	UserAgent    string                      `yaml:"user_agent" doc:"User-Agent; default kbsync/VERSION"`
	Headers      map[string]connector.Secret `yaml:"headers" doc:"further request headers"`
	Username     string                      `yaml:"username" doc:"user of basic authentication"`
	Password     connector.Secret            `yaml:"password" doc:"password of basic authentication"`
	Token        connector.Secret            `yaml:"token" doc:"bearer token"`
	Timeout      time.Duration               `yaml:"timeout" doc:"longest silence of a server: connecting, headers, between bytes"`
	MaxSize      int64                       `yaml:"max_size" format:"size" doc:"larger documents are not read, unpacked size; 0: no limit"`
	MaxTreeSize  int64                       `yaml:"max_tree_size" format:"size" doc:"larger documents are cut as plain text, in bounded memory"`
	AllowPrivate bool                        `yaml:"allow_private" doc:"whether addresses in private networks and of this machine may be fetched"`
	Proxy        connector.Secret            `yaml:"proxy" doc:"URL of an HTTP, HTTPS or SOCKS5 proxy; it must check addresses itself"`
}

func defaults() Config {
	return Config{
		Include: []string{"**/*"}, MaxDepth: 2, MaxPages: 10_000, Rate: 2, Concurrency: 4, Robots: true,
		Timeout: 30 * time.Second, MaxSize: 64 << 20, MaxTreeSize: 64 << 20,
	}
}

// forbidden headers are those that the source or the protocol sets.
func forbiddenHeaders() []string {
	return []string{"Accept-Encoding", "Connection", "Content-Length", "Host", "If-Range", "Range", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent"}
}

// Validate checks URLs, patterns and numbers.
func (c *Config) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(c.URLs)+len(c.Sitemap)+len(c.Crawl) == 0 {
		fail("urls, sitemap, crawl: none is given; expected at least one URL")
	}
	if _, err := newScope(c); err != nil {
		errs = append(errs, err)
	}
	if err := globs.Validate(c.Include, c.Exclude); err != nil {
		errs = append(errs, err)
	}
	if c.MaxDepth < 0 || c.MaxSize < 0 || c.MaxTreeSize < 0 || c.Rate < 0 {
		fail("max_depth, max_size, max_tree_size, rate: expected 0 or more")
	}
	if c.MaxPages < 1 {
		fail("max_pages: expected 1 or more")
	}
	if c.Concurrency < 1 || c.Concurrency > 16 {
		fail("concurrency: expected 1 to 16")
	}
	if c.Timeout <= 0 {
		fail("timeout: expected more than 0")
	}
	if !httpguts.ValidHeaderFieldValue(c.UserAgent) {
		fail("user_agent: not a valid header value")
	}
	return errors.Join(append(errs, c.validateSecrets()...)...)
}

func (c *Config) validateSecrets() []error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		switch {
		case !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(c.Headers[name].Reveal()):
			fail("headers: %q is not a valid header", name)
		case slices.Contains(forbiddenHeaders(), http.CanonicalHeaderKey(name)):
			fail("headers: %s is set by the source itself", http.CanonicalHeaderKey(name))
		}
	}
	if c.Token != "" && (c.Username != "" || c.Password != "") {
		fail("token: cannot be used together with username and password")
	}
	if c.Username == "" && c.Password != "" {
		fail("username: missing beside password")
	}
	if strings.Contains(c.Username, ":") {
		fail("username: cannot hold a colon")
	}
	if !httpguts.ValidHeaderFieldValue(c.Token.Reveal()) {
		fail("token: not a valid header value")
	}
	if _, err := c.proxyURL(); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// proxyURL is nil where there is no proxy. The error does not quote it: it may hold a password.
func (c *Config) proxyURL() (*url.URL, error) {
	if c.Proxy == "" {
		return nil, nil //nolint:nilnil // no proxy is no fault
	}
	u, err := url.Parse(c.Proxy.Reveal())
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		return nil, errors.New("proxy: expected a URL such as http://proxy.example:3128 or socks5://proxy.example:1080")
	}
	return u, nil
}

func (c *Config) userAgent() string {
	if c.UserAgent != "" {
		return c.UserAgent
	}
	if info, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(info.Main.Version, "v") {
		return "kbsync/" + strings.TrimPrefix(info.Main.Version, "v")
	}
	return "kbsync"
}

// productToken is the name in a User-Agent by which robots.txt calls a robot.
func productToken(userAgent string) string {
	end := strings.IndexFunc(userAgent, func(r rune) bool {
		return r != '-' && r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if end < 0 {
		end = len(userAgent)
	}
	return strings.ToLower(userAgent[:end])
}
