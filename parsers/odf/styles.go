package odf

import (
	"strings"

	"github.com/kbsync/kbsync/internal/numerals"
	"github.com/kbsync/kbsync/internal/ooxml"
	"github.com/kbsync/kbsync/internal/xmlscan"
)

// style is what is known of one style.
type style struct {
	parent string
	hidden bool // text, a section or a slide of it is not shown
	breaks bool // a page begins before it
	mono   bool
	bold   bool
}

// level is how items of one level are numbered.
type level struct {
	bullet         bool
	format         numerals.Style
	prefix, suffix string
	pattern        string // of newer programs: "%1%.%2%."
	display        int    // of how many levels the number consists
	start          int
}

// levels is how many levels a list has.
const levels = 10

type listStyle [levels]level

// readStyles reads the children of the current element.
func (d *document) readStyles(s *xmlscan.Scanner) error {
	return ooxml.Each(s, func(name []byte) error {
		switch string(name) {
		case "style":
			return d.readStyle(s)
		case "list-style":
			l := &listStyle{}
			d.lists[s.String("name")] = l
			return l.read(s)
		case "outline-style":
			return d.outline.read(s)
		}
		return nil
	})
}

func (d *document) readStyle(s *xmlscan.Scanner) error {
	st := &style{parent: s.String("parent-style-name"), breaks: s.String("master-page-name") != ""}
	d.styles[s.String("name")] = st
	return ooxml.Each(s, func(name []byte) error {
		switch string(name) {
		case "text-properties":
			st.hidden = s.String("display") == "none"
			st.bold = s.String("font-weight") == "bold"
			st.mono = s.String("font-pitch") == "fixed" || typewriter(s.String("font-name"))
		case "section-properties":
			st.hidden = s.String("display") == "none"
		case "drawing-page-properties":
			st.hidden = s.String("visibility") == "hidden"
		case "paragraph-properties":
			st.breaks = st.breaks || s.String("break-before") == "page"
		}
		return nil
	})
}

// typewriter says that all letters of a font are of one width.
func typewriter(font string) bool {
	font = strings.ToLower(font)
	for _, known := range [...]string{"courier", "consolas", "menlo", "monaco", "lucida console", "mono"} {
		if strings.Contains(font, known) && !strings.Contains(font, "monotype") {
			return true
		}
	}
	return false
}

func (l *listStyle) read(s *xmlscan.Scanner) error {
	return ooxml.Each(s, func(name []byte) error {
		i := s.Int("level", 0) - 1
		if i < 0 || i >= levels {
			return nil
		}
		switch string(name) {
		case "list-level-style-number", "outline-level-style":
			l[i] = level{
				format: numerals.ODF(s.String("num-format"), s.String("num-letter-sync") == "true"), prefix: s.String("num-prefix"), suffix: s.String("num-suffix"),
				pattern: s.String("num-list-format"), display: max(1, s.Int("display-levels", 1)), start: s.Int("start-value", 1),
			}
		case "list-level-style-bullet", "list-level-style-image":
			l[i] = level{bullet: true, start: 1}
		}
		return nil
	})
}

// counter counts the items of one list.
type counter struct {
	number int // of the list
	counts [levels]int
	begun  [levels]bool
}

// next counts an item and returns its marker: "-" for bullets, "" where an item of that level shows nothing. start is the number that the item
// says it has; -1 if it says none.
func (c *counter) next(l *listStyle, i, start int) string {
	switch {
	case start >= 0:
		c.counts[i] = start
	case c.begun[i]:
		c.counts[i]++
	default:
		c.counts[i] = l[i].start
	}
	c.begun[i] = true
	for k := range i {
		if !c.begun[k] {
			c.counts[k], c.begun[k] = max(1, l[k].start), true
		}
	}
	for k := i + 1; k < levels; k++ {
		c.begun[k] = false
	}
	if l[i].bullet || l[i].display == 0 { // or a level that the style says nothing about
		return "-"
	}
	return c.marker(l, i)
}

// maxMarker bounds the text of a marker, in bytes.
const maxMarker = 200

func (c *counter) marker(l *listStyle, i int) string {
	one := &l[i]
	if one.format == numerals.None {
		return ""
	}
	if one.pattern != "" {
		out := one.pattern[:min(len(one.pattern), maxMarker)]
		for k := range i + 1 {
			if strings.Contains(out, "%"+string(rune('1'+k))+"%") {
				out = strings.ReplaceAll(out, "%"+string(rune('1'+k))+"%", l[k].format.Format(c.counts[k]))
			}
		}
		return strings.TrimSpace(out)
	}
	var numbers []string
	for k := max(0, i+1-one.display); k <= i; k++ {
		if n := l[k].format.Format(c.counts[k]); n != "" {
			numbers = append(numbers, n)
		}
	}
	return strings.TrimSpace(one.prefix + strings.Join(numbers, ".") + one.suffix)
}

// maxParents bounds the chain of styles.
const maxParents = 32

// is says what a paragraph's style, or one that it is based on, is called by: "title", "code", "quote", or "heading" with a level.
func (d *document) is(name string) (what string, n int) {
	for range maxParents {
		switch plain := strings.ReplaceAll(name, "_20_", " "); {
		case plain == "Title":
			return "title", 1
		case plain == "Preformatted Text" || plain == "Source Code":
			return "code", 0
		case plain == "Quotations":
			return "quote", 0
		case len(plain) == len("Heading 1") && strings.HasPrefix(plain, "Heading ") && plain[8] >= '1' && plain[8] <= '9':
			return "heading", int(plain[8] - '0')
		}
		st := d.styles[name]
		if st == nil || st.parent == "" {
			return "", 0
		}
		name = st.parent
	}
	return "", 0
}

// of is a style; an empty one where there is none of that name.
func (d *document) of(name string) style {
	if st := d.styles[name]; st != nil {
		return *st
	}
	return style{}
}
