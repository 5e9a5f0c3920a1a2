package man

import (
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
)

func composed(s string) string { return norm.NFC.String(s) }

// Bounds of what nests.
const (
	maxDepth = 16  // of lists and indented parts
	maxConds = 100 // of conditions on one line

	maxStrings = 1000    // that a page defines
	maxString  = 100     // bytes of each
	maxSpent   = 1 << 20 // bytes that all uses of them may give
)

// noSpace stands among the words of a paragraph where nothing stands between two lines. No text holds it.
const noSpace = "\x00"

// page is a manual page while it is read.
type page struct {
	lines   []string
	next    int
	w       *blocks.Writer
	strings map[string]string // the page's own, as text
	spent   int               // bytes that their uses gave
	mdoc    bool
	name    string // of the page, for .Nm without one

	words  []string // the paragraph so far: its lines
	glue   bool     // nothing stands between the last line and the next
	lists  []list   // those that are open
	item   bool     // the paragraph is that of an item
	marker string   // of the item
	tag    bool     // the next line is the tag of an item
	lit    int      // how many parts are open whose lines stay as they are
	part   int      // number of the list, so that neighbours stay apart
	taken  []bool   // whether each .ie whose .el is still to come was so
	xo     bool     // the tag goes on to .Xc
	params int      // one more than the parameters of the function so far; 0 outside of .Fo
	typed  bool     // the line before was the type of a function
	named  bool     // .Nm said what the page is about
	proto  bool     // this is the part that shows how to call it
	offset int      // how deep the text is indented
}

// list is one that is open in mdoc.
type list struct {
	kind  string
	count int
	rows  [][]string
	lit   bool // a display, not a list
}

func newPage(text string) *page {
	return &page{lines: strings.Split(strings.ReplaceAll(text, "\\\n", ""), "\n"), strings: map[string]string{}}
}

// properties are what the header says: it is looked for in the first lines.
func (p *page) properties() map[string]any {
	props := map[string]any{}
	set := func(key string, args []string, i int) {
		if i < len(args) {
			if v, _ := p.text(args[i]); strings.TrimSpace(v) != "" {
				props[key] = strings.TrimSpace(v)
			}
		}
	}
	for _, line := range p.lines[:min(len(p.lines), 300)] {
		name, rest, ok := macro(line)
		if !ok {
			continue
		}
		args := arguments(rest)
		switch name {
		case "TH":
			for i, key := range []string{"title", "section", "date", "source", "manual"} {
				set(key, args, i)
			}
		case "Dt":
			p.mdoc = true
			set("title", args, 0)
			set("section", args, 1)
		case "Dd":
			p.mdoc = true
			set("date", []string{strings.Join(args, " ")}, 0)
		case "Os":
			set("source", []string{strings.Join(args, " ")}, 0)
		}
		if name == "SH" || name == "Sh" {
			break
		}
	}
	if title, ok := props["title"].(string); ok && p.mdoc {
		p.name = strings.ToLower(title)
	}
	return props
}

// write writes the page.
func (p *page) write(w *blocks.Writer) {
	p.w = w
	for p.next < len(p.lines) && w.Err() == nil {
		line := p.lines[p.next]
		p.next++
		p.line(line, 0)
	}
	p.closeLists(0)
	p.flush()
}

// macro takes a control line apart.
func macro(line string) (name, rest string, ok bool) {
	if len(line) < 2 || line[0] != '.' && line[0] != '\'' {
		return "", "", false
	}
	body := strings.TrimLeft(line[1:], " \t")
	end := strings.IndexAny(body, " \t\\")
	switch {
	case end < 0:
		return body, "", true
	case body[end] == '\\' && strings.HasPrefix(body[end:], `\"`):
		return body[:end], body[end:], true
	case body[end] == '\\' && end > 0:
		return body[:end], body[end:], true
	case body[end] == '\\':
		return body, "", true
	}
	return body[:end], body[end+1:], true
}

// arguments divides at white space outside of quotes. A comment ends them.
func arguments(s string) (args []string) {
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == ' ' || c == '\t':
			i++
		case strings.HasPrefix(s[i:], `\"`):
			return args
		case c == '"':
			var b strings.Builder
			for i++; i < len(s); i++ {
				if s[i] == '"' {
					if i+1 >= len(s) || s[i+1] != '"' {
						break
					}
					i++
				}
				b.WriteByte(s[i])
			}
			i++
			args = append(args, b.String())
		default:
			start := i
			for i < len(s) && s[i] != ' ' && s[i] != '\t' {
				if s[i] == '\\' && i+1 < len(s) {
					if s[i+1] == '"' {
						break
					}
					i++
				}
				i++
			}
			args = append(args, s[start:min(i, len(s))])
		}
	}
	return args
}

