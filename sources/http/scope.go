package httpsource

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// scope is where the configuration lets a listing go.
type scope struct {
	urls, sitemaps, crawls []*url.URL
	base                   string          // host and path, with a slash at its end; empty: none
	sitemapHosts           map[string]bool // where entries of sitemaps may lie
	crawlHosts             map[string]bool
	secure                 map[string]bool // hosts that the configuration names with https
	origins                map[string]bool // scheme and host of what the configuration names: credentials go there
}

func newScope(c *Config) (*scope, error) {
	s := &scope{sitemapHosts: map[string]bool{}, crawlHosts: map[string]bool{}, secure: map[string]bool{}, origins: map[string]bool{}}
	var errs []error
	if c.Base != "" {
		u, err := parseURL(c.Base)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("base: %w", err))
		case u.RawQuery != "":
			errs = append(errs, errors.New("base: a prefix cannot hold a query"))
		default:
			s.base = strings.TrimSuffix(hostPath(u), "/") + "/"
		}
	}
	for _, list := range []struct {
		key  string
		in   []string
		out  *[]*url.URL
		host map[string]bool
	}{{"urls", c.URLs, &s.urls, nil}, {"sitemap", c.Sitemap, &s.sitemaps, s.sitemapHosts}, {"crawl", c.Crawl, &s.crawls, s.crawlHosts}} {
		for i, text := range list.in {
			u, err := parseURL(text)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s[%d]: %w", list.key, i, err)) // without the URL: it may hold a password
				continue
			}
			if _, ok := s.path(u); !ok && list.key != "sitemap" {
				errs = append(errs, fmt.Errorf("%s[%d]: %s lies outside base", list.key, i, u))
			}
			*list.out = append(*list.out, u)
			if list.host != nil {
				list.host[u.Host] = true
			}
			s.origins[u.Scheme+"://"+u.Host] = true
			if u.Scheme == "https" {
				s.secure[u.Host] = true
			}
		}
	}
	for i, text := range c.Hosts {
		u, err := parseURL("https://" + text + "/")
		if err != nil || strings.ContainsAny(text, "/?#@") {
			errs = append(errs, fmt.Errorf("hosts[%d]: expected a host such as docs.example.com or docs.example.com:8080", i))
			continue
		}
		s.sitemapHosts[u.Host], s.crawlHosts[u.Host] = true, true
	}
	return s, errors.Join(errs...)
}

// path is the identity of a URL; false where it lies outside base.
func (s *scope) path(u *url.URL) (string, bool) {
	p := hostPath(u)
	if s.base == "" {
		return p, true
	}
	rest, ok := strings.CutPrefix(p, s.base)
	if ok && (rest == "" || rest[0] == '/') { // no other path starts with "./": dot segments are resolved
		rest = "./" + rest
	}
	return rest, ok
}

// link normalises a URL that a page or a sitemap names. Hosts that the configuration names with https are asked by https.
func (s *scope) link(base *url.URL, ref string) (*url.URL, bool) {
	ref = strings.Trim(ref, "\x00\t\n\f\r ")
	if strings.ContainsAny(ref, "\t\n\r") {
		ref = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(ref)
	}
	u, err := url.Parse(strayPercents(ref))
	if err != nil {
		return nil, false
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	if u.Scheme == "http" && s.secure[strings.ToLower(u.Host)] {
		u.Scheme = "https"
	}
	if u, err = normalize(u); err != nil {
		return nil, false
	}
	return u, true
}

// strayPercents encodes each % that starts no escape, as browsers take it.
func strayPercents(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte(s[i])
		if s[i] == '%' && (i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2])) {
			b.WriteString("25")
		}
	}
	return b.String()
}
