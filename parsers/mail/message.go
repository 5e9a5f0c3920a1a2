package mail

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// Bounds of a message.
const (
	maxDepth = 32
	maxParts = 10_000
)

// message is one mail: its bytes, and the tree of its parts.
type message struct {
	data      []byte
	converted bool   // data is not what the file holds: that was UTF-16
	charset   string // of header values that do not name one
	root      *part
	count     int
}

// part is one part of a mail.
type part struct {
	h          header
	kind       string // media type, in lower case
	params     map[string]string
	attached   bool
	name       string // of the file, decoded; may be empty
	encoding   string
	start, end int // of the body
	path       string
	kids       []*part
	around     []string // text outside of the kids
	secret     bool     // a part of an encrypted one
}

// readMessage reads the tree of parts.
func readMessage(data []byte) (*message, error) {
	m := &message{data: data}
	start, end := 0, len(data)
	switch {
	case bytes.HasPrefix(data, []byte("\xEF\xBB\xBF")):
		start = 3
	case bytes.HasPrefix(data, []byte("\xFF\xFE")), bytes.HasPrefix(data, []byte("\xFE\xFF")):
		if b, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Bytes(data); err == nil {
			m.data, m.converted, end = b, true, len(b)
		}
	}
	for start < end && (m.data[start] == '\n' || m.data[start] == '\r') {
		start++
	}
	start, end = emlx(m.data, start, end)
	h, body := parseHeader(m.data[start:end])
	if !mailHeader(h) {
		return nil, connector.Errorf(connector.ClassInvalid, "this is no mail: it does not begin with the header of one")
	}
	m.charset = charsetOfHeader(m.data[start:start+body], h)
	root, err := m.part(start, end, "text/plain", "", 0)
	m.root = root
	return m, err
}

// emlx finds the mail in a file of Apple Mail: a line says how long it is, and a property list follows it.
func emlx(data []byte, start, end int) (int, int) {
	n, i := 0, start
	for ; i < end && i < start+12 && data[i] >= '0' && data[i] <= '9'; i++ {
		n = n*10 + int(data[i]-'0')
	}
	for i > start && i < end && (data[i] == ' ' || data[i] == '\r') {
		i++
	}
	if i == start || i >= end || data[i] != '\n' || n > end-i-1 {
		return start, end
	}
	return i + 1, i + 1 + n
}

// mailHeader says that a header is that of a mail.
func mailHeader(h header) bool {
	for _, f := range h {
		switch f.key {
		case "from", "to", "cc", "bcc", "date", "subject", "message-id", "received", "mime-version", "content-type", "return-path", "delivered-to", "sender", "reply-to", "x-mailer", "content-transfer-encoding":
			return true
		}
	}
	return false
}

// charsetOfHeader is that of the bytes over 0x7F in a header, which should hold none.
func charsetOfHeader(head []byte, h header) string {
	if utf8.Valid(head) {
		return "utf-8"
	}
	declared := ""
	if _, after, ok := strings.Cut(strings.ToLower(h.get("content-type")), "charset="); ok {
		declared, _, _ = strings.Cut(after, ";")
	}
	r := decode.NewReader(bytes.NewReader(head), decode.Options{Declared: func([]byte) string { return alias(declared) }})
	if _, err := io.Copy(io.Discard, r); err != nil {
		return "windows-1252"
	}
	return r.Charset()
}

// part reads the part between start and end.
func (m *message) part(start, end int, kind, path string, depth int) (*part, error) {
	if m.count++; m.count > maxParts {
		return nil, connector.Errorf(connector.ClassInvalid, "the mail has more than %d parts", maxParts)
	}
	h, body := parseHeader(m.data[start:end])
	p := &part{h: h, kind: kind, start: start + body, end: end, path: path}
	if v := h.get("content-type"); v != "" {
		p.kind, p.params = m.parameters(v)
		if !strings.Contains(p.kind, "/") {
			p.kind = "text/plain"
		}
	}
	disposition, params := m.parameters(h.get("content-disposition"))
	p.attached = disposition == "attachment"
	for _, name := range []string{params["filename"], p.params["name"], params["name"]} {
		if p.name == "" {
			p.name = strings.TrimSpace(m.words(name))
		}
	}
	p.encoding = strings.ToLower(strings.Trim(h.get("content-transfer-encoding"), " \t;\"'"))
	if !strings.HasPrefix(p.kind, "multipart/") {
		return p, nil
	}
	if err := m.divide(p, depth); err != nil {
		return nil, err
	}
	if len(p.kids) == 0 { // damaged: better too much text than none
		p.kind = "text/plain"
	}
	return p, nil
}