// comment tells the comment of a line, and what stands before it.
func comment(line string) (text, said string) {
	for i := 0; i+1 < len(line); i++ {
		if line[i] != '\\' {
			continue
		}
		if line[i+1] == '"' || line[i+1] == '#' {
			return line[:i], strings.TrimSpace(line[i+2:])
		}
		i++
	}
	return line, ""
}

// line reads one line; conds counts the conditions that it stands behind.
func (p *page) line(line string, conds int) {
	text, said := comment(line)
	if said != "" {
		p.drop(connector.DropComment, said)
	}
	if text != line && strings.Trim(text, ".' \t") == "" {
		return
	}
	name, rest, ok := macro(text)
	switch {
	case !ok:
		p.plain(text)
	case name == "" || name == ".":
	case name[0] == '\\': // the end of what stands behind a condition
		if rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimLeft(text, ".' \t"), `\}`)); rest != "" && conds < maxConds {
			p.line(rest, conds+1)
		}
	case p.control(name, rest, conds):
	case p.mdoc && p.mdocBlock(name, arguments(rest)):
	case !p.mdoc && p.manBlock(name, arguments(rest)):
	default:
		p.inline(name, arguments(rest))
	}
}

// plain takes a line of text.
func (p *page) plain(line string) {
	text, joined := p.text(line)
	switch {
	case p.lit > 0:
		p.code(text)
	case strings.TrimSpace(text) == "":
		if len(p.words) > 0 && !p.tag {
			p.paragraph()
		}
	case strings.HasPrefix(line, " ") && !p.tag && !p.item: // breaks the line
		p.br()
		fallthrough
	default:
		p.add(text, joined)
	}
}

// add adds text to the paragraph, or makes it the tag of the item.
func (p *page) add(text string, joined bool) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	if p.lit > 0 {
		p.code(text)
		return
	}
	if (p.glue || p.mdoc && closes(text)) && len(p.words) > 0 {
		p.words = append(p.words, noSpace)
	}
	p.words = append(p.words, text)
	p.glue = joined || p.mdoc && strings.Contains(opening, text[len(text)-1:])
	if p.tag && !joined && !p.xo {
		p.tag = false
		p.words = append(p.words, "\n")
	}
}

// closes says that text begins with a mark that stands close to what is before it.
func closes(text string) bool {
	first, _, _ := strings.Cut(text, " ")
	return strings.Trim(first, closing+"”’>}") == "" && first != "..."
}

// br ends the line.
func (p *page) br() {
	if n := len(p.words); n > 0 && p.words[n-1] != "\n" {
		p.words = append(p.words, "\n")
	}
	p.glue = false
}

// gap is a blank line.
func (p *page) gap() {
	if p.lit > 0 {
		p.code("")
		return
	}
	p.paragraph()
}

// paragraph ends a paragraph; what follows belongs to the item still.
func (p *page) paragraph() {
	if p.item && len(p.words) > 0 {
		p.br()
		return
	}
	p.flush()
}

// flush writes the paragraph.
func (p *page) flush() {
	var b strings.Builder
	last := ""
	for _, w := range p.words {
		switch {
		case w == noSpace:
		case w == "\n" || last == "\n" || last == "" || last == noSpace:
			b.WriteString(w)
		case blocks.Glued(last, w) != last+w:
			b.WriteByte(' ')
			b.WriteString(w)
		default:
			b.WriteString(w)
		}
		last = w
	}
	text := strings.TrimSpace(b.String())
	p.words, p.glue, p.tag, p.xo = nil, false, false, false
	block := blocks.Block{Kind: connector.KindText, Text: text}
	if p.item {
		block.Kind, block.Marker, block.Level, block.List = connector.KindItem, p.marker, p.depth(), p.part
		if text == "" && p.marker != "-" {
			block.Kind, block.Text = connector.KindText, p.marker
		}
	}
	p.item, p.marker = false, ""
	p.w.Add(block)
}

func (p *page) depth() int { return min(1+p.offset+max(len(p.lists)-1, 0), maxDepth) }

// begin starts an item.
func (p *page) begin(marker string) {
	p.flush()
	p.item, p.marker = true, marker
}

func (p *page) code(line string) {
	if len(p.words) > 0 || p.item {
		p.flush()
	}
	p.w.Add(blocks.Block{Kind: connector.KindCode, Text: strings.TrimRight(line, " \t")})
}

func (p *page) heading(level int, text string) {
	p.closeLists(0)
	p.flush()
	p.lit, p.offset = 0, 0
	p.part++
	p.w.Add(blocks.Block{Kind: connector.KindHeading, Level: level, Text: text})
}

func (p *page) drop(reason connector.DropReason, text string) {
	if text = strings.TrimSpace(text); text != "" {
		p.w.Add(blocks.Block{Kind: connector.KindDropped, Reason: reason, Text: text})
	}
}
