package ical

import (
	"bytes"
	"io"
	"mime/quotedprintable"
	"strings"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/decode"
)

// maxDepth is how deep components nest; deeper ones count as their parent's.
const maxDepth = 16

// component is what stands between BEGIN and END.
type component struct {
	name  string
	lines []line
	kids  []*component
}

// line is a property: NAME;PARAM=VALUE:value. A line that is none has no name.
type line struct {
	name   string
	params []param
	value  string
}

type param struct{ name, value string }

// components reads the whole file.
func components(text string) *component {
	top := &component{}
	stack := []*component{top}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		l := parse(lines[i])
		at := stack[len(stack)-1]
		switch {
		case l.name == "" && strings.TrimSpace(l.value) == "":
		case l.name == "BEGIN":
			c := &component{name: strings.ToUpper(strings.TrimSpace(l.value))}
			at.kids = append(at.kids, c)
			if len(stack) <= maxDepth {
				stack = append(stack, c)
			}
		case l.name == "END":
			if len(stack) > 1 {
				stack = stack[:len(stack)-1]
			}
		default:
			if l.has("ENCODING", "QUOTED-PRINTABLE") || l.has("QUOTED-PRINTABLE", "") {
				var b strings.Builder
				b.WriteString(l.value)
				for strings.HasSuffix(lines[i], "=") && i+1 < len(lines) { // goes on in the next line
					i++
					b.WriteString("\n" + lines[i])
				}
				l.value = unquoted(b.String(), l.get("CHARSET"))
			}
			at.lines = append(at.lines, l)
		}
	}
	return top
}

// parse reads one line.
func parse(s string) line {
	quoted, from := false, 0
	var l line
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '"' {
			quoted = !quoted
		}
		if quoted || c != ';' && c != ':' {
			continue
		}
		part := s[from:i]
		if l.name == "" {
			l.name = strings.ToUpper(strings.TrimSpace(part))
			if strings.ContainsAny(l.name, " \t") || l.name == "" {
				return line{value: s}
			}
		} else {
			name, value, _ := strings.Cut(part, "=")
			l.params = append(l.params, param{strings.ToUpper(name), strings.Trim(value, `"`)})
		}
		from = i + 1
		if c == ':' {
			l.value = s[from:]
			return l
		}
	}
	return line{value: s}
}

func (l *line) get(name string) string {
	for _, p := range l.params {
		if p.name == name {
			return p.value
		}
	}
	return ""
}

func (l *line) has(name, value string) bool {
	for _, p := range l.params {
		if p.name == name && strings.EqualFold(p.value, value) {
			return true
		}
	}
	return false
}

// unquoted decodes quoted-printable text.
func unquoted(s, charset string) string {
	out, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(s)))
	if err != nil {
		return s
	}
	if utf8.Valid(out) {
		return string(out)
	}
	text, err := decode.NewReader(bytes.NewReader(out), decode.Options{Declared: func([]byte) string { return strings.ToLower(charset) }}).ReadString(0)
	if err != nil {
		return s
	}
	return text
}

// embedded says that the value is data and no text.
func (l *line) embedded() bool {
	for _, v := range []string{"B", "BASE64"} {
		if l.has("ENCODING", v) {
			return true
		}
	}
	return l.has("BASE64", "") || strings.HasPrefix(l.value, "data:") && strings.Contains(l.value[:min(len(l.value), 100)], ";base64,")
}

