package httpsource

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// crawl is a configuration that crawls the site.
func (s *site) crawl() Config {
	c := s.config()
	c.Crawl = []string{s.URL}
	return c
}

func (s *site) robots(text string) {
	s.page("robots.txt", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
}

// TestCrawl: links of every kind, once each, breadth first, on this host alone; the pages are not fetched again to be read.
func TestCrawl(t *testing.T) {
	s := newSite(t)
	s.html("", `<a href="a.html">a</a> <A HREF='/b.html#part'>b</A> <a href=/b.html>again</a> <a href="http://elsewhere.example/">out</a> <a href="mailto:x@y">m</a>
		<a href="javascript:x()">j</a> <a href="#top">t</a> <a href="">e</a> <a>none</a> <img src="pic.png"> <area href="map.html"> <iframe src="frame.html"></iframe>
		<!-- <a href="commented.html"> --> <script>"<a href='scripted.html'>"</script> <a href="  files/x.pdf?v=1&amp;w=2
">pdf</a> <a href="//`+s.host()+`/100%.html">stray</a>`)
	s.html("a.html", `<base href="/deep/"><a href="c.html">c</a>`)
	for _, name := range []string{"b.html", "map.html", "frame.html", "100%.html", "deep/c.html"} {
		s.html(name, "text of "+name)
	}
	s.put("files/x.pdf?v=1&w=2", "%PDF")
	src := mustOpen(t, s.crawl())
	docs := listed(t, src)
	var got []string
	for _, d := range docs {
		got = append(got, d.Path)
	}
	expect(t, got, "./", "a.html", "b.html", "map.html", "frame.html", "files/x.pdf?v=1&w=2", "100%.html", "deep/c.html")
	s.requests()
	for _, d := range docs {
		text, version := read(t, d)
		if version != d.Version || text == "" {
			t.Errorf("%s: %q under %q, listed as %q", d.Path, text, version, d.Version)
		}
	}
	expect(t, s.requests())
	if text, _ := read(t, docs[2]); text != "text of b.html" {
		t.Errorf("read again: %q", text)
	}
	expect(t, s.requests(), "GET b.html")
}

func TestDepth(t *testing.T) {
	s := newSite(t)
	for i := range 5 {
		s.html(map[bool]string{true: "", false: fmt.Sprint(i)}[i == 0], fmt.Sprintf(`<a href="/%d">next</a><a href="/">home</a>`, i+1))
	}
	for depth, want := range [][]string{{"./"}, {"./", "1"}, {"./", "1", "2"}} {
		c := s.crawl()
		c.MaxDepth = depth
		expect(t, items(t, mustOpen(t, c)), want...)
	}
}

// TestCalendarTrap: a site without end ends the listing with an error, so that nothing is deleted.
func TestCalendarTrap(t *testing.T) {
	s := newSite(t)
	page := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for i := range 10 {
			_, _ = fmt.Fprintf(w, `<a href="/?day=%s%d">next</a>`, r.URL.Query().Get("day"), i)
		}
	}
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		page(w, r)
	})
	c := s.crawl()
	c.MaxPages, c.MaxDepth = 25, 100
	src := mustOpen(t, c)
	got := items(t, src)
	if len(got) != 26 || !strings.HasPrefix(got[25], "! invalid: http: more than max_pages (25) URLs") {
		t.Errorf("%q", got)
	}
	if n := len(src.last.queue); n != 25 {
		t.Errorf("the queue holds %d", n)
	}
}

func TestLongURL(t *testing.T) {
	s := newSite(t)
	long := strings.Repeat("x", maxURL)
	s.html("", `<a href="/`+long+`">long</a><a href="/`+strings.Repeat("y", 5*maxURL)+`">longer</a>`)
	expect(t, items(t, mustOpen(t, s.crawl())), "./", long+": its URL is longer than 2048 bytes")
}

// TestFiltersOfCrawls: exclude is not fetched; what include leaves out is searched for links, unless it can have none.
func TestFiltersOfCrawls(t *testing.T) {
	s := newSite(t)
	s.html("", `<a href="/docs/">docs</a><a href="/pic.png">p</a><a href="/private/x.html">x</a>`)
	s.html("docs/", `<a href="a.md">a</a><a href="b.html">b</a>`)
	s.put("docs/a.md", "a")
	c := s.crawl()
	c.Include, c.Exclude = []string{"**/*.md"}, []string{"private"}
	expect(t, items(t, mustOpen(t, c)), "docs/a.md")
	expect(t, s.requests(), "GET ", "GET docs/", "GET docs/a.md")
}

