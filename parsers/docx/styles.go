package docx

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/ooxml"
	"github.com/kbsync/kbsync/internal/xmlscan"
)

// Three values of what a style may say.
type toggle int8

const (
	unsaid toggle = iota
	off
	yes
)

// style is what matters of a style. After resolve it includes what the styles say on which it is based.
type style struct {
	id, name, base string
	outline        int // 0–8; 9 is body text; -1 unsaid
	num            string
	level          int // of the numbering; -1 unsaid
	hidden, bold   toggle
	kind           connector.Kind // code or quote, by name
	toc            bool
	mono           toggle
	head           bool // of a table: its first row looks different
	resolved       bool
}

type styles struct {
	byID map[string]*style
	def  string // the default paragraph style
}

func newStyles() *styles { return &styles{byID: map[string]*style{}} }

// read reads the part of styles.
func (st *styles) read(s *xmlscan.Scanner) error {
	return ooxml.Each(s, func(name []byte) error {
		if string(name) != "style" {
			return nil
		}
		one := &style{id: s.String("styleId"), outline: -1, level: -1}
		isDefault := isOn(s, "default", false) && s.String("type") == "paragraph"
		err := ooxml.Each(s, func(name []byte) error {
			switch string(name) {
			case "name":
				one.name = strings.ToLower(s.String("val"))
			case "basedOn":
				one.base = s.String("val")
			case "pPr":
				return one.paragraph(s)
			case "rPr":
				return ooxml.Each(s, func(name []byte) error {
					one.run(s, name)
					return nil
				})
			case "tblStylePr":
				one.head = one.head || s.String("type") == "firstRow"
			}
			return nil
		})
		if err != nil {
			return err
		}
		if one.id == "" {
			return nil
		}
		one.known()
		st.byID[one.id] = one
		if isDefault {
			st.def = one.id
		}
		return nil
	})
}

func (one *style) paragraph(s *xmlscan.Scanner) error {
	return ooxml.Each(s, func(name []byte) error {
		switch string(name) {
		case "outlineLvl":
			one.outline = s.Int("val", -1)
		case "numPr":
			return ooxml.Each(s, func(name []byte) error {
				switch string(name) {
				case "numId":
					one.num = s.String("val")
				case "ilvl":
					one.level = s.Int("val", -1)
				}
				return nil
			})
		}
		return nil
	})
}

// run reads one property of characters.
func (one *style) run(s *xmlscan.Scanner, name []byte) {
	switch string(name) {
	case "vanish":
		one.hidden = toggled(s)
	case "b":
		one.bold = toggled(s)
	case "rFonts":
		if font, ok := s.Attr("ascii"); ok {
			one.mono = off
			if typewriter(string(font)) {
				one.mono = yes
			}
		}
	}
}

// typewriter says that all letters of a font are of one width.
func typewriter(font string) bool {
	font = strings.ToLower(font)
	for _, known := range [...]string{"courier", "consolas", "menlo", "monaco", "lucida console", "mono", "cascadia code", "fira code", "andale"} {
		if strings.Contains(font, known) {
			return true
		}
	}
	return false
}

func toggled(s *xmlscan.Scanner) toggle {
	if isOn(s, "val", true) {
		return yes
	}
	return off
}

// isOn is the value of a switch.
func isOn(s *xmlscan.Scanner, attr string, otherwise bool) bool {
	v, ok := s.Attr(attr)
	if !ok {
		return otherwise
	}
	switch string(v) {
	case "0", "false", "off":
		return false
	}
	return true
}

var (
	headingName = regexp.MustCompile(`^(?:heading|标题|標題|見出し|제목|titre|überschrift|título|titolo|kop|rubrik|overskrift|заголовок|nagłówek|nadpis|otsikko)\s*([1-9])$`)
	tocName     = regexp.MustCompile(`^(?:toc\s*(?:[1-9]|heading)|目录\s*[1-9]|table of figures|contents\s*[1-9]|contents heading)$`)
)

// known says what the built-in names mean.
func (one *style) known() {
	name := one.name
	switch {
	case name == "title" || name == "标题":
		if one.outline < 0 {
			one.outline = 0
		}
	case tocName.MatchString(name):
		one.toc = true
	case name == "quote", name == "intense quote", name == "引用", name == "明显引用", name == "block text", name == "quotations":
		one.kind = connector.KindQuote
	case name == "code", name == "source code", name == "html preformatted", name == "preformatted text", name == "macro", name == "code block", name == "代码", name == "codeblock":
		one.kind = connector.KindCode
	default:
		if m := headingName.FindStringSubmatch(name); m != nil && one.outline < 0 {
			one.outline, _ = strconv.Atoi(m[1])
			one.outline--
		}
	}
}

// maxBased is how long a chain of styles may be; a longer one, or one that comes back to itself, ends there.
const maxBased = 64

// get is the style of an id with all that it inherits; nil if there is none.
func (st *styles) get(id string) *style {
	one := st.byID[id]
	if one == nil || one.resolved {
		return one
	}
	base := one.base
	for range maxBased {
		b := st.byID[base]
		if b == nil || b == one {
			break
		}
		one.inherit(b)
		if b.resolved {
			break
		}
		base = b.base
	}
	one.resolved = true
	return one
}

func (one *style) inherit(b *style) {
	if one.outline < 0 {
		one.outline = b.outline
	}
	if one.num == "" {
		one.num = b.num
	}
	if one.level < 0 {
		one.level = b.level
	}
	if one.hidden == unsaid {
		one.hidden = b.hidden
	}
	if one.bold == unsaid {
		one.bold = b.bold
	}
	if one.mono == unsaid {
		one.mono = b.mono
	}
	one.head = one.head || b.head
	if one.kind == "" {
		one.kind = b.kind
	}
}