// divide finds the parts of a part. One that the end of the file cuts short ends there.
func (m *message) divide(p *part, depth int) error {
	boundary := p.params["boundary"]
	if boundary == "" || depth >= maxDepth {
		return nil
	}
	kind := "text/plain"
	if p.kind == "multipart/digest" {
		kind = "message/rfc822"
	}
	mark := []byte("--" + boundary)
	open := -1 // where the part begins in which at is
	for at := p.start; at < p.end; {
		line := at
		if i := bytes.Index(m.data[at:p.end], mark); i < 0 {
			break
		} else {
			line += i
		}
		next := min(lineEnd(m.data, line), p.end)
		rest := string(bytes.TrimRight(m.data[line+len(mark):next], " \t\r\n"))
		if line > p.start && m.data[line-1] != '\n' || rest != "" && rest != "--" {
			at = line + 1
			continue
		}
		if open < 0 {
			p.outside(m.data[p.start:line])
		} else if err := m.kid(p, open, beforeEOL(m.data, open, line), kind, depth); err != nil {
			return err
		}
		at, open = next, next
		if rest == "--" {
			p.outside(m.data[next:p.end])
			return nil
		}
	}
	if open >= 0 && open < p.end {
		return m.kid(p, open, p.end, kind, depth)
	}
	return nil
}

func (m *message) kid(p *part, start, end int, kind string, depth int) error {
	path := fmt.Sprint(len(p.kids) + 1)
	if p.path != "" {
		path = p.path + "." + path
	}
	k, err := m.part(start, end, kind, path, depth+1)
	if err == nil {
		k.secret = p.kind == "multipart/encrypted"
		p.kids = append(p.kids, k)
	}
	return err
}

// outside remembers text around the parts.
func (p *part) outside(b []byte) {
	if s := strings.TrimSpace(strings.ToValidUTF8(string(b), "\uFFFD")); s != "" {
		p.around = append(p.around, s)
	}
}

// beforeEOL is end without the line end before it, which belongs to the boundary.
func beforeEOL(data []byte, start, end int) int {
	if end > start && data[end-1] == '\n' {
		end--
		if end > start && data[end-1] == '\r' {
			end--
		}
	}
	return end
}

// leaves are the parts without parts, in order.
func (p *part) leaves(yield func(*part) bool) bool {
	if len(p.kids) == 0 {
		return yield(p)
	}
	for _, k := range p.kids {
		if !k.leaves(yield) {
			return false
		}
	}
	return true
}

// isBody says that a leaf is text to be read in the mail itself.
func (p *part) isBody() bool {
	switch p.kind {
	case "text/calendar", "text/x-calendar", "text/vcard", "text/x-vcard", "text/directory", "text/css", "text/csv", "text/xml", "text/rtf":
		return false
	case "message/delivery-status", "message/disposition-notification", "text/rfc822-headers":
		return true
	}
	return strings.HasPrefix(p.kind, "text/") && !p.attached && (p.name == "" || p.path == "")
}

// isMessage says that a leaf is another mail.
func (p *part) isMessage() bool { return p.kind == "message/rfc822" || p.kind == "message/global" }

// isSignature says that a leaf only proves where the mail comes from.
func (p *part) isSignature() bool {
	return strings.HasSuffix(p.kind, "-signature") && strings.HasPrefix(p.kind, "application/p") || p.kind == "application/x-pkcs7-signature"
}

// encrypted is why a leaf cannot be read; empty if it can.
func (p *part) encrypted() string {
	if p.secret {
		return "encrypted"
	}
	switch p.kind {
	case "application/pkcs7-mime", "application/x-pkcs7-mime":
		return "encrypted, or signed in one piece, by S/MIME"
	case "application/pgp-encrypted":
		return "encrypted"
	}
	return ""
}