// TestBase: what lies outside is not listed, and a mirror gives the same paths.
func TestBase(t *testing.T) {
	var runs [2][]string
	for i := range runs {
		s := newSite(t)
		root := []string{"v1", "mirror/of/v1"}[i]
		s.html(root+"/", `<a href="a.html">a</a><a href="/outside.html">o</a><a href="../x.html">up</a>`)
		s.html(root+"/a.html", "a")
		c := s.config()
		c.Base, c.Crawl = s.URL+"/"+root, []string{s.URL + "/" + root + "/"}
		runs[i] = items(t, mustOpen(t, c))
	}
	expect(t, runs[0], "./", "a.html")
	expect(t, runs[1], runs[0]...)
}

func TestWithoutBase(t *testing.T) {
	s, other := newSite(t), newSite(t)
	s.html("", `<a href="`+other.URL+`/b.html">other</a><a href="?q=1">q</a>`)
	s.html("?q=1", "q")
	other.html("b.html", "b")
	c := s.crawl()
	c.Base = ""
	expect(t, items(t, mustOpen(t, c)), s.host()+"/", s.host()+"/?q=1")
	c.Hosts = []string{other.host()}
	expect(t, items(t, mustOpen(t, c)), s.host()+"/", other.host()+"/b.html", s.host()+"/?q=1")
}

// TestRedirectsOfCrawls: a page is listed where redirects lead, once; another host is out of bounds.
func TestRedirectsOfCrawls(t *testing.T) {
	s, other := newSite(t), newSite(t)
	s.html("", `<a href="/old">old</a><a href="/new.html">new</a><a href="/older">older</a><a href="/out">out</a><a href="/loop">loop</a>`)
	s.redirect("old", "/new.html")
	s.redirect("older", "/moved/")
	s.html("moved/", `<a href="next.html">relative to where it is</a>`)
	s.html("moved/next.html", "next")
	s.html("new.html", "new")
	s.redirect("out", other.URL+"/x")
	s.redirect("loop", "/loop")
	got := items(t, mustOpen(t, s.crawl()))
	expectLike(t, got, "./", "new.html", "moved/", "out: it redirects to another host", "! invalid: loop: ", "moved/next.html", "! denied: .: ")
	expect(t, other.requests())
	s.redirect("", other.URL+"/login")
	expectLike(t, items(t, mustOpen(t, s.crawl())), "! invalid: http: "+s.URL+"/: it redirects to another host")
}

// TestStartsThatFail: a crawl without its start, and a host without an answer, are never an empty site.
func TestStartsThatFail(t *testing.T) {
	for code, want := range map[int]string{404: "! not found", 410: "! not found", 403: "! denied", 500: "! transient", 503: "! throttled"} {
		s := newSite(t)
		s.status("", code)
		expectLike(t, items(t, mustOpen(t, s.crawl())), want)
		s.status("sitemap.xml", code)
		c := s.config()
		c.Sitemap = []string{s.URL + "/sitemap.xml"}
		expectLike(t, items(t, mustOpen(t, c)), want)
	}
}

// TestAskedNotTo: noindex, nofollow and canonical, in headers and pages; robots: false overrules them.
func TestAskedNotTo(t *testing.T) {
	s := newSite(t)
	header := func(name, value string) {
		s.page(name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Add("X-Robots-Tag", value)
			_, _ = io.WriteString(w, `<a href="/from-`+name+`">x</a>`)
		})
	}
	s.html("", `<a href="/no" rel="external NoFollow">n</a><a href="/meta">m</a><a href="/none">n</a><a href="/mine">n</a><a href="/theirs">n</a><a href="/header">h</a>
		<a href="/headerother">h</a><a href="/copy?utm=1">c</a><a href="/self">s</a><a href="/foreign">f</a>`)
	s.html("no", "n")
	s.html("meta", `<META NAME="ROBOTS" CONTENT="NoIndex"><a href="/from-meta">x</a>`)
	s.html("from-meta", "x")
	s.html("none", `<meta name=robots content=none><a href="/from-none">x</a>`)
	s.html("mine", `<meta name=kbsync content=noindex>`)
	s.html("theirs", `<meta name=googlebot content=noindex>`)
	header("header", "noindex, nofollow")
	header("headerother", "otherbot: noindex, nofollow")
	s.html("from-headerother", "x")
	s.html("copy?utm=1", `<link rel=canonical href="/copy">`)
	s.html("copy", `<link rel=canonical href="/copy">`)
	s.html("self", `<link rel=canonical href="/self#x">`)
	s.html("foreign", `<link rel=canonical href="https://elsewhere.example/">`)
	c := s.crawl()
	expect(t, items(t, mustOpen(t, c)), "./", "meta: noindex", "none: noindex", "mine: noindex", "theirs", "header: noindex", "headerother",
		"copy?utm=1: its canonical page is copy", "self", "foreign", "from-meta", "from-headerother", "copy")
	c.Robots = false
	got := items(t, mustOpen(t, c))
	for _, name := range []string{"no", "meta", "none", "mine", "header", "copy?utm=1"} {
		if !slices.Contains(got, name) {
			t.Errorf("%s is missing with robots: false: %q", name, got)
		}
	}
}

