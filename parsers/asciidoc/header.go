package asciidoc

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/lightmarkup"
)

// builder makes the blocks of one document.
type builder struct {
	*lightmarkup.Source
	fences     map[string][]int32 // the lines that may close a delimited block, by what they are
	properties map[string]any
	language   string // of code that names none
	body       int    // the line behind the header
}

// place is where blocks stand.
type place struct {
	depth int  // containers around them
	lists int  // lists around them
	item  bool // in an item: a line with nothing but "+" joins blocks
	text  int  // the line behind that with the item's own text, in which no list starts
}

func (p place) in() place   { return place{depth: p.depth + 1, lists: p.lists} }
func (p place) list() place { return place{depth: p.depth + 1, lists: p.lists + 1, item: true} }

// bounds of what is taken from a document's head.
const (
	maxProperties  = 64
	maxProperty    = 1000
	maxTitleMarkup = 512
)

func newBuilder(s *lightmarkup.Source) *builder {
	b := &builder{Source: s, fences: map[string][]int32{}, properties: map[string]any{}}
	for i := range s.Lines {
		if s.Lines[i].Indent == 0 {
			if line := s.Line(i); len(line) >= 2 && line == closing(line) && delimiter(line) != 0 {
				b.fences[line] = append(b.fences[line], int32(i))
			}
		}
	}
	return b
}

// closing is the line that closes the block which line opens.
func closing(line string) string {
	if strings.HasPrefix(line, "```") {
		return "```"
	}
	return line
}

// fenceEnd is the line that closes the block which line i opens; hi if none does.
func (b *builder) fenceEnd(i, hi int) int {
	lines := b.fences[closing(b.Line(i))]
	lo, up := 0, len(lines)
	for lo < up {
		if mid := (lo + up) / 2; int(lines[mid]) <= i {
			lo = mid + 1
		} else {
			up = mid
		}
	}
	if lo < len(lines) && int(lines[lo]) < hi {
		return int(lines[lo])
	}
	return hi
}

// delimiter is the character of a line that opens or closes a block; 0 if it does neither.
func delimiter(line string) byte {
	c := line[0]
	switch c {
	case '-':
		if line == "--" || len(line) >= 4 && lightmarkup.OneOf(line, c) {
			return c
		}
	case '.', '=', '*', '_', '+', '/':
		if len(line) >= 4 && lightmarkup.OneOf(line, c) {
			return c
		}
	case '|', ',', ':', '!':
		if len(line) >= 4 && lightmarkup.OneOf(line[1:], '=') {
			return c
		}
	case '`':
		if strings.HasPrefix(line, "```") && !strings.Contains(line[3:], "`") {
			return c
		}
	}
	return 0
}

// header reads a document's title with the lines about its author, its revision and its attributes, up to the first blank line.
func (b *builder) header() []connector.Element {
	n := len(b.Lines)
	first, i := b.Skip(0, n), b.beforeTitle()
	var els []connector.Element
	if first < i {
		els = append(els, b.Element(connector.KindText, first, i))
	}
	b.body = i
	if i >= n {
		return els
	}
	level, title, size := b.section(i, n)
	if level != 1 {
		return els
	}
	el := b.Element(connector.KindHeading, i, i+size)
	el.Level, el.Title = 1, title
	b.set("title", title)
	return b.about(append(els, el), i+size)
}

// beforeTitle passes comments and attributes that stand before a title.
func (b *builder) beforeTitle() int {
	n := len(b.Lines)
	i := b.Skip(0, n)
	for i < n {
		line := b.Line(i)
		switch {
		case isComment(line):
			b.Cut(i, i+1)
		case delimiter(line) == '/' && b.fenceEnd(i, n) < n:
			end := b.fenceEnd(i, n)
			b.Cut(i, end+1)
			i = end
		case b.attribute(i):
			i = b.entryLines(i, n) - 1
		default:
			return i
		}
		i = b.Skip(i+1, n)
	}
	return i
}

