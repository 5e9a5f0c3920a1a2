package httpsource

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
)

func (s *site) mapped() Config {
	c := s.config()
	c.Sitemap = []string{s.URL + "/sitemap.xml"}
	return c
}

func (s *site) file(name, content string) {
	s.page(name, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, content) })
}

func urlset(locs ...string) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	for _, l := range locs {
		b.WriteString("<url><loc>" + html.EscapeString(l) + "</loc></url>")
	}
	return b.String() + "</urlset>"
}

func index(locs ...string) string {
	return strings.NewReplacer("urlset", "sitemapindex", "<url>", "<sitemap>", "</url>", "</sitemap>").Replace(urlset(locs...))
}

func zipped(text string) string {
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	_, _ = io.WriteString(zw, text)
	_ = zw.Close()
	return b.String()
}

// TestSitemapIndex: indexes, packed files, files packed for the way, other namespaces, CDATA, other encodings; in the order of the files.
func TestSitemapIndex(t *testing.T) {
	s := newSite(t)
	for i := range 9 {
		s.put(fmt.Sprint("p", i), "text")
	}
	s.put("päge", "latin 1")
	s.put("a&b", "entity")
	s.file("sitemap.xml", index(s.URL+"/one.xml", s.URL+"/two.xml.gz", "/three.xml", s.URL+"/index2.xml"))
	s.file("one.xml", `<?xml version="1.0"?><!-- c --><s:urlset xmlns:s="http://www.google.com/schemas/sitemap/0.84" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
		<s:url><s:loc> `+s.URL+`/p0
		</s:loc><image:image><image:loc>`+s.URL+`/picture.png</image:loc></image:image></s:url>
		<s:url><s:loc><![CDATA[`+s.URL+`/a&b]]></s:loc><s:priority>0.5</s:priority></s:url></s:urlset>`)
	s.file("two.xml.gz", zipped(urlset(s.URL+"/p1", s.URL+"/p2", s.URL+"/p1#again")))
	s.page("three.xml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, zipped("\xef\xbb\xbf"+urlset(s.URL+"/p3")))
	})
	s.file("index2.xml", index(s.URL+"/four.xml"))
	s.file("four.xml", `<?xml version="1.0" encoding="ISO-8859-1"?><urlset><url><loc>`+s.URL+"/p\xe4ge</loc></url></urlset>\n")
	expect(t, items(t, mustOpen(t, s.mapped())), "p0", "a&b", "p1", "p2", "p3", "päge")
}

// TestNoSitemap: whatever is no whole sitemap ends the listing; it never looks like fewer documents.
func TestNoSitemap(t *testing.T) {
	s := newSite(t)
	s.put("a", "a")
	whole := urlset(s.at("a"), s.at("a2"))
	for name, content := range map[string]string{
		"cut":            whole[:len(whole)-20],
		"cut in a tag":   whole[:len(whole)-5],
		"empty":          "",
		"html":           "<!DOCTYPE html><html><body>Not found</body></html>",
		"html as xml":    "<html><urlset><url><loc>" + s.at("a") + "</loc></url></urlset></html>",
		"text":           s.at("a") + "\n",
		"json":           "{}",
		"two roots":      whole + whole,
		"wrong nesting":  "<urlset><url><loc>x</url></loc></urlset>",
		"no loc":         "<urlset><url></url></urlset>",
		"not http":       urlset("ftp://x/"),
		"userinfo":       urlset("http://u:p@" + s.host() + "/a"),
		"entities":       `<!DOCTYPE u [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><urlset><url><loc>` + s.URL + `/&b;</loc></url></urlset>`,
		"external":       `<!DOCTYPE u [<!ENTITY x SYSTEM "file:///etc/passwd">]><urlset><url><loc>` + s.URL + `/&x;</loc></url></urlset>`,
		"deep":           "<urlset>" + strings.Repeat("<a>", 100),
		"long text":      "<urlset><url><loc>" + strings.Repeat("x", maxSitemapToken+1),
		"long tag":       "<urlset><url " + strings.Repeat("a='' ", maxSitemapToken/4),
		"many entries":   "<urlset>" + strings.Repeat("<url><loc>"+s.at("a")+"</loc></url>", maxSitemapEntries+1) + "</urlset>",
		"gzip, cut":      zipped(whole)[:60],
		"gzip bomb":      zipped("<urlset>" + strings.Repeat(" ", 4*maxSitemapToken) + "</urlset>"),
		"points nowhere": index(s.URL + "/missing.xml"),
		"points away":    index("http://elsewhere.example/sitemap.xml"),
		"points at self": index(s.URL + "/sitemap.xml"),
	} {
		s.file("sitemap.xml", content)
		got := items(t, mustOpen(t, s.mapped()))
		if len(got) != 1 || !strings.HasPrefix(got[0], "! ") || strings.Contains(got[0], "! unknown") {
			t.Errorf("%s: %.300q", name, got)
		}
	}
}

// TestSitemapFiles: an index that names many files, or files that name as many again, has an end.
func TestSitemapFiles(t *testing.T) {
	for _, first := range []int{maxSitemapFiles + 1, maxSitemapFiles - 50} {
		s := newSite(t)
		s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			locs := make([]string, map[bool]int{true: first, false: 100}[r.URL.Path == "/sitemap.xml"])
			for i := range locs {
				locs[i] = fmt.Sprintf("%s%s-%d", s.URL, r.URL.Path, i)
			}
			_, _ = io.WriteString(w, index(locs...))
		})
		expectLike(t, items(t, mustOpen(t, s.mapped())), "more than 5000 sitemap files")
	}
}

