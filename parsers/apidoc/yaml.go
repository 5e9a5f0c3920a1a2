package apidoc

import (
	"fmt"
	"strings"
)

// yamlScan reads YAML in block style by indentation, with flow style inside. It knows where things stand, not what they
// mean: aliases are not followed, tags are not looked at.
type yamlScan struct {
	s    string
	i    int
	line int // where the line of i starts
	last int // the end of what was read last
	done bool
}

// scanYAML reads the first document of a text.
func scanYAML(text string, root *node) error {
	y := &yamlScan{s: text}
	ok, err := y.peek()
	if err == nil && ok && strings.HasPrefix(y.s[y.i:], "---") && y.i == y.line {
		y.i += 3
		ok, err = y.peek()
	}
	if err != nil || !ok {
		return err
	}
	if err := y.block(root, -1, 0); err != nil {
		return err
	}
	ok, err = y.peek()
	if err == nil && ok {
		err = y.fail("this line belongs to no mapping")
	}
	return err
}

func (y *yamlScan) fail(what string) error {
	return fmt.Errorf("line %d: %s", lineOf(y.s, y.i), what)
}

func (y *yamlScan) column() int { return y.i - y.line }

// peek goes to the next content; ok is false at the end of the document.
func (y *yamlScan) peek() (ok bool, err error) {
	for y.i < len(y.s) && !y.done {
		from := y.i
		y.i = skipBlanks(y.s, y.i)
		switch {
		case y.i >= len(y.s):
			return false, nil
		case y.s[y.i] == '\n':
			y.i++
			y.line = y.i
		case y.s[y.i] == '#' && (y.i == y.line || y.s[y.i-1] <= ' '):
			y.i = lineFeed(y.s, y.i)
		case y.i == y.line && y.s[y.i] == '%' && y.last == 0:
			y.i = lineFeed(y.s, y.i)
		case y.i == y.line && (marker(y.s[y.i:], "---") && y.last > 0 || marker(y.s[y.i:], "...")):
			y.done = true
			return false, nil
		case from == y.line && strings.IndexByte(y.s[from:y.i], '\t') >= 0:
			return false, y.fail("indented with a tab, which YAML does not allow: use spaces")
		default:
			return true, nil
		}
	}
	return false, nil
}

func marker(s, mark string) bool {
	return strings.HasPrefix(s, mark) && (len(s) == 3 || s[3] <= ' ')
}

func skipBlanks(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}

// lineFeed is where the line of i ends.
func lineFeed(s string, i int) int {
	if k := strings.IndexByte(s[i:], '\n'); k >= 0 {
		return i + k
	}
	return len(s)
}

// block reads what stands at i, indented deeper than parent.
func (y *yamlScan) block(n *node, parent, depth int) error {
	if depth > maxNesting {
		return y.fail("nested too deep")
	}
	y.properties()
	if ok, err := y.peek(); err != nil || !ok || y.column() <= parent {
		return err
	}
	n.val = y.i
	if y.dash() {
		return y.sequence(n, depth)
	}
	if y.keyEnd() > 0 {
		return y.mapping(n, depth)
	}
	return y.scalar(n, parent, depth)
}

// dash tells an item of a sequence.
func (y *yamlScan) dash() bool {
	return y.s[y.i] == '-' && (y.i+1 == len(y.s) || y.s[y.i+1] <= ' ')
}

// properties skips anchors and tags.
func (y *yamlScan) properties() {
	for y.i = skipBlanks(y.s, y.i); y.i < len(y.s) && (y.s[y.i] == '&' || y.s[y.i] == '!'); y.i = skipBlanks(y.s, y.i) {
		for y.i < len(y.s) && y.s[y.i] > ' ' {
			y.i++
		}
		y.last = y.i
	}
}

func (y *yamlScan) sequence(n *node, depth int) error {
	n.seq = true
	col := y.column()
	for {
		ok, err := y.peek()
		if err != nil || !ok || y.column() < col || !y.dash() && y.column() == col {
			n.end = y.last
			return err
		}
		if y.column() > col {
			return y.fail("indented deeper than the items around it")
		}
		kid := node{start: y.i, val: y.i + 1}
		y.i++
		y.last = y.i
		if err := y.block(&kid, col, depth+1); err != nil {
			return err
		}
		kid.end = y.last
		if kid.keep(depth) {
			n.kids = append(n.kids, kid)
		}
	}
}

func (y *yamlScan) mapping(n *node, depth int) error {
	col := y.column()
	for {
		ok, err := y.peek()
		if err != nil || !ok || y.column() < col {
			n.end = y.last
			return err
		}
		end := y.keyEnd()
		switch {
		case y.column() > col:
			return y.fail("indented deeper than the keys around it")
		case end <= 0:
			return y.fail(`neither a key with ": " nor indented below one`)
		}
		kid := node{start: y.i, key: y.key(end), val: end + 1}
		y.i = end + 1
		y.last = y.i
		if err := y.member(&kid, col, depth); err != nil {
			return err
		}
		kid.end = y.last
		if kid.keep(depth) {
			n.kids = append(n.kids, kid)
		}
	}
}

// member reads the value of a key at column col.
func (y *yamlScan) member(n *node, col, depth int) error {
	y.properties()
	y.i = skipBlanks(y.s, y.i)
	if y.i < len(y.s) && y.s[y.i] != '\n' && y.s[y.i] != '#' {
		if n.val = y.i; y.dash() {
			return y.fail("an item stands on the line of its key")
		}
		return y.scalar(n, col, depth)
	}
	ok, err := y.peek()
	if err != nil || !ok {
		return err
	}
	if y.column() == col && y.dash() {
		n.val = y.i
		return y.sequence(n, depth+1)
	}
	return y.block(n, col, depth+1)
}

// keyEnd is where the colon of a key at i stands, or 0.
func (y *yamlScan) keyEnd() int {
	f := flowScan{s: y.s, i: y.i}
	switch y.s[y.i] {
	case '"', '\'':
		if _, ok := f.quoted(); !ok || strings.IndexByte(y.s[y.i:f.i], '\n') >= 0 {
			return 0
		}
		f.i = skipBlanks(y.s, f.i)
		if f.i < len(y.s) && y.s[f.i] == ':' && (f.i+1 == len(y.s) || y.s[f.i+1] <= ' ') {
			return f.i
		}
		return 0
	case '{', '[', '#', '|', '>', '@', '`', '%':
		return 0
	case '?':
		if f.i+1 == len(y.s) || y.s[f.i+1] <= ' ' {
			return 0
		}
	}
	return colon(y.s, y.i, lineFeed(y.s, y.i))
}

// colon is where a colon that ends a plain key stands in s[i:end), or 0.
func colon(s string, i, end int) int {
	for from := i; i < end; i++ {
		if s[i] == '#' && i > from && s[i-1] <= ' ' {
			return 0
		}
		if s[i] == ':' && i > from && (i+1 == len(s) || s[i+1] <= ' ') {
			return i
		}
	}
	return 0
}

func (y *yamlScan) key(end int) string {
	key := strings.TrimSpace(y.s[y.i:end])
	if n := len(key); n > 1 && (key[0] == '"' || key[0] == '\'') && key[n-1] == key[0] {
		return unescape(short(key[1:n-1]), key[0])
	}
	return short(key)
}