// TestListedAndCrawled: a URL that is listed and lies on the way of a crawl is one document.
func TestListedAndCrawled(t *testing.T) {
	s := newSite(t)
	s.html("", `<a href="/a">a</a>`)
	s.html("a", `<a href="/b">b</a>`)
	s.html("b", "b")
	c := s.crawl()
	c.URLs = []string{s.URL, s.at("a"), s.at("a"), s.at("a") + "#x"}
	expect(t, items(t, mustOpen(t, c)), "./", "a", "b")
}

// TestLargePages: pages that are too large to be kept are fetched again, and those that are larger than a page may be are searched up to
// there.
func TestLargePages(t *testing.T) {
	s := newSite(t)
	filler := "<p>" + strings.Repeat("words and words ", 1<<10)
	big := strings.Repeat(filler, (cachedBody>>14)+40)
	s.html("", `<a href="/a">a</a>`+big+`<a href="/b">b</a>`)
	s.html("a", strings.Repeat(filler, maxPage>>14)+`<a href="/beyond">b</a>`)
	s.html("b", `<script>`+strings.Repeat("x", 1<<20)+`</script><a href="/c">c</a>`)
	s.html("c", "c")
	src := mustOpen(t, s.crawl())
	docs := listed(t, src)
	if len(docs) != 4 {
		t.Fatalf("%+v", docs)
	}
	s.requests()
	for _, d := range docs {
		if text, _ := read(t, d); len(text) == 0 {
			t.Errorf("%s is empty", d.Path)
		}
	}
	expect(t, s.requests(), "GET ", "GET a")
}

// TestBodiesAreBounded: the pages that are kept never take more than their share.
func TestBodiesAreBounded(t *testing.T) {
	b := newBodies(100)
	for i := range 50 {
		b.put(&kept{path: fmt.Sprint(i % 20), data: make([]byte, 1+i%40)})
		if b.held > 100 || b.order.Len() != len(b.byPath) {
			t.Fatalf("%d bytes, %d and %d entries", b.held, b.order.Len(), len(b.byPath))
		}
	}
	if _, ok := b.take("9"); !ok {
		t.Error("the last one is lost")
	}
	if _, ok := b.take("9"); ok {
		t.Error("taken twice")
	}
	b.put(&kept{path: "huge", data: make([]byte, 101)})
	if b.held != 0 {
		t.Errorf("%d bytes", b.held)
	}
}

// TestHubThatFails: while the links of a page are unknown, nothing may count as gone; a leaf hides nothing.
func TestHubThatFails(t *testing.T) {
	s := newSite(t)
	s.html("", `<a href="/hub">h</a><a href="/other">o</a><a href="/report.pdf">r</a>`)
	s.html("hub", `<a href="/leaf">l</a>`)
	s.html("leaf", "l")
	s.html("other", "o")
	s.put("report.pdf", "%PDF")
	expect(t, items(t, mustOpen(t, s.crawl())), "./", "hub", "other", "report.pdf", "leaf")
	s.status("hub", 403)
	expectLike(t, items(t, mustOpen(t, s.crawl())), "./", "! denied: hub: ", "other", "report.pdf", "! denied: .: http: the links of 1 pages that failed")
	s.html("hub", `<a href="/leaf">l</a>`)
	s.status("leaf", 403)
	s.status("report.pdf", 403)
	expectLike(t, items(t, mustOpen(t, s.crawl())), "./", "hub", "other", "! denied: report.pdf: ", "! denied: leaf: ")
	s.status("hub", 404)
	expectLike(t, items(t, mustOpen(t, s.crawl())), "./", "other", "! denied: report.pdf: ")
}
