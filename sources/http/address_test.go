package httpsource

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/kbsync/kbsync/connector"
)

func TestPublicAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"1.1.1.1": true, "93.184.215.14": true, "2606:4700:4700::1111": true, "::ffff:1.1.1.1": true, "64:ff9b::101:101": true, "2002:101:101::1": true,
		"127.0.0.1": false, "127.1.2.3": false, "0.0.0.0": false, "0.1.2.3": false, "10.1.2.3": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false,
		"169.254.169.254": false, "100.64.0.1": false, "100.127.255.255": false, "192.0.0.8": false, "192.0.2.1": false, "198.18.0.1": false, "198.51.100.1": false,
		"203.0.113.1": false, "224.0.0.1": false, "239.255.255.255": false, "240.0.0.1": false, "255.255.255.255": false, "192.88.99.1": false,
		"::": false, "::1": false, "::127.0.0.1": false, "::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "::ffff:0:0": false, "fe80::1": false, "fe80::1%eth0": false,
		"fc00::1": false, "fd00:ec2::254": false, "fec0::1": false, "ff02::1": false, "2001:db8::1": false, "2001::1": false, "100::1": false,
		"64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b:1::1": false, "2002:7f00:1::1": false, "2002:a9fe:a9fe::": false, "2606:4700::5efe:10.0.0.1": false,
		"172.15.255.255": true, "172.32.0.1": true, "100.63.255.255": true, "100.128.0.1": true, "169.253.255.255": true,
	} {
		if got := public(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// names is a resolver that knows its own answers alone: each name has a queue of addresses, the last of which stays.
func names(answers map[string][]netip.Addr) *net.Resolver {
	var mu sync.Mutex
	answer := func(q dnsmessage.Question) []dnsmessage.Resource {
		mu.Lock()
		defer mu.Unlock()
		name := strings.TrimSuffix(q.Name.String(), ".")
		queue := answers[name]
		if len(queue) == 0 || q.Type != dnsmessage.TypeA {
			return nil
		}
		if len(queue) > 1 {
			answers[name] = queue[1:]
		}
		head := dnsmessage.ResourceHeader{Name: q.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}
		return []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AResource{A: queue[0].As4()}}}
	}
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer func() { _ = server.Close() }()
			for {
				var size [2]byte
				if _, err := io.ReadFull(server, size[:]); err != nil {
					return
				}
				packet := make([]byte, binary.BigEndian.Uint16(size[:]))
				var m dnsmessage.Message
				if _, err := io.ReadFull(server, packet); err != nil || m.Unpack(packet) != nil {
					return
				}
				m.Response, m.Additionals = true, nil
				if m.Answers = answer(m.Questions[0]); m.Answers == nil {
					m.RCode = dnsmessage.RCodeNameError
				}
				out, err := m.AppendPack([]byte{0, 0})
				if err != nil {
					return
				}
				binary.BigEndian.PutUint16(out, uint16(len(out)-2))
				if _, err := server.Write(out); err != nil {
					return
				}
			}
		}()
		return client, nil
	}}
}

func local() netip.Addr { return netip.MustParseAddr("127.0.0.1") }

func openWith(tb testing.TB, c Config, r *net.Resolver) *Source {
	tb.Helper()
	s, err := open(c, r)
	must(tb, err)
	tb.Cleanup(func() { must(tb, s.Close()) })
	return s
}

// TestPrivateAddressesAreRefused: in whatever spelling a private address is named, its server hears nothing.
func TestPrivateAddressesAreRefused(t *testing.T) {
	s := newSite(t)
	_, port, err := net.SplitHostPort(s.host())
	must(t, err)
	for _, host := range []string{
		"127.0.0.1", "127.1.1.1", "localhost", "LOCALHOST.", "0.0.0.0", "[::]", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
		"2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "127.1", "127.0.1", "00000000177.1", "127.0.0.1.", "①②⑦.0.0.1", "rebind.example", "rebind.example.",
	} {
		for _, path := range []string{"urls", "sitemap", "crawl"} {
			c := defaults()
			c.Rate = 0
			at := []string{fmt.Sprintf("http://%s:%s/secret", host, port)}
			switch path {
			case "urls":
				c.URLs = at
			case "sitemap":
				c.Sitemap = at
			default:
				c.Crawl = at
			}
			src, err := open(c, names(map[string][]netip.Addr{"rebind.example": {local()}}))
			if err != nil {
				continue // refused at once: no address that has one meaning
			}
			got := items(t, src)
			if len(got) != 1 || !strings.HasPrefix(got[0], "! denied: ") || !strings.Contains(got[0], "allow_private") {
				t.Errorf("%s by %s: %q", host, path, got)
			}
			must(t, src.Close())
		}
	}
	if heard := s.requests(); len(heard) > 0 {
		t.Errorf("the server heard %q", heard)
	}
}

func TestUnknownName(t *testing.T) {
	c := defaults()
	c.URLs = []string{"http://unknown.example/"}
	expectLike(t, items(t, openWith(t, c, names(nil))), "! transient: http: http://unknown.example/: ")
}

// TestEnvironmentProxy: a proxy of the environment would make the check of addresses void.
func TestEnvironmentProxy(t *testing.T) {
	s := newSite(t)
	t.Setenv("HTTP_PROXY", s.URL)
	t.Setenv("http_proxy", s.URL)
	c := defaults()
	c.URLs = []string{"http://unknown.example/"}
	expectLike(t, items(t, openWith(t, c, names(nil))), "! transient: ")
	if heard := s.requests(); len(heard) > 0 {
		t.Errorf("the proxy heard %q", heard)
	}
}

