package notebook

import (
	"regexp"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// block is a stretch of a Markdown cell.
type block struct {
	el connector.Element // without text and span
	lo int
}

// blocks yields the blocks of a Markdown cell's text, which tile it.
func (r *reading) blocks(text string) error {
	m := &cellText{text: text}
	for m.at < len(text) {
		m.line()
	}
	for i, b := range m.blocks {
		end := len(text)
		if i+1 < len(m.blocks) {
			end = m.blocks[i+1].lo
		}
		if i == 0 {
			b.lo = 0
		}
		if b.el.Table != nil {
			r.tables++
			b.el.Table.ID = r.tables
			shiftTable(b.el.Table, r.out.pos-b.lo)
		}
		if err := r.out.send(b.el, text[b.lo:end]); err != nil {
			return err
		}
	}
	return nil
}

func shiftTable(t *connector.Table, by int) {
	move := func(s *connector.Span) { s.Start += by; s.End += by }
	move(&t.HeaderSpan)
	for k := range t.Rows {
		move(&t.Rows[k].Span)
	}
}

// cellText finds the blocks of Markdown line by line: headings of both forms (and those written as HTML), fences, display math,
// tables, lists, quotes and paragraphs, after CommonMark and GitHub Flavored Markdown.
type cellText struct {
	text   string
	at     int // the line to read
	blocks []block
	open   connector.Kind // the block that further lines join; empty after a blank line
	lines  int            // of the open block
	noMath bool           // no line further down ends display math
}

var (
	atxHeading  = regexp.MustCompile(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	htmlHeading = regexp.MustCompile(`(?i)^ {0,3}<h([1-6])\b[^>]*>(.*)</h([1-6])>[ \t]*$`)
	underline   = regexp.MustCompile(`^ {0,3}(=+|-+)[ \t]*$`)
	fenceOpen   = regexp.MustCompile("^ {0,3}(`{3,}[^`]*|~{3,}.*)$")
	listItem    = regexp.MustCompile(`^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)`)
	delimiters  = regexp.MustCompile(`^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)
	tags        = regexp.MustCompile(`<[^<>]*>`)
)

// next is the line at i, without its line end, and where the one after it starts.
func (m *cellText) next(i int) (line string, end int) {
	line, _, found := strings.Cut(m.text[i:], "\n")
	end = i + len(line)
	if found {
		end++
	}
	return line, end
}

// begin starts a block at the line at hand.
func (m *cellText) begin(el connector.Element, open bool) {
	m.blocks = append(m.blocks, block{el: el, lo: m.at})
	m.open, m.lines = "", 1
	if open {
		m.open = el.Kind
	}
}

// line reads one line, or the lines of a block that begins with it.
func (m *cellText) line() {
	line, end := m.next(m.at)
	switch {
	case strings.TrimSpace(line) == "":
		if m.open != connector.KindList {
			m.open = ""
		}
		m.at = end
	case m.fence(line, end), m.heading(line, end), m.math(line, end), m.table(line, end):
	default:
		m.paragraph(line)
		m.at = end
	}
}

func (m *cellText) fence(line string, end int) bool {
	g := fenceOpen.FindStringSubmatch(line)
	if g == nil {
		return false
	}
	marks := g[1][:len(g[1])-len(strings.TrimLeft(g[1], g[1][:1]))]
	info := firstWord(strings.Trim(strings.TrimSpace(g[1][len(marks):]), "{}."))
	language := ""
	if info != "" {
		language = languageName(strings.TrimPrefix(info, "."))
	}
	m.begin(connector.Element{Kind: connector.KindCode, Atom: true, Language: language}, false)
	for m.at = end; m.at < len(m.text); {
		line, m.at = m.next(m.at)
		if t := strings.TrimSpace(line); strings.HasPrefix(t, marks) && strings.Trim(t, marks[:1]) == "" {
			break
		}
	}
	return true
}

func (m *cellText) heading(line string, end int) bool {
	level, title := 0, ""
	if g := atxHeading.FindStringSubmatch(line); g != nil {
		level, title = len(g[1]), g[2]
	} else if g := htmlHeading.FindStringSubmatch(line); g != nil && g[1] == g[3] {
		level, title = int(g[1][0]-'0'), tags.ReplaceAllString(g[2], "")
	}
	if level > 0 {
		m.begin(connector.Element{Kind: connector.KindHeading, Level: level, Title: plainTitle(title)}, false)
		m.at = end
		return true
	}
	if m.open != connector.KindText || m.lines > 3 || !underline.MatchString(line) {
		return false
	}
	last := &m.blocks[len(m.blocks)-1]
	level = 2
	if strings.Contains(line, "=") {
		level = 1
	}
	last.el = connector.Element{Kind: connector.KindHeading, Level: level, Title: plainTitle(m.text[last.lo:m.at])}
	m.open, m.at = "", end
	return true
}

func (m *cellText) math(line string, end int) bool {
	t := strings.TrimSpace(line)
	if !strings.HasPrefix(t, "$$") || m.noMath {
		return false
	}
	if len(t) > 3 && strings.HasSuffix(t, "$$") {
		m.begin(connector.Element{Kind: connector.KindMath, Atom: true}, false)
		m.at = end
		return true
	}
	for i := end; i < len(m.text); {
		line, i = m.next(i)
		if strings.HasSuffix(strings.TrimSpace(line), "$$") {
			m.begin(connector.Element{Kind: connector.KindMath, Atom: true}, false)
			m.at = i
			return true
		}
	}
	m.noMath = true
	return false
}

// table reads a header with the line of hyphens below it, and rows up to a blank line.
func (m *cellText) table(line string, end int) bool {
	if !strings.Contains(line, "|") || end >= len(m.text) {
		return false
	}
	rule, at := m.next(end)
	if !delimiters.MatchString(rule) || !strings.Contains(rule, "-") {
		return false
	}
	header := cells(line)
	if len(header) != len(cells(rule)) {
		return false
	}
	t := &connector.Table{FirstRow: 1, Header: [][]string{header}, HeaderSpan: connector.Span{Start: m.at, End: at}, HeaderText: m.text[m.at:at]}
	m.begin(connector.Element{Kind: connector.KindTable, Table: t}, false)
	for m.at = at; m.at < len(m.text); {
		row, end := m.next(m.at)
		if strings.TrimSpace(row) == "" {
			break
		}
		t.Rows = append(t.Rows, connector.Row{Cells: cells(row), Span: connector.Span{Start: m.at, End: end}})
		m.at = end
	}
	return true
}

// cells are the cells of a row; an escaped bar is text.
func cells(row string) []string {
	row = strings.TrimPrefix(strings.TrimSpace(row), "|")
	var out []string
	start := 0
	for i := 0; i < len(row); i++ {
		switch row[i] {
		case '\\':
			i++
		case '|':
			out = append(out, cellOf(row[start:i]))
			start = i + 1
		}
	}
	if start < len(row) || start == 0 {
		out = append(out, cellOf(row[start:]))
	}
	return out
}

func cellOf(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), `\|`, "|") }

// paragraph adds a line to the open block, or begins one.
func (m *cellText) paragraph(line string) {
	indented := strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t")
	item := listItem.MatchString(line)
	quote := strings.HasPrefix(strings.TrimLeft(line, " "), ">")
	blank := m.at > 1 && m.text[m.at-2:m.at] == "\n\n"
	switch m.open {
	case connector.KindList:
		if item || indented || !blank {
			return
		}
	case connector.KindQuote:
		if quote || !item {
			return
		}
	case connector.KindText:
		if !item && !quote {
			m.lines++
			return
		}
	}
	switch {
	case item:
		m.begin(connector.Element{Kind: connector.KindList, Level: 1}, true)
	case quote:
		m.begin(connector.Element{Kind: connector.KindQuote}, true)
	default:
		m.begin(connector.Element{Kind: connector.KindText}, true)
	}
}

var (
	attributes = regexp.MustCompile(`\s*\{[#.][^{}]*\}$`)
	links      = regexp.MustCompile(`!?\[([^\[\]]*)\]\([^()]*\)`)
	anchors    = regexp.MustCompile(`(?i)</?(?:a|b|i|em|strong|span|code|font|u|br)\b[^<>]*>`)
)

// plainTitle is a heading's text without its markup.
func plainTitle(s string) string {
	if len(s) > 512 {
		return strings.Join(strings.Fields(s), " ")
	}
	plain := attributes.ReplaceAllString(strings.TrimSpace(s), "")
	plain = anchors.ReplaceAllString(links.ReplaceAllString(plain, "$1"), "")
	plain = strings.NewReplacer("**", "", "__", "", "`", "", "*", "").Replace(plain)
	if plain = strings.Join(strings.Fields(plain), " "); plain == "" {
		return strings.Join(strings.Fields(s), " ")
	}
	return plain
}
