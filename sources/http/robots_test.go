package httpsource

import (
	"slices"
	"testing"
)

// TestRobots: Disallow is obeyed for crawls and sitemaps, not for what the user lists himself.
func TestRobots(t *testing.T) {
	s := newSite(t)
	s.robots("User-agent: *\nDisallow: /private\n")
	s.html("", `<a href="/private/a">a</a><a href="/public">p</a><a href="/hop">h</a>`)
	s.html("public", "p")
	s.redirect("hop", "/private/b")
	s.put("private/a", "a")
	s.put("private/b", "b")
	expect(t, items(t, mustOpen(t, s.crawl())), "./", "private/a: robots.txt disallows it", "public")
	if asked := s.requests(); slices.Contains(asked, "GET private/a") {
		t.Errorf("asked for %q", asked)
	}
	c := s.crawl()
	c.URLs = []string{s.at("private/a")}
	expect(t, items(t, mustOpen(t, c)), "private/a", "./", "public")
	c.Crawl = []string{s.at("private/")}
	expectLike(t, items(t, mustOpen(t, c)), "private/a", "! denied: http: crawl: "+s.URL+"/private/: robots.txt disallows it")
	c.Robots, c.URLs, c.Crawl = false, nil, []string{s.URL}
	expect(t, items(t, mustOpen(t, c)), "./", "private/a", "public", "private/b")
}

func TestRobotsThatCannotBeHad(t *testing.T) {
	for code, want := range map[int]string{404: "./", 403: "./", 401: "./", 410: "./", 500: "! transient", 503: "! throttled", 429: "! throttled", 502: "! transient"} {
		s := newSite(t)
		s.html("", "home")
		s.status("robots.txt", code)
		expectLike(t, items(t, mustOpen(t, s.crawl())), want)
	}
	s := newSite(t)
	s.html("", "home")
	s.redirect("robots.txt", "/robots.txt")
	expect(t, items(t, mustOpen(t, s.crawl())), "./")
}

func TestRobotsRules(t *testing.T) {
	for name, c := range map[string]struct {
		text       string
		yes, no    []string
		delayMilli int64
	}{
		"empty":           {"", []string{"/", "/a"}, nil, 0},
		"all":             {"User-agent: *\nDisallow: /", nil, []string{"/", "/a"}, 0},
		"nothing":         {"User-agent: *\nDisallow:", []string{"/", "/a"}, nil, 0},
		"longest":         {"User-agent: *\nDisallow: /a\nAllow: /a/b", []string{"/a/b", "/b"}, []string{"/a", "/a/c"}, 0},
		"allow on a tie":  {"User-agent: *\nDisallow: /a\nAllow: /a", []string{"/a"}, nil, 0},
		"wildcards":       {"User-agent: *\nDisallow: /*.pdf$\nDisallow: /x*y", []string{"/a.pdf?x", "/z/xy", "/x"}, []string{"/a/b.pdf", "/xzzy1"}, 0},
		"end":             {"User-agent: *\nDisallow: /a$", []string{"/ab"}, []string{"/a"}, 0},
		"own group":       {"User-agent: *\nDisallow: /\n\nUser-agent: KBsync/1.0\nDisallow: /x", []string{"/a"}, []string{"/x"}, 0},
		"others' group":   {"User-agent: googlebot\nDisallow: /", []string{"/a"}, nil, 0},
		"shared group":    {"User-agent: a\nUser-agent: kbsync\nDisallow: /x", []string{"/a"}, []string{"/x"}, 0},
		"two groups":      {"User-agent: kbsync\nDisallow: /x\nUser-agent: b\nDisallow: /\nUser-agent: kbsync\nDisallow: /y", []string{"/a"}, []string{"/x", "/y"}, 0},
		"prefix is other": {"User-agent: kb\nDisallow: /", []string{"/a"}, nil, 0},
		"comments, CR":    {"\xef\xbb\xbfUser-agent: * # all\r\rDisallow: /x # this\r\n", []string{"/a"}, []string{"/x"}, 0},
		"broken lines":    {"Disallow: /before\nCrawl-delay: soon\nUser-agent: *\nCrawl-delay: x\nnonsense\n: :\nDisallow: /x", []string{"/before"}, []string{"/x"}, 0},
		"escapes":         {"User-agent: *\nDisallow: /%7Ea\nDisallow: /手", []string{"/b"}, []string{"/~a", "/%E6%89%8B"}, 0},
		"query":           {"User-agent: *\nDisallow: /*?", []string{"/b"}, []string{"/a?x=1"}, 0},
		"delay":           {"User-agent: *\nCrawl-delay: 1.5", nil, nil, 1500},
		"html":            {"<html><body>Not found</body></html>", []string{"/a"}, nil, 0},
	} {
		r := parseRobots([]byte(c.text), "kbsync")
		for want, paths := range map[bool][]string{true: c.yes, false: c.no} {
			for _, p := range paths {
				u, err := parseURL("http://h.example" + p)
				must(t, err)
				if r.allowed(u) != want {
					t.Errorf("%s: %s is allowed: %v", name, p, !want)
				}
			}
		}
		if r.delay.Milliseconds() != c.delayMilli {
			t.Errorf("%s: delay %v", name, r.delay)
		}
	}
}
