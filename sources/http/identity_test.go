package httpsource

import (
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

func TestIdentity(t *testing.T) {
	for text, want := range map[string]string{
		"HTTP://Example.COM":                    "example.com/",
		"https://example.com:443/a#b":           "example.com/a",
		"https://example.com:80/a":              "example.com:80/a",
		"http://example.com.:8080/a/":           "example.com:8080/a/",
		"http://example.com/a/./b/../c":         "example.com/a/c",
		"http://example.com/a/..":               "example.com/",
		"http://example.com/../../a":            "example.com/a",
		"http://example.com/%2e%2E/a":           "example.com/a",
		"http://example.com//a//b":              "example.com//a//b",
		"http://example.com/%7euser/%61":        "example.com/~user/a",
		"http://example.com/a%2fb":              "example.com/a%2Fb",
		"http://example.com/a%3Fb":              "example.com/a%3Fb",
		"http://example.com/a%23b":              "example.com/a#b",
		"http://example.com/a%20b c":            "example.com/a b c",
		"http://example.com/a+b":                "example.com/a+b",
		"http://example.com/a%2Bb":              "example.com/a%2Bb",
		"http://example.com/100%25":             "example.com/100%",
		"http://example.com/100%2541":           "example.com/100%2541",
		"http://example.com/%25%2541":           "example.com/%%2541",
		"http://example.com/(a)!*'":             "example.com/(a)!*'",
		"http://example.com/%28a%29%21%2a%27":   "example.com/(a)!*'",
		"http://example.com/手册":                 "example.com/手册",
		"http://example.com/%E6%89%8B%e5%86%8c": "example.com/手册",
		"http://example.com/%ff%0a%00":          "example.com/%FF%0A%00",
		"http://example.com/%E2%80%AE":          "example.com/%E2%80%AE", // turns the direction of writing
		"http://example.com/?":                  "example.com/",
		"http://example.com/a?b=%41&c=%26":      "example.com/a?b=A&c=%26",
		"http://example.com/a?q=手 x":            "example.com/a?q=手%20x",
		"http://example.com/a?/../b?c":          "example.com/a?/../b?c",
		"http://bücher.example/":                "xn--bcher-kva.example/",
		"http://[::1]:8080/":                    "[::1]:8080/",
		"http://[0:0::1]/":                      "[::1]/",
	} {
		u, err := parseURL(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := hostPath(u); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
		again, err := parseURL(u.String())
		if err != nil || again.String() != u.String() {
			t.Errorf("%s is normalised to %s, and that to %v, %v", text, u, again, err)
		}
	}
	for _, text := range []string{
		"ftp://example.com/", "example.com", "//example.com/", "http://user@example.com/", "http://user:secret@example.com/", "http:///a", "http://exa mple.com/",
		"http://a..example.com:80:80/", "javascript:alert(1)", "file:///etc/passwd", "http://[fe80::1%25eth0]/", "http://exa$mple.com/",
	} {
		if u, err := parseURL(text); err == nil {
			t.Errorf("%s is taken as %s", text, u)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}

// FuzzIdentity: normalising twice changes nothing, and two URLs with one identity are one URL.
func FuzzIdentity(f *testing.F) {
	f.Add("/a%2541", "/a%41")
	f.Add("/手?x=%E6", "/%E6%89%8B?x=%E6")
	f.Add("/%25%32%46", "/%2F")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, err1 := parseURL("http://h.example/" + a)
		y, err2 := parseURL("http://h.example/" + b)
		if err1 != nil || err2 != nil {
			return
		}
		if again, err := parseURL(x.String()); err != nil || again.String() != x.String() {
			t.Fatalf("%q, normalised again, is %v, %v", x, again, err)
		}
		if (hostPath(x) == hostPath(y)) != (x.String() == y.String()) {
			t.Fatalf("%q and %q are %q and %q", x, y, hostPath(x), hostPath(y))
		}
	})
}

// TestIdentityIsInjective puts together all that could be confused.
func TestIdentityIsInjective(t *testing.T) {
	parts := []string{"%", "%25", "%2", "2", "5", "F", "%2F", "/", "?", "%3F", "#", "%23", "手", "%E6", "%89%8B", ".", " "}
	seen := map[string]string{}
	var add func(text string, more int)
	add = func(text string, more int) {
		if u, ok := new(scope).link(nil, text); ok {
			id := hostPath(u)
			if other, known := seen[id]; known && other != u.String() {
				t.Errorf("%s and %s are both %q", u, other, id)
			}
			seen[id] = u.String()
		}
		if more > 0 {
			for _, p := range parts {
				add(text+p, more-1)
			}
		}
	}
	add("http://h.example/", 4)
	if len(seen) < 1000 {
		t.Errorf("only %d identities", len(seen))
	}
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(c *Config){
		"urls, sitemap, crawl: none":                    func(c *Config) { c.URLs = nil },
		"urls[1]: a URL cannot hold":                    func(c *Config) { c.URLs = append(c.URLs, "http://u:hunter2@h.example/") },
		"crawl[0]: expected a URL":                      func(c *Config) { c.Crawl = []string{"file:///etc"} },
		"sitemap[0]: the host":                          func(c *Config) { c.Sitemap = []string{"http://0x7f.1/"} },
		"urls[0]: https://h.example/ lies outside base": func(c *Config) { c.Base = "https://h.example/docs" },
		"base: a prefix cannot":                         func(c *Config) { c.Base = "https://h.example/?x" },
		"hosts[0]: expected a host":                     func(c *Config) { c.Hosts = []string{"http://x"} },
		"include[0]":                                    func(c *Config) { c.Include = []string{"[a"} },
		"max_depth":                                     func(c *Config) { c.MaxDepth = -1 },
		"max_pages":                                     func(c *Config) { c.MaxPages = 0 },
		"concurrency":                                   func(c *Config) { c.Concurrency = 17 },
		"timeout":                                       func(c *Config) { c.Timeout = 0 },
		"user_agent":                                    func(c *Config) { c.UserAgent = "a\nb" },
		"is not a valid header":                         func(c *Config) { c.Headers = map[string]connector.Secret{"X": "a\r\nB: hunter2"} },
		"Host is set by the source":                     func(c *Config) { c.Headers = map[string]connector.Secret{"host": "x"} },
		"token: cannot be used":                         func(c *Config) { c.Token, c.Username = "hunter2", "me" },
		"username: missing":                             func(c *Config) { c.Password = "hunter2" },
		"proxy: expected a URL":                         func(c *Config) { c.Proxy = "ftp://u:hunter2@p" },
	} {
		c := defaults()
		c.URLs = []string{"https://h.example/"}
		change(&c)
		err := c.Validate()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestRate(t *testing.T) {
	for text, want := range map[string]Rate{"2/s": 2, "30/m": 0.5, "3600/h": 1, "0": 0, "1.5": 1.5, " 60 / min ": 1} {
		var r Rate
		if err := r.UnmarshalText([]byte(text)); err != nil || r != want {
			t.Errorf("%q is %v, %v", text, float64(r), err)
		}
		var again Rate
		if err := again.UnmarshalText([]byte(r.String())); err != nil || again != r {
			t.Errorf("%v is written %s", float64(r), r)
		}
	}
	for _, text := range []string{"", "x", "2/d", "-1", "NaN", "2/"} {
		if err := new(Rate).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