// TestProxy: the proxy that is configured is asked, and addresses that are plainly private are refused before.
func TestProxy(t *testing.T) {
	s := newSite(t)
	s.put("a.md", "through the proxy")
	c := defaults()
	c.Rate, c.Proxy = 0, connector.Secret(s.URL)
	c.URLs = []string{"http://site.example/a.md", "http://127.0.0.1/a.md", "http://localhost/a.md", "http://[::ffff:10.0.0.1]/a.md"}
	src := mustOpen(t, c)
	expectLike(t, items(t, src), "site.example/a.md", "! denied: 127.0.0.1/a.md", "! denied: localhost/a.md", "! denied: [::ffff:10.0.0.1]/a.md")
	expect(t, s.requests(), "HEAD a.md")
}

// TestRedirects: five are followed and six are not, none leads to a private address or to another scheme.
func TestRedirects(t *testing.T) {
	s := newSite(t)
	s.put("end.md", "end")
	for i := range 6 {
		s.redirect(fmt.Sprintf("r%d", i+1), map[bool]string{true: "/end.md", false: fmt.Sprintf("/r%d", i)}[i == 0])
	}
	s.redirect("file", "file:///etc/passwd")
	s.redirect("user", "http://user:hunter2@"+s.host()+"/end.md")
	c := s.config()
	c.URLs = []string{s.at("r5"), s.at("r6"), s.at("file"), s.at("user")}
	src := mustOpen(t, c)
	got := items(t, src)
	expectLike(t, got, "r5", "! invalid: r6: http: "+s.URL+"/r6: more than 5 redirects", "! invalid: file: ", "! invalid: user: ")
	if strings.Contains(strings.Join(got, " "), "hunter2") {
		t.Errorf("a password is shown: %q", got)
	}

	// From a public host to a private one: the first connection is let through by a resolver's answer that a proxy stands for.
	c = defaults()
	c.Rate, c.Proxy = 0, connector.Secret(s.URL)
	s.redirect("public", "http://169.254.169.254/latest/meta-data/")
	s.redirect("again", "http://localhost/end.md")
	c.URLs = []string{"http://site.example/public", "http://site.example/again"}
	s.requests()
	expectLike(t, items(t, mustOpen(t, c)), "! denied: site.example/public", "! denied: site.example/again")
	if heard := s.requests(); slices.Contains(heard, "HEAD latest/meta-data/") || slices.Contains(heard, "HEAD end.md") {
		t.Errorf("the server heard %q", heard)
	}
}

// TestRedirectToPrivate: the check is made for each connection, that of a redirect too.
func TestRedirectToPrivate(t *testing.T) {
	s := newSite(t)
	inner := newSite(t)
	inner.put("secret", "secret")
	s.redirect("a", inner.URL+"/secret")
	c := defaults()
	c.Rate, c.URLs = 0, []string{s.at("a")}
	src := openWith(t, c, nil)
	// The one address of the test server counts as public; every other is checked as always.
	d := &net.Dialer{ControlContext: checkAddress}
	src.base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == s.host() {
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
		return d.DialContext(ctx, network, addr)
	}
	got := items(t, src)
	if len(got) != 1 || !strings.HasPrefix(got[0], "! denied: ") {
		t.Errorf("%q", got)
	}
	expect(t, inner.requests())
}

// TestCredentialsStay: what is sent to the configured host goes nowhere else, by no redirect, and does not come back by one.
func TestCredentialsStay(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]http.Header{}
	note := func(name string, next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			seen[name] = r.Header.Clone()
			mu.Unlock()
			next(w, r)
		}
	}
	s, other := newSite(t), newSite(t)
	ok := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "text") }
	to := func(url string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, url, http.StatusFound) }
	}
	s.page("own", note("own", ok))
	s.page("inside", note("inside", to("/own")))
	s.page("out", note("out", to(other.URL+"/there")))
	s.page("bounce", note("bounce", to(other.URL+"/back")))
	s.page("returned", note("returned", ok))
	other.page("there", note("there", ok))
	other.page("back", note("back", to(s.URL+"/returned")))
	for name, set := range map[string]func(c *Config){
		"token": func(c *Config) { c.Token = "hunter2" },
		"basic": func(c *Config) { c.Username, c.Password = "me", "hunter2" },
		"header": func(c *Config) {
			c.Headers = map[string]connector.Secret{"X-Api-Key": "hunter2", "Cookie": "session=hunter2"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.config()
			set(&c)
			c.URLs = []string{s.at("inside"), s.at("out"), s.at("bounce")}
			c.Hosts = []string{other.host()}
			expect(t, items(t, mustOpen(t, c)), "inside", "out", "bounce")
			carries := func(at string) bool {
				h := seen[at]
				return h.Get("Authorization")+h.Get("X-Api-Key")+h.Get("Cookie") != ""
			}
			for at, want := range map[string]bool{"inside": true, "own": true, "out": true, "bounce": true, "there": false, "back": false, "returned": false} {
				if carries(at) != want {
					t.Errorf("/%s gets credentials: %v", at, !want)
				}
				if seen[at].Get("Referer") != "" {
					t.Errorf("/%s learns where the request came from: %q", at, seen[at].Get("Referer"))
				}
			}
		})
	}
}
