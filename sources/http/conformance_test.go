package httpsource

import (
	"fmt"
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector/sourcetest"
)

func TestConformanceSitemap(t *testing.T) {
	sourcetest.Run(t, func(tb testing.TB) sourcetest.Fixture {
		s := newSite(tb)
		s.page("sitemap.xml", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
			for _, name := range s.names() {
				_, _ = fmt.Fprintf(w, "<url><loc>%s</loc></url>\n", html.EscapeString(s.at(name)))
			}
			_, _ = fmt.Fprint(w, `</urlset>`)
		})
		f := s.fixture(func(c *Config) { c.Sitemap = []string{s.URL + "/sitemap.xml"} })
		f.Break = func(testing.TB) { s.status("sitemap.xml", http.StatusInternalServerError) }
		return f
	})
}

func TestConformanceCrawl(t *testing.T) {
	sourcetest.Run(t, func(tb testing.TB) sourcetest.Fixture {
		s := newSite(tb)
		s.page("", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			for _, name := range s.names() {
				_, _ = fmt.Fprintf(w, "<p><a href=\"%s\">x</a>\n", html.EscapeString(strings.TrimPrefix(s.at(name), s.URL)))
			}
		})
		f := s.fixture(func(c *Config) {
			c.Crawl = []string{s.URL}
			c.Include = []string{"**/*.*", "sp/**", "a[?]x*"} // not the root itself, which is "./"
		})
		f.Break = func(testing.TB) { s.status("", http.StatusInternalServerError) }
		return f
	})
}