func TestSitemapScope(t *testing.T) {
	s, other := newSite(t), newSite(t)
	s.put("a.md", "a")
	s.put("b.txt", "b")
	other.put("c.md", "c")
	s.robots("User-agent: *\nDisallow: /no")
	s.page("noindex.md", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Robots-Tag", "noindex") })
	s.redirect("away.md", other.URL+"/c.md")
	s.file("sitemap.xml", urlset(s.at("a.md"), s.at("b.txt"), other.at("c.md"), s.at("no.md"), s.at("index.md"), s.at("noindex.md"), s.at("away.md"), s.at("gone.md")))
	s.robots("User-agent: *\nDisallow: /no.md")
	c := s.mapped()
	c.Base, c.Include = "", []string{"**/*.md"}
	h := s.host() + "/"
	expectLike(t, items(t, mustOpen(t, c)), h+"a.md", other.host()+"/c.md: its host is not that of the sitemap; add "+other.host()+" to hosts", h+"no.md: robots.txt", h+"noindex.md: X-Robots-Tag: noindex",
		"! invalid: "+h+"away.md: http: "+s.URL+"/away.md: it redirects to another host")
	expect(t, other.requests())
	c.Hosts = []string{other.host()}
	expectLike(t, items(t, mustOpen(t, c)), h+"a.md", other.host()+"/c.md", h+"no.md: robots.txt", h+"noindex.md: ", h+"away.md")
}

func TestMaxPagesOfSitemaps(t *testing.T) {
	s := newSite(t)
	var locs []string
	for i := range 10 {
		name := fmt.Sprint("p", i)
		s.put(name, "text")
		locs = append(locs, s.at(name))
	}
	s.file("sitemap.xml", urlset(locs...))
	c := s.mapped()
	c.MaxPages = 3
	expectLike(t, items(t, mustOpen(t, c)), "p0", "p1", "p2", "! invalid: http: more than max_pages (3) URLs")
	c.MaxPages = 10
	if got := items(t, mustOpen(t, c)); len(got) != 10 {
		t.Errorf("%q", got)
	}
}

// TestTrustLastmod: then the sitemap alone is read, and its dates are the versions.
func TestTrustLastmod(t *testing.T) {
	s := newSite(t)
	s.put("a.md", "a")
	s.put("b.md", "b")
	s.put("c.md", "c")
	today := time.Now().UTC().Format(time.DateOnly)
	s.file("sitemap.xml", `<urlset><url><loc>`+s.at("a.md")+`</loc><lastmod>2024-05-01T12:00:00+02:00</lastmod></url>
		<url><lastmod>`+today+`</lastmod><loc>`+s.at("b.md")+`</loc></url><url><loc>`+s.at("c.md")+`</loc></url></urlset>`)
	c := s.mapped()
	c.TrustLastmod = true
	docs := listed(t, mustOpen(t, c))
	expect(t, s.requests(), "GET sitemap.xml", "HEAD c.md")
	type seen struct {
		version   string
		unsettled bool
		modified  string
	}
	var got []string
	for _, d := range docs {
		got = append(got, fmt.Sprint(seen{d.Version, d.Unsettled, d.ModifiedAt.Format(time.RFC3339)}))
	}
	expectLike(t, got, "{lastmod 2024-05-01T12:00:00+02:00 false 2024-05-01T10:00:00Z}", "{lastmod "+today+" true ", `{"`)
	text, version := read(t, docs[0])
	if text != "a" || version != "" || docs[0].OpenAt != nil || docs[0].Size != -1 {
		t.Errorf("%q, %q, %+v", text, version, docs[0])
	}
	c.TrustLastmod = false
	if docs := listed(t, mustOpen(t, c)); len(docs) != 3 || !strings.HasPrefix(docs[0].Version, `"`) {
		t.Errorf("%+v", docs)
	}
}

// TestUnchanged: a sync of an unchanged site costs a request for each URL, and no content.
func TestUnchanged(t *testing.T) {
	s := newSite(t)
	var locs []string
	for i := range 50 {
		name := fmt.Sprintf("p%02d", i)
		s.put(name, "text")
		locs = append(locs, s.at(name))
	}
	s.file("sitemap.xml", urlset(locs...))
	src := mustOpen(t, s.mapped())
	first := listed(t, src)
	s.requests()
	second := listed(t, src)
	for i := range first {
		if first[i].Path != second[i].Path || first[i].Version != second[i].Version || first[i].Version == "" {
			t.Errorf("%+v, then %+v", first[i], second[i])
		}
	}
	gets := 0
	for _, r := range s.requests() {
		if strings.HasPrefix(r, "GET p") {
			gets++
		}
	}
	if gets > 0 {
		t.Errorf("%d documents were read", gets)
	}
	var _ connector.Resumer = src
}

func FuzzSitemap(f *testing.F) {
	f.Add([]byte(urlset("http://h.example/a")))
	f.Add([]byte(index("http://h.example/a")))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, entries, err := parseSitemap(bytes.NewReader(data))
		if err != nil && len(entries) > 0 {
			t.Error("a part of a broken sitemap is handed out")
		}
	})
}

func FuzzPage(f *testing.F) {
	f.Add("<a href=x rel=nofollow><base href=y><link rel=canonical href=z><meta name=robots content=none>")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := readPage(strings.NewReader(text), "text/html", "kbsync"); err != nil {
			t.Error(err)
		}
	})
}
