package mail

import (
	"bytes"
	"net/mail"
	"strconv"
	"strings"
	"time"
)

// field is one of a header: its name in lower case, and its value as it came, unfolded.
type field struct{ key, raw string }

// header is the fields of a message or part, in order.
type header []field

// get is the first value of that name; empty if there is none.
func (h header) get(key string) string {
	for i := range h {
		if h[i].key == key {
			return h[i].raw
		}
	}
	return ""
}

// maxFields bounds one header.
const maxFields = 10_000

// parseHeader reads the header at the start of data, and says where the body starts. A line that is no field ends the header and belongs to
// the body, so that nothing is lost.
func parseHeader(data []byte) (h header, body int) {
	at := 0
	for at < len(data) && len(h) < maxFields {
		end := lineEnd(data, at)
		line := trimEOL(data[at:end])
		if len(line) == 0 {
			return h, end
		}
		colon := bytes.IndexByte(line, ':')
		if !fieldName(line, colon) {
			if len(h) == 0 && (bytes.HasPrefix(line, []byte("From ")) || bytes.HasPrefix(line, []byte(">From "))) {
				at = end
				continue
			}
			return h, at
		}
		start := at + colon + 1
		for end < len(data) && (data[end] == ' ' || data[end] == '\t') && len(trimEOL(data[end:lineEnd(data, end)])) > 0 {
			end = lineEnd(data, end)
		}
		h = append(h, field{strings.ToLower(string(bytes.TrimRight(line[:colon], " \t"))), unfold(data[start:end])})
		at = end
	}
	return h, at
}

// lineEnd is behind the line end of the line at at.
func lineEnd(data []byte, at int) int {
	if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(data)
}

func trimEOL(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// fieldName says that a line starts with the name of a field, which the colon ends.
func fieldName(line []byte, colon int) bool {
	if colon <= 0 {
		return false
	}
	name := bytes.TrimRight(line[:colon], " \t")
	for _, c := range name {
		if c <= ' ' || c >= 0x7F {
			return false
		}
	}
	return len(name) > 0
}

// unfold is a value without line ends and white space at its ends.
func unfold(value []byte) string {
	s := strings.TrimSpace(string(value))
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.NewReplacer("\r", "", "\n", "").Replace(s)
}

// value is a field of free text, decoded.
func (m *message) value(h header, key string) string {
	return oneLine(m.words(h.get(key)))
}

// oneLine is s with any white space as one space.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// addresses divides a list of addresses and decodes each.
func (m *message) addresses(raw string) []string {
	var out []string
	start, depth, quoted := 0, 0, false
	add := func(s string) {
		if s = m.address(s); s != "" {
			out = append(out, s)
		}
	}
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(' || c == '<':
			depth++
		case c == ')' || c == '>':
			depth = max(depth-1, 0)
		case (c == ',' || c == ';') && depth == 0:
			add(raw[start:i])
			start = i + 1
		}
	}
	if start < len(raw) {
		add(raw[start:])
	}
	return out
}

// address is one address as "Name <local@domain>".
func (m *message) address(raw string) string {
	raw = strings.TrimSpace(raw)
	open := strings.LastIndexByte(raw, '<')
	if open <= 0 {
		return oneLine(m.words(raw))
	}
	name := strings.TrimSpace(raw[:open])
	if n := len(name); n >= 2 && name[0] == '"' && name[n-1] == '"' {
		name = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(name[1 : n-1])
	}
	return oneLine(m.words(name) + " " + m.words(raw[open:]))
}

// properties are what the header says of the message.
func (m *message) properties() map[string]any {
	h := m.root.h
	props := map[string]any{}
	for _, key := range []string{"subject", "message-id", "in-reply-to", "list-id"} {
		if v := m.value(h, key); v != "" {
			props[strings.ReplaceAll(key, "-", "_")] = v
		}
	}
	if from := m.addresses(h.get("from")); len(from) > 0 {
		props["from"] = strings.Join(from, ", ")
	}
	for _, key := range []string{"to", "cc", "bcc", "reply-to"} {
		if list := m.addresses(h.get(key)); len(list) > 0 {
			props[strings.ReplaceAll(key, "-", "_")] = anys(list)
		}
	}
	if refs := strings.Fields(m.words(h.get("references"))); len(refs) > 0 {
		props["references"] = anys(refs)
	}
	if at, ok := m.date(); ok {
		props["date"] = at.Format(time.RFC3339)
	} else if v := m.value(h, "date"); v != "" {
		props["date"] = v
	}
	return props
}

// told are the fields that properties has.
func told(key string) bool {
	switch key {
	case "subject", "message-id", "in-reply-to", "list-id", "from", "to", "cc", "bcc", "reply-to", "references", "date":
		return true
	}
	return false
}

func anys(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

func (m *message) date() (time.Time, bool) {
	t, err := mail.ParseDate(m.root.h.get("date"))
	return t, err == nil && t.Year() > 1970
}

// parameters reads a value such as that of Content-Type: what stands before the first semicolon, in lower case, and the parameters. Those in
// several pieces or another character set (RFC 2231) are put together.
func (m *message) parameters(raw string) (string, map[string]string) {
	first, rest := cutParameter(raw)
	params := map[string]string{}
	pieces := map[string]map[int]string{}
	for n := 0; rest != "" && n < 100; n++ {
		var p string
		p, rest = cutParameter(rest)
		key, value, ok := strings.Cut(p, "=")
		if !ok {
			continue
		}
		key, value = strings.ToLower(strings.TrimSpace(key)), unquote(strings.TrimSpace(value))
		name, index, ok := strings.Cut(key, "*")
		switch {
		case !ok:
			if _, known := params[name]; !known {
				params[name] = value
			}
			continue
		case index == "":
			index = "0*"
		}
		extended := strings.HasSuffix(index, "*")
		i, err := strconv.Atoi(strings.TrimSuffix(index, "*"))
		if err != nil || i < 0 || i >= 100 {
			continue
		}
		if pieces[name] == nil {
			pieces[name] = map[int]string{}
		}
		if extended {
			value = "%" + value // marks that it is to be decoded
		} else {
			value = "=" + value
		}
		pieces[name][i] = value
	}
	for name, p := range pieces {
		params[name] = m.joined(p)
	}
	return strings.ToLower(strings.TrimSpace(first)), params
}

// joined is the value of a parameter in pieces.
func (m *message) joined(p map[int]string) string {
	var b []byte
	charset := ""
	for i := range len(p) {
		v, ok := p[i]
		if !ok {
			break
		}
		if v[0] == '=' {
			b = append(b, v[1:]...)
			continue
		}
		v = v[1:]
		if parts := strings.SplitN(v, "'", 3); i == 0 && len(parts) == 3 {
			charset, v = parts[0], parts[2]
		}
		b = append(b, percentDecoded(v)...)
	}
	return m.decoded(b, charset)
}

func percentDecoded(s string) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(v))
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return out
}

// cutParameter cuts s at the first semicolon that is not quoted.
func cutParameter(s string) (first, rest string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quoted:
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ';' && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// unquote is a value without its quotes. A backslash that escapes neither quote nor backslash stays: it is that of a path.
func unquote(s string) string {
	if len(s) < 1 || s[0] != '"' {
		return s
	}
	s = strings.TrimSuffix(s[1:], `"`)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(s)
}
