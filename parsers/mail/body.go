package mail

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
	"github.com/kbsync/kbsync/internal/htmltext"
)

// piece is the content of one body part: lines of plain text, or the elements of a page.
type piece struct {
	plain string
	els   []connector.Element // of HTML
	html  bool
	drops []connector.Element
}

// pieces reads the body parts below p, in order.
func (m *message) pieces(p *part) []piece {
	switch {
	case len(p.kids) == 0:
		return m.leaf(p)
	case p.kind == "multipart/alternative":
		return m.choose(p)
	}
	out := outsides(p)
	if p.kind == "multipart/encrypted" {
		return append(out, note(connector.DropEmbedded, "an encrypted mail"))
	}
	for _, k := range p.kids {
		out = append(out, m.pieces(k)...)
	}
	return out
}

func outsides(p *part) []piece {
	var out []piece
	for _, s := range p.around {
		out = append(out, note(connector.DropMarkup, s))
	}
	return out
}

func note(reason connector.DropReason, text string) piece {
	return piece{drops: []connector.Element{{Kind: connector.KindDropped, Reason: reason, Text: text}}}
}

// label names a part for people.
func (p *part) label() string {
	if p.name != "" {
		return decode.Clip(p.name)
	}
	if p.path == "" {
		return decode.Clip(p.kind)
	}
	return fmt.Sprintf("part %s (%.100s)", p.path, p.kind)
}

// leaf reads one part.
func (m *message) leaf(p *part) []piece {
	switch {
	case p.isSignature(), p.encrypted() != "":
		return []piece{note(connector.DropEmbedded, p.label())}
	case !p.isBody():
		return nil // a member
	}
	u := unpack(p.encoding, bytes.NewReader(m.data[p.start:p.end]))
	var b bytes.Buffer
	_, _ = b.ReadFrom(u) // no source, no error
	label := p.params["charset"]
	if p.kind == "text/html" && label == "" {
		label = htmltext.DeclaredCharset(b.Bytes())
	}
	s, drops, err := text(b.Bytes(), label)
	if err != nil {
		return []piece{note(connector.DropUndecodable, p.label()+": "+err.Error())}
	}
	var out piece
	if u.bad > 0 {
		out.drops = note(connector.DropUndecodable, fmt.Sprintf("%s: %d characters that have no place in base64", p.label(), u.bad)).drops
	}
	switch {
	case p.kind == "text/html":
		out.html, out.els = true, htmltext.Elements(s, drops, htmltext.Options{KeepBoilerplate: true, NoTitle: true})
		return []piece{out}
	case strings.HasPrefix(strings.TrimSpace(s), "-----BEGIN PGP MESSAGE-----"):
		return []piece{note(connector.DropEmbedded, "a mail encrypted by PGP")}
	}
	for _, d := range drops {
		out.drops = append(out.drops, d.Element())
	}
	if strings.EqualFold(p.params["format"], "flowed") {
		s = unflow(s, strings.EqualFold(p.params["delsp"], "yes"))
	}
	out.plain = s
	return []piece{out}
}

// choose reads the alternatives of one text and keeps one: plain text, unless the page holds more or has a table; the last one if there are
// others. The rest is dropped as repeated.
func (m *message) choose(p *part) []piece {
	var all [][]piece
	best, plain, page := -1, -1, -1
	for _, k := range p.kids {
		ps := m.pieces(k)
		if len(ps) == 0 {
			continue
		}
		i := len(all)
		all = append(all, ps)
		switch {
		case letters(ps) == 0:
			continue
		case hasPage(ps):
			page = i
		case k.kind == "text/plain":
			plain = i
		}
		best = i
	}
	switch {
	case plain >= 0 && page >= 0 && !hasTable(all[page]) && letters(all[page]) <= letters(all[plain])*5/4+64:
		best = plain
	case page >= 0:
		best = page
	case plain >= 0:
		best = plain
	}
	out := outsides(p)
	for i, ps := range all {
		if i == best {
			out = append(out, ps...)
			continue
		}
		for _, pc := range ps {
			out = append(out, piece{drops: pc.drops})
			if s := pc.text(); strings.TrimSpace(s) != "" {
				out = append(out, note(connector.DropRepeated, s))
			}
		}
	}
	return out
}

// text is what a piece holds.
func (pc *piece) text() string {
	var b strings.Builder
	b.WriteString(pc.plain)
	for _, el := range pc.els {
		if el.Kind != connector.KindDropped {
			b.WriteString(el.Text)
		}
	}
	return b.String()
}

func letters(ps []piece) int {
	n := 0
	for i := range ps {
		for _, r := range ps[i].text() {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				n++
			}
		}
	}
	return n
}

func hasPage(ps []piece) bool {
	for i := range ps {
		if ps[i].html {
			return true
		}
	}
	return false
}

// hasTable says that there is a table of several rows and columns, which plain text cannot show.
func hasTable(ps []piece) bool {
	for i := range ps {
		for _, el := range ps[i].els {
			if t := el.Table; t != nil && len(t.Rows) > 1 && len(t.Rows[0].Cells) > 1 {
				return true
			}
		}
	}
	return false
}

// unflow joins the lines of flowed text (RFC 3676), whose soft ends are marked by a space, which remove says to remove. Between two Chinese
// characters it goes in any case.
func unflow(s string, remove bool) string {
	var b []byte
	before := -1 // depth of the line that goes on
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		depth := len(line) - len(strings.TrimLeft(line, ">"))
		line = strings.TrimPrefix(line[depth:], " ") // spaces are stuffed
		soft := strings.HasSuffix(line, " ") && line != "-- "
		if before == depth && line != "-- " {
			if n := len(b); n > 0 && b[n-1] == ' ' && endsWide(b[:n-1]) && startsWide(line) {
				b = b[:n-1]
			}
		} else {
			if len(b) > 0 || before >= 0 {
				b = append(b, '\n')
			}
			if depth > 0 {
				b = append(append(b, strings.Repeat(">", depth)...), ' ')
			}
		}
		if soft && remove {
			line = line[:len(line)-1]
		}
		b = append(b, line...)
		if before = -1; soft {
			before = depth
		}
	}
	return string(append(b, '\n'))
}

func endsWide(b []byte) bool {
	r, _ := utf8.DecodeLastRune(b)
	return wide(r)
}

func startsWide(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return wide(r)
}

// wide says that r is a character of a script without spaces between words.
func wide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r >= 0x3000 && r <= 0x303F || r >= 0xFF00 && r <= 0xFFEF
}
