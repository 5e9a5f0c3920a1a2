package pagelayout

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// hyphen is how a run says that its line ends in a hyphen.
const hyphen = '\x02'

// frag is a run that was cleaned.
type frag struct {
	text   string // no line ends; may start or end with a space
	box    connector.Box
	size   float64
	order  int // place in the content stream
	font   string
	heavy  bool
	italic bool
	mono   bool
	hyphen bool // a hyphen followed the text at the line's end
}

// cleaner makes frags of runs.
type cleaner struct {
	chars decode.Cleaner
}

// page gives the frags of a page, those written along the page and those written down it (their boxes turned, so that the right most
// column is the upper line), and what was drawn twice.
func (c *cleaner) page(p *Page) (across, down []frag, repeated []drop) {
	type place struct {
		text string
		x, y int
	}
	seen := make(map[place]bool, len(p.Runs))
	for i := range p.Runs {
		r := &p.Runs[i]
		f, ok := c.frag(r, i)
		if !ok {
			continue
		}
		at := place{f.text, int(f.box.X0 / 2), int(f.box.Y0 / 2)}
		if seen[at] && strings.TrimSpace(f.text) != "" {
			box := f.box
			repeated = append(repeated, drop{connector.DropRepeated, strings.TrimSpace(f.text), &box})
			continue
		}
		seen[at] = true
		if r.Vertical || sideways(&f) {
			f.box = turned(f.box, p.Width)
			down = append(down, f)
		} else {
			across = append(across, f)
		}
	}
	return across, down, repeated
}

// sideways tells text that runs up or down the page.
func sideways(f *frag) bool {
	return utf8.RuneCountInString(f.text) > 3 && f.box.Y1-f.box.Y0 > 2.5*f.size && f.box.X1-f.box.X0 < 1.6*f.size
}

// turned is a box of a column of vertical writing as if it were a line.
func turned(b connector.Box, width float64) connector.Box {
	return connector.Box{X0: b.Y0, X1: b.Y1, Y0: width - b.X1, Y1: width - b.X0}
}

// turnedBack undoes turned.
func turnedBack(b connector.Box, width float64) connector.Box {
	return connector.Box{X0: width - b.Y1, X1: width - b.Y0, Y0: b.X0, Y1: b.X1}
}

func (c *cleaner) frag(r *Run, order int) (frag, bool) {
	text := r.Text
	f := frag{box: ordered(r.Box), size: r.Size, order: order, font: r.Font, italic: r.Italic}
	if trimmed := strings.TrimRight(text, " \r\n"); strings.HasSuffix(trimmed, string(hyphen)) {
		text, f.hyphen = trimmed[:len(trimmed)-1], true
	}
	text = strings.ReplaceAll(text, string(hyphen), "-")
	f.text = c.clean(text)
	if f.text == "" && f.hyphen {
		f.text, f.hyphen = "-", false
	}
	if f.text == "" {
		return f, false
	}
	if f.size <= 0 || f.size > 2000 {
		f.size = max(min(f.box.Y1-f.box.Y0, 2000), 1)
	}
	f.heavy = r.Bold || heavyFont(r.Font)
	f.mono = monoFont(r.Font)
	return f, true
}

// ordered is b with its corners in order and finite.
func ordered(b connector.Box) connector.Box {
	for _, v := range []*float64{&b.X0, &b.Y0, &b.X1, &b.Y1} {
		if *v != *v || *v > 1e6 || *v < -1e6 {
			*v = 0
		}
	}
	return connector.Box{X0: min(b.X0, b.X1), X1: max(b.X0, b.X1), Y0: min(b.Y0, b.Y1), Y1: max(b.Y0, b.Y1)}
}

// clean makes one line of s: line ends and tabs are spaces, ligatures their letters, radicals the characters that look like them (fonts
// share one glyph for both, so that PDF files often name the radical).
func (c *cleaner) clean(s string) string {
	plain := true
	for i := range len(s) {
		if b := s[i]; b < ' ' || b >= 0x7F {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(func(r rune) rune {
		switch r {
		case '\r', '\n', '\t', '\v', '\f', '\u00A0', '\u2028', '\u2029', '\u0085':
			return ' '
		}
		return r
	}, s)
	if strings.ContainsFunc(s, compatible) {
		var b strings.Builder
		for _, r := range s {
			if compatible(r) {
				b.WriteString(norm.NFKC.String(string(r)))
			} else {
				b.WriteRune(r)
			}
		}
		s = b.String()
	}
	return c.chars.Clean(s)
}

// compatible tells Latin ligatures and the radicals of Han characters.
func compatible(r rune) bool {
	return r >= 0xFB00 && r <= 0xFB06 || r >= 0x2F00 && r <= 0x2FD5 || r == 0x2E9F || r == 0x2EF3
}

// heavyFont tells fonts whose name says that they are bold, or that stand for bold in Chinese text.
func heavyFont(name string) bool {
	name = strings.ToLower(name)
	for _, s := range []string{"bold", "black", "heavy", "demi", "simhei", "stheiti-medium", "cmbx", "cmssbx", "-bd"} {
		if strings.Contains(name, s) {
			return true
		}
	}
	return false
}

// monoFont tells fonts for code by their name.
func monoFont(name string) bool {
	name = strings.ToLower(name)
	for _, s := range []string{"mono", "courier", "consol", "menlo", "cmtt", "typewriter", "inconsolata", "sourcecode", "source code", "firacode", "fira code", "lucidaconsole", "andale", "nimbusmonl", "txtt", "letter gothic"} {
		if strings.Contains(name, s) {
			return !strings.Contains(name, "monotype")
		}
	}
	return false
}

// wide tells the characters between which no spaces stand: Han, kana, and their punctuation.
func wide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo, unicode.Yi) ||
		r >= 0x3000 && r <= 0x303F || r >= 0xFF00 && r <= 0xFFEF && (r < 0xFF10 || r > 0xFF5A || r >= 0xFF1A && r <= 0xFF20 || r >= 0xFF3B && r <= 0xFF40) || r == '—' || r == '…' || r == '“' || r == '”' || r == '‘' || r == '’' || r == '·'
}

// wideSure is wide without the marks that Latin text uses too.
func wideSure(r rune) bool { return r >= 0x2E80 && wide(r) }

// rightToLeft tells letters of scripts written from the right.
func rightToLeft(r rune) bool {
	return r >= 0x0590 && r <= 0x08FF || r >= 0xFB1D && r <= 0xFDFF || r >= 0xFE70 && r <= 0xFEFC
}

func lastRune(s string) rune { r, _ := utf8.DecodeLastRuneInString(s); return r }

func firstRune(s string) rune { r, _ := utf8.DecodeRuneInString(s); return r }

// ems is the width of s in ems, if set in an ordinary font.
func ems(s string) float64 {
	n := 0.0
	for _, r := range s {
		if wideSure(r) {
			n++
		} else {
			n += 0.5
		}
	}
	return n
}
