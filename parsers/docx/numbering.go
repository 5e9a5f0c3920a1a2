package docx

import (
	"strings"

	"github.com/kbsync/kbsync/internal/numerals"
	"github.com/kbsync/kbsync/internal/ooxml"
	"github.com/kbsync/kbsync/internal/xmlscan"
)

// levels is how many levels a list of Word has.
const levels = 9

// maxMarker bounds the text of a marker, in bytes.
const maxMarker = 200

// level is how items of one level are numbered.
type level struct {
	set     bool
	start   int
	format  string // "bullet", "none", "decimal" …
	text    string // "%1.%2"
	legal   bool   // all numbers are decimal
	restart int    // the level (from 1) whose items start this one again; 0: never; -1: any above
	style   string // the paragraph style that is bound to it
}

type abstract struct {
	levels [levels]level
	link   string // a style whose numbering this is
	counts [levels]int
	begun  [levels]bool
}

type num struct {
	id       string
	abstract string
	starts   [levels]int // -1 unsaid
	levels   [levels]level
	begun    [levels]bool // its own start was used
}

type numbering struct {
	abstracts map[string]*abstract
	nums      map[string]*num
	links     map[string]*abstract // by the style that defines them
	ids       map[string]int       // numbers for lists
}

func newNumbering() *numbering {
	return &numbering{abstracts: map[string]*abstract{}, nums: map[string]*num{}, links: map[string]*abstract{}, ids: map[string]int{}}
}

// read reads the part of numbering.
func (n *numbering) read(s *xmlscan.Scanner) error {
	return ooxml.Each(s, func(name []byte) error {
		switch string(name) {
		case "abstractNum":
			return n.readAbstract(s)
		case "num":
			return n.readNum(s)
		}
		return nil
	})
}

func (n *numbering) readAbstract(s *xmlscan.Scanner) error {
	a := &abstract{}
	n.abstracts[s.String("abstractNumId")] = a
	return ooxml.Each(s, func(name []byte) error {
		switch string(name) {
		case "lvl":
			if i := s.Int("ilvl", -1); i >= 0 && i < levels {
				return a.levels[i].read(s)
			}
		case "numStyleLink":
			a.link = s.String("val")
		case "styleLink":
			n.links[s.String("val")] = a
		}
		return nil
	})
}

func (l *level) read(s *xmlscan.Scanner) error {
	*l = level{set: true, start: 0, format: "decimal", restart: -1}
	return ooxml.Each(s, func(name []byte) error {
		switch string(name) {
		case "start":
			l.start = s.Int("val", 0)
		case "numFmt":
			l.format = s.String("val")
		case "lvlText":
			l.text = s.String("val")
		case "isLgl":
			l.legal = isOn(s, "val", true)
		case "lvlRestart":
			l.restart = s.Int("val", -1)
		case "pStyle":
			l.style = s.String("val")
		case "AlternateContent": // a format that old programs do not know stands in the choice
			return ooxml.Each(s, func(name []byte) error {
				if string(name) != "Fallback" {
					return nil
				}
				return ooxml.Each(s, func(name []byte) error {
					if string(name) == "numFmt" {
						l.format = s.String("val")
					}
					return nil
				})
			})
		}
		return nil
	})
}

func (n *numbering) readNum(s *xmlscan.Scanner) error {
	one := &num{id: s.String("numId")}
	for i := range one.starts {
		one.starts[i] = -1
	}
	n.nums[one.id] = one
	n.ids[one.id] = len(n.ids) + 1
	return ooxml.Each(s, func(name []byte) error {
		switch string(name) {
		case "abstractNumId":
			one.abstract = s.String("val")
		case "lvlOverride":
			i := s.Int("ilvl", -1)
			if i < 0 || i >= levels {
				return nil
			}
			return ooxml.Each(s, func(name []byte) error {
				switch string(name) {
				case "startOverride":
					one.starts[i] = s.Int("val", -1)
				case "lvl":
					return one.levels[i].read(s)
				}
				return nil
			})
		}
		return nil
	})
}

// of is the numbering that a paragraph's id names, with that of the style it is linked to; nil if there is none.
func (n *numbering) of(id string, st *styles) (*num, *abstract) {
	one := n.nums[id]
	if one == nil {
		return nil, nil
	}
	a := n.abstracts[one.abstract]
	if a == nil {
		return nil, nil
	}
	if a.link != "" {
		if linked := n.links[a.link]; linked != nil {
			return one, linked
		}
		if s := st.get(a.link); s != nil {
			if other := n.nums[s.num]; other != nil && n.abstracts[other.abstract] != nil {
				return one, n.abstracts[other.abstract]
			}
		}
	}
	return one, a
}

// levelOf is the level that is bound to a style; -1 if none is.
func (a *abstract) levelOf(style string) int {
	for i := range a.levels {
		if a.levels[i].style == style && style != "" {
			return i
		}
	}
	return -1
}

func (n *num) at(a *abstract, i int) *level {
	if n.levels[i].set {
		return &n.levels[i]
	}
	return &a.levels[i]
}

// next counts one item at a level and returns its marker; "-" for bullets. ok is false where an item of that level shows nothing.
func (n *num) next(a *abstract, i int) (marker string, ok bool) {
	n.count(a, i)
	l := n.at(a, i)
	if !l.set {
		return "", false
	}
	if l.format == "bullet" {
		return "-", true
	}
	marker = n.marker(a, l)
	return marker, marker != ""
}

// count moves the counter of a level on, and starts those below it again.
func (n *num) count(a *abstract, i int) {
	l := n.at(a, i)
	switch {
	case n.starts[i] >= 0 && !n.begun[i]:
		a.counts[i] = n.starts[i]
		n.begun[i] = true
	case a.begun[i]:
		a.counts[i]++
	case n.starts[i] >= 0:
		a.counts[i] = n.starts[i]
	default:
		a.counts[i] = l.start
	}
	a.begun[i] = true
	for k := range i {
		if !a.begun[k] { // a level above that has no item yet counts from its start
			a.counts[k], a.begun[k] = n.at(a, k).start, true
		}
	}
	for k := i + 1; k < levels; k++ {
		if r := n.at(a, k).restart; r < 0 || r > 0 && i < r {
			a.begun[k] = false
		}
	}
}

// marker is the text of a level with its numbers filled in.
func (n *num) marker(a *abstract, l *level) string {
	var b strings.Builder
	for i := 0; i < len(l.text) && b.Len() < maxMarker; i++ {
		c := l.text[i]
		if c != '%' || i+1 >= len(l.text) || l.text[i+1] < '1' || l.text[i+1] > '9' {
			b.WriteByte(c)
			continue
		}
		k := int(l.text[i+1] - '1')
		i++
		format := n.at(a, k).format
		if l.legal || format == "bullet" {
			format = "decimal"
		}
		b.WriteString(numerals.OOXML(format).Format(a.counts[k]))
	}
	return strings.TrimSpace(b.String())
}
