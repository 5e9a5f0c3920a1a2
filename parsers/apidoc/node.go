package apidoc

import (
	"fmt"
	"strings"
)

// node is an entry of a mapping or an item of a sequence, with its place in the text.
type node struct {
	key        string
	start, end int // from the key, or the item, to the end of the value
	val        int // where the value starts
	text       string
	kids       []node
	seq        bool // kids are items
}

// get is the member of that name.
func (n *node) get(key string) *node {
	if n == nil || n.seq {
		return nil
	}
	for i := range n.kids {
		if n.kids[i].key == key {
			return &n.kids[i]
		}
	}
	return nil
}

// value is the text of a member that is a scalar.
func (n *node) value(key string) string {
	if m := n.get(key); m != nil {
		return m.text
	}
	return ""
}

// Bounds of what is remembered of a file.
const (
	maxNesting = 128
	maxScalar  = 512 // bytes of a scalar's text
	smallNode  = 256 // what is smaller and deep inside is kept only for its references
	deepNode   = 6
)

// keep tells whether a node is worth its memory. References are kept wherever they stand.
func (n *node) keep(depth int) bool {
	return depth < deepNode || n.key == "$ref" || len(n.kids) > 0 || n.end-n.start >= smallNode
}

// structure reads JSON or YAML. The root spans the text.
func structure(text string) (root node, language string, err error) {
	i := skipSpace(text, 0)
	if i < len(text) && text[i] == '{' {
		s := flowScan{s: text, i: i}
		if err = s.value(&root, 0); err == nil {
			if s.space(); s.i < len(text) {
				err = s.fail("text follows the end of the object")
			}
		}
		language = "json"
	} else {
		language = "yaml"
		err = scanYAML(text, &root)
	}
	if err == nil && (root.seq || len(root.kids) == 0) {
		err = fmt.Errorf("the %s holds no mapping", language)
	}
	root.start, root.end = 0, len(text)
	return root, language, err
}

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n') {
		i++
	}
	return i
}

// lineOf is the number of the line of a place, for people.
func lineOf(s string, i int) int { return 1 + strings.Count(s[:min(i, len(s))], "\n") }

// flowScan reads JSON, and YAML in flow style, which is JSON with plain scalars, single quotes and comments.
type flowScan struct {
	s string
	i int
}

func (f *flowScan) fail(what string) error {
	return fmt.Errorf("line %d: %s", lineOf(f.s, f.i), what)
}

// space skips blank space and comments.
func (f *flowScan) space() {
	for {
		f.i = skipSpace(f.s, f.i)
		if f.i >= len(f.s) || f.s[f.i] != '#' || f.i > 0 && f.s[f.i-1] > ' ' {
			return
		}
		if k := strings.IndexByte(f.s[f.i:], '\n'); k >= 0 {
			f.i += k
		} else {
			f.i = len(f.s)
		}
	}
}

// value reads the value of n, whose end it sets.
func (f *flowScan) value(n *node, depth int) error {
	if f.space(); depth > maxNesting {
		return f.fail("nested too deep")
	}
	f.properties()
	n.val = f.i
	var err error
	switch {
	case f.i >= len(f.s):
		return f.fail("a value is missing")
	case f.s[f.i] == '{':
		err = f.members(n, depth, '}')
	case f.s[f.i] == '[':
		n.seq = true
		err = f.members(n, depth, ']')
	default:
		n.text, err = f.scalar()
	}
	n.end = f.i
	return err
}

// properties skips anchors and tags.
func (f *flowScan) properties() {
	for f.i < len(f.s) && (f.s[f.i] == '&' || f.s[f.i] == '!') {
		for f.i < len(f.s) && f.s[f.i] > ' ' && f.s[f.i] != ',' && f.s[f.i] != '}' && f.s[f.i] != ']' {
			f.i++
		}
		f.space()
	}
}

func (f *flowScan) members(n *node, depth int, closing byte) error {
	f.i++
	for {
		if f.space(); f.i >= len(f.s) {
			return f.fail("a bracket is not closed")
		}
		if f.s[f.i] == closing {
			f.i++
			return nil
		}
		kid := node{start: f.i, val: f.i}
		if closing == '}' {
			key, err := f.scalar()
			if err != nil {
				return err
			}
			kid.key, kid.end = key, f.i
			if f.space(); f.i < len(f.s) && f.s[f.i] == ':' {
				f.i++
				if err := f.value(&kid, depth+1); err != nil {
					return err
				}
			}
		} else if err := f.value(&kid, depth+1); err != nil {
			return err
		}
		if kid.keep(depth) {
			n.kids = append(n.kids, kid)
		}
		f.space()
		switch {
		case f.i < len(f.s) && f.s[f.i] == ',':
			f.i++
		case f.i >= len(f.s) || f.s[f.i] != closing:
			return f.fail("a comma or a closing bracket is missing")
		}
	}
}

// scalar reads a quoted or plain scalar.
func (f *flowScan) scalar() (string, error) {
	if f.i < len(f.s) && (f.s[f.i] == '"' || f.s[f.i] == '\'') {
		text, ok := f.quoted()
		if !ok {
			return "", f.fail("a quotation mark is not closed")
		}
		return text, nil
	}
	from := f.i
	for f.i < len(f.s) {
		c := f.s[f.i]
		if strings.IndexByte(",[]{}\"\n", c) >= 0 || c == '#' && f.i > from && f.s[f.i-1] == ' ' {
			break
		}
		if c == ':' && (f.i+1 == len(f.s) || strings.IndexByte(" \t\n,[]{}\"", f.s[f.i+1]) >= 0) {
			break
		}
		f.i++
	}
	text := strings.TrimRight(f.s[from:f.i], " \t")
	if f.i = from + len(text); text == "" {
		return "", f.fail("a value is missing")
	}
	return short(text), nil
}

// quoted reads a scalar in quotation marks; ok is false if it does not end, and then nothing is read.
func (f *flowScan) quoted() (text string, ok bool) {
	mark := f.s[f.i]
	for i := f.i + 1; i < len(f.s); i++ {
		switch c := f.s[i]; {
		case c == '\\' && mark == '"':
			i++
		case c == mark && mark == '\'' && i+1 < len(f.s) && f.s[i+1] == mark:
			i++
		case c == mark:
			text = f.s[f.i+1 : i]
			f.i = i + 1
			return unescape(short(text), mark), true
		}
	}
	return "", false
}
