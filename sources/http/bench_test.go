package httpsource

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
)

// BenchmarkList lists 100,000 URLs of two sitemaps by HEAD and reports the largest heap on the way.
func BenchmarkList(b *testing.B) {
	const n = 100_000
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		part, isMap := strings.CutPrefix(r.URL.Path, "/map")
		switch {
		case r.URL.Path == "/index":
			_, _ = fmt.Fprintf(w, "<sitemapindex><sitemap><loc>%s/map0</loc></sitemap><sitemap><loc>%s/map1</loc></sitemap></sitemapindex>", s.URL, s.URL)
		case isMap:
			_, _ = fmt.Fprint(w, "<urlset>")
			for i := range n / 2 {
				_, _ = fmt.Fprintf(w, "<url><loc>%s/section-%s/topic-%d/page-%d.html</loc></url>", s.URL, part, i/100, i)
			}
			_, _ = fmt.Fprint(w, "</urlset>")
		case r.URL.Path == "/robots.txt":
			http.NotFound(w, r)
		default:
			w.Header().Set("Etag", `"1"`)
		}
	}))
	defer s.Close()
	c := defaults()
	c.AllowPrivate, c.Rate, c.MaxPages, c.Sitemap, c.Concurrency = true, 0, 2*n, []string{s.URL + "/index"}, 8
	src, err := Open(c)
	must(b, err)
	defer func() { must(b, src.Close()) }()
	var mem runtime.MemStats
	peak := uint64(0)
	for b.Loop() {
		got := 0
		for _, err := range src.Changes(b.Context()) {
			must(b, err)
			if got++; got%10_000 == 1 {
				runtime.GC()
				runtime.ReadMemStats(&mem)
				peak = max(peak, mem.HeapAlloc)
			}
		}
		if got != n {
			b.Fatal(got)
		}
	}
	b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "URLs/s")
}