// about reads the lines below the title.
func (b *builder) about(els []connector.Element, i int) []connector.Element {
	start, n := i, len(b.Lines)
	for plain := 0; i < n && !b.Blank(i); i++ {
		line := b.Line(i)
		switch {
		case isComment(line):
			b.Cut(i, i+1)
			continue
		case delimiter(line) == '/' && b.fenceEnd(i, n) < n:
			end := b.fenceEnd(i, n)
			b.Cut(i, end+1)
			i = end
			continue
		case b.attribute(i):
			i = b.entryLines(i, n) - 1
			continue
		}
		plain++
		switch {
		case plain == 1 && b.isAuthor(line):
			b.author(line)
			continue
		case plain == 2 && strings.ContainsAny(line, "0123456789") && !startsBlock(line):
			b.revision(line)
			continue
		}
		break
	}
	if i > start {
		els = append(els, b.Element(connector.KindText, start, i))
	}
	b.body = i
	return els
}

var (
	attribute = regexp.MustCompile(`^:(!?[\pL\pN_][\pL\pN_-]*!?):(?:\s+(.*))?$`)
	authorOf  = regexp.MustCompile(`^([\pL\pN_.'\- ]{1,120})(?:<([^<>\s]{1,200})>)?$`)
	version   = regexp.MustCompile(`^v?\d[\w.\-]*$`)
)

// isAuthor tells a line of authors: names, perhaps with addresses, between semicolons.
func (b *builder) isAuthor(line string) bool {
	if len(line) > maxProperty || startsBlock(line) {
		return false
	}
	for a := range strings.SplitSeq(line, ";") {
		if a = strings.TrimSpace(a); !authorOf.MatchString(a) || len(strings.Fields(strings.SplitN(a, "<", 2)[0])) > 4 {
			return false
		}
	}
	return true
}

func (b *builder) author(line string) {
	var names []string
	for a := range strings.SplitSeq(line, ";") {
		g := authorOf.FindStringSubmatch(strings.TrimSpace(a))
		names = append(names, strings.ReplaceAll(strings.TrimSpace(g[1]), "_", " "))
		if g[2] != "" {
			b.set("email", g[2])
		}
	}
	b.set("author", strings.Join(names, "; "))
}

// revision reads "v1.0, 2024-05-01: remark".
func (b *builder) revision(line string) {
	rest, remark, _ := strings.Cut(line, ": ")
	first, date, two := strings.Cut(rest, ",")
	switch first = strings.TrimSpace(first); {
	case two && version.MatchString(first):
		b.set("version", strings.TrimPrefix(first, "v"))
		b.set("date", strings.TrimSpace(date))
	case version.MatchString(first) && (first[0] == 'v' || strings.Count(first, "-") < 2):
		b.set("version", strings.TrimPrefix(first, "v"))
	default:
		b.set("date", strings.TrimSpace(rest))
	}
	b.set("revision", strings.TrimSpace(remark))
}

// attribute notes an entry ":name: value".
func (b *builder) attribute(i int) bool {
	line := b.Line(i)
	if line[0] != ':' || len(line) > 4*maxProperty || b.Lines[i].Indent > 0 {
		return false
	}
	g := attribute.FindStringSubmatch(line)
	if g == nil {
		return false
	}
	name, value := strings.ToLower(g[1]), strings.TrimSpace(g[2])
	if end := b.entryLines(i, len(b.Lines)); end > i+1 && end < i+16 {
		lines := []string{strings.TrimSuffix(value, `\`)}
		for k := i + 1; k < end; k++ {
			lines = append(lines, strings.TrimSuffix(b.Line(k), ` \`))
		}
		value = lightmarkup.Join(lines)
	}
	switch name {
	case "author", "authors", "email", "description", "keywords", "title", "lang", "copyright", "organization":
		b.set(name, value)
	case "revdate", "docdate", "date":
		b.set("date", value)
	case "revnumber", "version":
		b.set("version", value)
	case "source-language":
		b.language = lightmarkup.Language(value)
	}
	return true
}

// entryLines is the line behind an attribute's entry: one that ends in a backslash goes on.
func (b *builder) entryLines(i, hi int) int {
	for i+1 < hi && strings.HasSuffix(b.Line(i), ` \`) && !b.Blank(i+1) {
		i++
	}
	return i + 1
}

func (b *builder) set(key, value string) {
	if _, twice := b.properties[key]; !twice && value != "" && len(value) <= maxProperty && len(b.properties) < maxProperties && utf8.ValidString(value) {
		b.properties[key] = value
	}
}