var unescape = strings.NewReplacer(`\n`, "\n", `\N`, "\n", `\,`, ",", `\;`, ";", `\\`, `\`)

// text is the value as it is read.
func (l *line) text() string {
	switch l.name {
	case "DTSTART", "DTEND", "DUE", "COMPLETED", "CREATED", "LAST-MODIFIED", "DTSTAMP", "RECURRENCE-ID", "EXDATE", "RDATE", "REV", "BDAY":
		return moment(l.value)
	case "N", "ADR", "ORG":
		var parts []string
		for _, p := range strings.Split(strings.ReplaceAll(l.value, `\;`, "\x00"), ";") {
			if p = strings.TrimSpace(unescape.Replace(strings.ReplaceAll(p, "\x00", ";"))); p != "" {
				parts = append(parts, p)
			}
		}
		return strings.Join(parts, ", ")
	}
	return unescape.Replace(l.value)
}

// moment writes dates and times with their signs; what is none stays.
func moment(s string) string {
	var out []string
	for v := range strings.SplitSeq(s, ",") {
		digits := strings.NewReplacer("T", "", "Z", "").Replace(v)
		if strings.Trim(digits, "0123456789") != "" || len(digits) != 8 && len(digits) != 14 {
			out = append(out, v)
			continue
		}
		t := digits[:4] + "-" + digits[4:6] + "-" + digits[6:8]
		if len(digits) == 14 {
			t += " " + digits[8:10] + ":" + digits[10:12] + ":" + digits[12:]
		}
		if strings.HasSuffix(v, "Z") {
			t += " UTC"
		}
		out = append(out, t)
	}
	return strings.Join(out, ", ")
}

// field is a line of a record.
func (l *line) field(prefix string) string {
	if l.name == "" {
		return strings.TrimSpace(l.value)
	}
	var extra []string
	for _, p := range l.params {
		switch p.name {
		case "ENCODING", "CHARSET", "VALUE", "QUOTED-PRINTABLE":
		default:
			extra = append(extra, strings.TrimSuffix(strings.ToLower(p.name)+": "+p.value, ": "))
		}
	}
	_, name, grouped := strings.Cut(l.name, ".")
	if !grouped {
		name = l.name
	}
	s := prefix + strings.ToLower(name) + ": " + strings.TrimSpace(l.text())
	if len(extra) > 0 {
		s += " (" + strings.Join(extra, ", ") + ")"
	}
	return s
}

func calendarName(top *component) string {
	for _, c := range top.kids {
		for _, l := range c.lines {
			if c.name == "VCALENDAR" && l.name == "X-WR-CALNAME" {
				return strings.Join(strings.Fields(l.text()), " ")
			}
		}
	}
	return ""
}

// write writes the records of a component.
func write(w *blocks.Writer, c *component) {
	calendar := c.name == "" || c.name == "VCALENDAR"
	for _, l := range c.lines {
		switch {
		case !calendar:
		case c.name == "VCALENDAR" && (l.name == "PRODID" || l.name == "VERSION" || l.name == "CALSCALE" || l.name == "METHOD"):
			w.Add(blocks.Block{Kind: connector.KindDropped, Reason: connector.DropMarkup, Text: l.name + ": " + l.value})
		case l.name == "X-WR-CALNAME":
		default:
			w.Add(blocks.Block{Kind: connector.KindText, Text: l.field("")})
		}
	}
	for _, k := range c.kids {
		switch k.name {
		case "VCALENDAR":
			write(w, k)
		case "VTIMEZONE":
			w.Add(blocks.Block{Kind: connector.KindDropped, Reason: connector.DropMarkup, Text: strings.Join(k.fields(w, ""), "; ")})
		default:
			w.Add(blocks.Block{Kind: connector.KindRecord, Text: strings.Join(k.record(w), "\n")})
		}
	}
}

// record are the lines of a record: first the name or summary, then the fields.
func (c *component) record(w *blocks.Writer) []string {
	for i, l := range c.lines {
		if l.name == "SUMMARY" || l.name == "FN" {
			rest := component{lines: append(append([]line{}, c.lines[:i]...), c.lines[i+1:]...), kids: c.kids}
			first := l.field("")
			return append([]string{strings.TrimPrefix(first, strings.ToLower(l.name)+": ")}, rest.fields(w, "")...)
		}
	}
	return c.fields(w, "")
}

// fields are the lines of a component and those inside.
func (c *component) fields(w *blocks.Writer, prefix string) []string {
	var out []string
	for _, l := range c.lines {
		switch {
		case l.name == "VERSION" && prefix == "":
			w.Add(blocks.Block{Kind: connector.KindDropped, Reason: connector.DropMarkup, Text: "VERSION: " + l.value})
		case l.embedded():
			w.Add(blocks.Block{Kind: connector.KindDropped, Reason: connector.DropEmbedded, Text: (&line{name: l.name, params: l.params}).field("")})
		default:
			out = append(out, l.field(prefix))
		}
	}
	for _, k := range c.kids {
		out = append(out, k.fields(w, strings.ToLower(strings.TrimPrefix(k.name, "V"))+" ")...)
	}
	return out
}
