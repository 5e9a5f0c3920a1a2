package dialogue

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds the nesting of JSON that is read as messages.
const maxDepth = 64

// value is a JSON value; members keep their order, keys may repeat.
type value struct {
	kind   byte // '"', '{', '[', or 'x' for numbers, switches and null
	text   string
	keys   []string
	values []value
}

// get is the first member of that name that is set.
func (v *value) get(names ...string) *value {
	for _, name := range names {
		for i, key := range v.keys {
			if key == name && !v.values[i].unset() {
				return &v.values[i]
			}
		}
	}
	return nil
}

func (v *value) unset() bool {
	return v.kind == 'x' && (v.text == "null" || v.text == "None") || v.kind == '"' && v.text == ""
}

// parseValue reads one value: JSON, or what Python prints of the same (single quotes, True, False, None). It fails on
// anything else; of a list that breaks off it gives the members before, and what follows them as the rest.
func parseValue(s string) (v value, rest string, ok bool) {
	p := &valueParser{s: s}
	v, ok = p.value(0)
	if !ok {
		return v, s[p.good:], false
	}
	return v, s[p.i:], true
}

type valueParser struct {
	s    string
	i    int
	good int // where the last whole member of the outermost list ends
}

func (p *valueParser) space() {
	for p.i < len(p.s) && strings.IndexByte(" \t\n\r", p.s[p.i]) >= 0 {
		p.i++
	}
}

func (p *valueParser) take(c byte) bool {
	p.space()
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *valueParser) value(depth int) (v value, ok bool) {
	p.space()
	if p.i == len(p.s) || depth > maxDepth {
		return v, false
	}
	switch c := p.s[p.i]; c {
	case '"', '\'':
		text, ok := p.str(c)
		return value{kind: '"', text: text}, ok
	case '{', '[':
		return p.container(c, depth)
	}
	start := p.i
	for p.i < len(p.s) && (p.s[p.i] == '-' || p.s[p.i] == '+' || p.s[p.i] == '.' || p.s[p.i]|0x20 >= 'a' && p.s[p.i]|0x20 <= 'z' || p.s[p.i] >= '0' && p.s[p.i] <= '9') {
		p.i++
	}
	v = value{kind: 'x', text: p.s[start:p.i]}
	switch v.text {
	case "true", "false", "null", "True", "False", "None":
		return v, true
	}
	_, err := strconv.ParseFloat(v.text, 64)
	return v, err == nil || len(v.text) > 0 && v.text[0]|0x20 < 'a' && json.Valid([]byte(v.text))
}

func (p *valueParser) container(opener byte, depth int) (v value, ok bool) {
	v.kind = opener
	p.i++
	closer := opener + 2
	for !p.take(closer) {
		if len(v.values) > 0 && !p.take(',') {
			return v, false
		}
		if len(v.values) > 0 && p.take(closer) { // Python lets a comma stand at the end
			return v, true
		}
		if opener == '{' {
			p.space()
			if p.i == len(p.s) || p.s[p.i] != '"' && p.s[p.i] != '\'' {
				return v, false
			}
			key, ok := p.str(p.s[p.i])
			if !ok || !p.take(':') {
				return value{}, false
			}
			v.keys = append(v.keys, key)
		}
		member, ok := p.value(depth + 1)
		if !ok {
			return v, false
		}
		v.values = append(v.values, member)
		if depth == 0 && opener == '[' {
			p.good = p.i
		}
	}
	return v, true
}

// str reads a string in quotes of either kind.
func (p *valueParser) str(quote byte) (text string, ok bool) {
	p.i++
	start := p.i
	for p.i < len(p.s) && p.s[p.i] != quote {
		if p.s[p.i] == '\\' {
			p.i++
		}
		p.i++
	}
	if p.i >= len(p.s) {
		return "", false
	}
	raw := p.s[start:p.i]
	p.i++
	return unescape(raw), true
}

// unescape resolves the escapes of JSON and of Python's strings; what is no escape stays as it is.
func unescape(raw string) string {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw
	}
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			b.WriteByte(raw[i])
			continue
		}
		i++
		switch c := raw[i]; c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r', 'b', 'f':
			b.WriteByte(' ')
		case '"', '\'', '\\', '/':
			b.WriteByte(c)
		case 'u', 'x', 'U':
			n := writeCode(&b, raw[i:])
			i += n - 1
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String()
}

// writeCode writes the character that "uXXXX" (a pair, where two surrogates stand), "xXX" or "UXXXXXXXX" names, and tells how many
// bytes that took.
func writeCode(b *strings.Builder, s string) int {
	size := map[byte]int{'u': 4, 'x': 2, 'U': 8}[s[0]]
	code, ok := hex(s, 1, size)
	n := 1 + size
	if !ok {
		b.WriteByte('\\')
		b.WriteByte(s[0])
		return 1
	}
	if s[0] == 'u' && code >= 0xD800 && code < 0xDC00 && strings.HasPrefix(s[n:], `\u`) {
		if low, ok := hex(s, n+2, 4); ok && low >= 0xDC00 && low < 0xE000 {
			code = 0x10000 + (code-0xD800)<<10 + (low - 0xDC00)
			n += 6
		}
	}
	r := rune(utf8.RuneError)
	if code <= utf8.MaxRune && utf8.ValidRune(rune(code)) {
		r = rune(code)
	}
	b.WriteRune(r)
	return n
}

func hex(s string, from, n int) (code int64, ok bool) {
	if from+n > len(s) {
		return 0, false
	}
	u, err := strconv.ParseUint(s[from:from+n], 16, 32)
	return int64(u), err == nil
}

// compact writes a value as JSON on one line.
func (v *value) compact(b *strings.Builder) {
	quote := func(s string) {
		var buf strings.Builder
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(s) // a string can be encoded
		b.WriteString(strings.TrimSuffix(buf.String(), "\n"))
	}
	switch v.kind {
	case '"':
		quote(v.text)
	case 'x':
		b.WriteString(v.text)
	default:
		b.WriteByte(v.kind)
		for i := range v.values {
			if i > 0 {
				b.WriteString(", ")
			}
			if v.kind == '{' {
				quote(v.keys[i])
				b.WriteString(": ")
			}
			v.values[i].compact(b)
		}
		b.WriteByte(v.kind + 2)
	}
}
