package httpsource

import (
	"errors"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// maxURL bounds the length of a URL: longer ones are traps, mostly.
const maxURL = 2048

// normalize is the one spelling of a URL: lower-case host, no default port, no fragment, dot segments resolved, percent-encoding only
// where it is needed or has a meaning (RFC 3986, 6.2.2). An encoded reserved character stays: to a server it may differ from a bare one.
func normalize(u *url.URL) (*url.URL, error) {
	out := &url.URL{Scheme: strings.ToLower(u.Scheme)}
	if out.Scheme != "http" && out.Scheme != "https" {
		return nil, errors.New("expected a URL that starts with http:// or https://")
	}
	if u.User != nil {
		return nil, errors.New("a URL cannot hold a user name or password; use username and password")
	}
	host, err := canonicalHost(u.Hostname())
	if err != nil {
		return nil, err
	}
	out.Host = host
	if port := strings.TrimLeft(u.Port(), "0"); port != "" && port != map[string]string{"http": "80", "https": "443"}[out.Scheme] {
		out.Host += ":" + port
	}
	escaped := removeDots(canonicalEscapes(u.EscapedPath(), false))
	if out.Path, err = url.PathUnescape(escaped); err != nil {
		return nil, errors.New("the path of the URL is not valid")
	}
	out.RawPath = escaped
	out.RawQuery = canonicalEscapes(u.RawQuery, true)
	return out, nil
}

func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return nil, errors.New("not a valid URL")
	}
	return normalize(u)
}

// canonicalHost refuses the odd spellings of IPv4 addresses (2130706433, 0x7f.1, 0177.0.0.1), which some resolvers understand.
func canonicalHost(host string) (string, error) {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return "", errors.New("an address with a zone cannot be fetched")
		}
		if addr.Is6() {
			return "[" + addr.String() + "]", nil
		}
		return addr.String(), nil
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil { // names such as _dmarc.example.com are no host names, but they are names
		ascii = host
	}
	if ascii == "" || len(ascii) > 253 || strings.IndexFunc(ascii, func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) >= 0 {
		return "", errors.New("the host of the URL is not valid")
	}
	last := ascii[strings.LastIndexByte(ascii, '.')+1:]
	if last == "" || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") && strings.Trim(last[2:], "0123456789abcdef") == "" {
		return "", errors.New("the host of the URL is neither a name nor an address of four decimal numbers")
	}
	return ascii, nil
}

const upperHex = "0123456789ABCDEF"

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}

// unreserved characters mean the same encoded and bare. RFC 3986 took !*'() out of them, but who writes them still does as he likes.
func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~!*'()", c) >= 0
}

// canonicalEscapes decodes what needs no encoding, encodes what may not stand bare, and writes the rest in upper-case hexadecimal.
func canonicalEscapes(s string, query bool) string {
	bare := "$&+,;=:@/"
	if query {
		bare += "?"
	}
	var b strings.Builder
	escape := func(c byte) { b.Write([]byte{'%', upperHex[c>>4], upperHex[c&15]}) }
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			if d := unhex(s[i+1])<<4 | unhex(s[i+2]); unreserved(d) {
				b.WriteByte(d)
			} else {
				escape(d)
			}
			i += 2
		case unreserved(c) || strings.IndexByte(bare, c) >= 0:
			b.WriteByte(c)
		default:
			escape(c)
		}
	}
	return b.String()
}

// removeDots resolves "." and ".." and makes the path absolute; doubled slashes stay.
func removeDots(escaped string) string {
	if !strings.HasPrefix(escaped, "/") {
		escaped = "/" + escaped
	}
	if !strings.Contains(escaped, "/.") {
		return escaped
	}
	var out []string
	segments := strings.Split(escaped[1:], "/")
	for i, seg := range segments {
		last := i == len(segments)-1
		switch seg {
		case ".", "..":
			if seg == ".." && len(out) > 0 {
				out = out[:len(out)-1]
			}
			if last {
				out = append(out, "")
			}
		default:
			out = append(out, seg)
		}
	}
	return "/" + strings.Join(out, "/")
}

// readable is a normalised path or query with everything decoded that is unambiguous: letters of every script and, in a path, the
// characters that can stand in no URL. Its inverse is to encode those again, so no two URLs share one form.
func readable(escaped string, query bool) string {
	if strings.IndexByte(escaped, '%') < 0 {
		return escaped
	}
	var b strings.Builder
	for i := 0; i < len(escaped); i++ {
		if escaped[i] != '%' {
			b.WriteByte(escaped[i])
			continue
		}
		c := unhex(escaped[i+1])<<4 | unhex(escaped[i+2])
		switch {
		case c >= utf8.RuneSelf:
			raw := escapedRun(escaped[i:])
			r, size := utf8.DecodeRune(raw)
			if r == utf8.RuneError || !unicode.IsPrint(r) {
				b.WriteString(escaped[i : i+3])
				break
			}
			b.WriteRune(r)
			i += 3 * (size - 1)
		case query:
			b.WriteString(escaped[i : i+3])
		case c == '%' && (i+4 >= len(escaped) || !isHex(escaped[i+3]) || !isHex(escaped[i+4])),
			strings.IndexByte(" \"#<>[\\]^`{|}", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteString(escaped[i : i+3])
		}
		i += 2
	}
	return b.String()
}

// escapedRun decodes up to four escapes that follow each other.
func escapedRun(s string) []byte {
	var out []byte
	for len(out) < utf8.UTFMax && len(s) >= 3 && s[0] == '%' {
		out = append(out, unhex(s[1])<<4|unhex(s[2]))
		s = s[3:]
	}
	return out
}

// hostPath is the identity of a normalised URL: everything but its scheme.
func hostPath(u *url.URL) string {
	p := u.Host + readable(u.EscapedPath(), false)
	if u.RawQuery != "" {
		p += "?" + readable(u.RawQuery, true)
	}
	return p
}

// looksLikeNoPage says by its name that a URL holds no links.
func looksLikeNoPage(u *url.URL) bool {
	switch strings.ToLower(path.Ext(u.Path)) {
	case ".css", ".js", ".mjs", ".json", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".ico", ".webp", ".avif", ".woff", ".woff2", ".ttf",
		".mp3", ".mp4", ".webm", ".mov", ".avi", ".zip", ".gz", ".tar", ".7z", ".exe", ".dmg", ".iso",
		".pdf", ".docx", ".xlsx", ".pptx", ".doc", ".xls", ".ppt", ".csv", ".txt", ".md":
		return true
	}
	return false
}
