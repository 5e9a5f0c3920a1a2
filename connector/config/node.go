package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Limits of what a configuration may be. They are far above any that a person writes, and low enough that a hostile file costs neither
// memory nor time.
const (
	maxFileSize = 4 << 20
	maxNodes    = 200_000
	maxDepth    = 100
)

type nodeKind int

const (
	nullNode nodeKind = iota
	badNode           // its fault is reported
	scalarNode
	listNode
	mapNode
)

// node is a YAML value with aliases and merge keys resolved, that knows which file it is from.
type node struct {
	kind    nodeKind
	pos     Position
	tag     string // of scalars: "!!str", "!!int" …
	value   string // of scalars, before expansion
	items   []*node
	entries []entry
}

type entry struct {
	key    string
	keyPos Position
	value  *node
}

func (n *node) get(key string) *node {
	for i := range n.entries {
		if n.entries[i].key == key {
			return n.entries[i].value
		}
	}
	return nil
}

// what names the type of a value in error messages.
func (n *node) what() string {
	switch n.kind {
	case nullNode:
		return "nothing"
	case badNode:
		return "a faulty value"
	case listNode:
		return "a list"
	case mapNode:
		return "a map"
	}
	switch n.tag {
	case "!!int":
		return "a number"
	case "!!float":
		return "a decimal number"
	case "!!bool":
		return "a boolean"
	}
	return "a string"
}

// readNodes parses one file. The result is a map or null, or nil where nothing could be read; faults are appended to errs.
func readNodes(name string, data []byte, errs *Errors) *node {
	fail := func(line, col int, format string, args ...any) *node {
		*errs = append(*errs, &Error{Pos: Position{name, line, col}, Msg: fmt.Sprintf(format, args...)})
		return nil
	}
	if len(data) > maxFileSize {
		return fail(0, 0, "the file is over %d MiB: this is no configuration", maxFileSize>>20)
	}
	if i := badUTF8(data); i >= 0 {
		line, col := lineColumn(data, i)
		return fail(line, col, "the file is not UTF-8 here; save it as UTF-8")
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	root, err := decodeYAML(dec)
	switch {
	case errors.Is(err, io.EOF):
		return &node{pos: Position{name, 1, 1}}
	case err != nil:
		line, msg := syntaxError(data, err)
		return fail(line, 1, "%s", msg)
	}
	if next, err := decodeYAML(dec); err == nil {
		return fail(next.Line, next.Column, "a second YAML document starts here; a configuration is a single one")
	} else if !errors.Is(err, io.EOF) {
		line, msg := syntaxError(data, err)
		return fail(line, 1, "%s", msg)
	}
	c := converter{file: name, errs: errs, open: map[*yaml.Node]bool{}}
	n := c.convert(root, 0, "")
	if n.kind == badNode || c.nodes > maxNodes {
		return nil
	}
	if n.kind != mapNode && n.kind != nullNode {
		return fail(n.pos.Line, n.pos.Column, "expected a map of keys at the top level, found %s", n.what())
	}
	return n
}

// decodeYAML guards against panics of the YAML library: a configuration is input.
func decodeYAML(dec *yaml.Decoder) (n *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			n, err = nil, errors.New("yaml: the file cannot be parsed")
		}
	}()
	n = new(yaml.Node)
	if err := dec.Decode(n); err != nil {
		return nil, err
	}
	return n, nil
}

func badUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return -1
}

func lineColumn(data []byte, offset int) (line, col int) {
	before := data[:offset]
	line = bytes.Count(before, []byte("\n")) + 1
	return line, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// syntaxError takes the line out of a message of the YAML library. Texts that the library quotes are names of anchors and tags, never values.
func syntaxError(data []byte, err error) (line int, msg string) {
	msg = strings.TrimPrefix(err.Error(), "yaml: ")
	line = 1
	if m := yamlLine.FindStringSubmatch(msg); m != nil {
		line, _ = strconv.Atoi(m[1])
		msg = msg[len(m[0]):]
	} else if i := bytes.IndexFunc(data, isControl); i >= 0 && strings.Contains(msg, "control characters") {
		line, _ = lineColumn(data, i)
	}
	return max(line, 1), "not valid YAML: " + msg
}

func isControl(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0x7f
}

// converter turns yaml.Nodes into nodes, within maxNodes.
type converter struct {
	file  string
	errs  *Errors
	nodes int
	open  map[*yaml.Node]bool // anchors being expanded
}

func (c *converter) fail(y *yaml.Node, path, format string, args ...any) *node {
	if len(*c.errs) < maxErrors {
		*c.errs = append(*c.errs, &Error{Pos: c.pos(y), Path: path, Msg: fmt.Sprintf(format, args...)})
	}
	return &node{kind: badNode, pos: c.pos(y)}
}

func (c *converter) pos(y *yaml.Node) Position {
	return Position{c.file, max(y.Line, 1), max(y.Column, 1)}
}

// convert gives a badNode after a fault that it reported.
func (c *converter) convert(y *yaml.Node, depth int, path string) *node {
	if c.nodes++; c.nodes > maxNodes {
		if c.nodes == maxNodes+1 {
			return c.fail(y, path, "the configuration grows beyond %d values, probably through aliases", maxNodes)
		}
		return &node{kind: badNode, pos: c.pos(y)}
	}
	if depth > maxDepth {
		return c.fail(y, path, "nested more than %d levels deep", maxDepth)
	}
	switch y.Kind {
	case yaml.DocumentNode:
		return c.convert(y.Content[0], depth, path)
	case yaml.AliasNode:
		return c.alias(y, depth, path)
	case yaml.SequenceNode:
		n := &node{kind: listNode, pos: c.pos(y)}
		for i, item := range y.Content {
			n.items = append(n.items, c.convert(item, depth+1, fmt.Sprintf("%s[%d]", path, i)))
		}
		return n
	case yaml.MappingNode:
		return c.mapping(y, depth, path)
	}
	return c.scalar(y, path)
}

func (c *converter) alias(y *yaml.Node, depth int, path string) *node {
	if c.open[y.Alias] {
		return c.fail(y, path, "the anchor %q contains itself", y.Value)
	}
	c.open[y.Alias] = true
	defer delete(c.open, y.Alias)
	n := c.convert(y.Alias, depth+1, path)
	n.pos = c.pos(y)
	return n
}

func (c *converter) scalar(y *yaml.Node, path string) *node {
	switch tag := y.ShortTag(); tag {
	case "!!null":
		return &node{pos: c.pos(y)}
	case "!!str", "!!int", "!!float", "!!bool":
		return &node{kind: scalarNode, pos: c.pos(y), tag: tag, value: y.Value}
	case "!!timestamp", "!!merge":
		return &node{kind: scalarNode, pos: c.pos(y), tag: "!!str", value: y.Value}
	default:
		return c.fail(y, path, "the YAML tag %q has no meaning in a configuration", y.Tag)
	}
}

func (c *converter) mapping(y *yaml.Node, depth int, path string) *node {
	n := &node{kind: mapNode, pos: c.pos(y)}
	seen := make(map[string]Position, len(y.Content)/2)
	var merged []*node
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		if k.Kind == yaml.AliasNode && k.Alias != nil {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode || k.ShortTag() == "!!null" {
			c.fail(y.Content[i], path, "a key must be a single word or string")
			continue
		}
		if first, dup := seen[k.Value]; dup {
			c.fail(y.Content[i], joinPath(path, k.Value), "duplicate key; it stands in line %d already", first.Line)
			continue
		}
		seen[k.Value] = c.pos(y.Content[i])
		value := c.convert(v, depth+1, joinPath(path, k.Value))
		if k.ShortTag() == "!!merge" {
			merged = append(merged, c.mergeSources(v, value, joinPath(path, k.Value))...)
			continue
		}
		n.entries = append(n.entries, entry{k.Value, c.pos(y.Content[i]), value})
	}
	for _, m := range merged {
		for _, e := range m.entries {
			if _, taken := seen[e.key]; !taken {
				seen[e.key] = e.keyPos
				n.entries = append(n.entries, e)
			}
		}
	}
	return n
}

// mergeSources are the maps that a merge key names, the strongest first.
func (c *converter) mergeSources(y *yaml.Node, value *node, path string) []*node {
	switch value.kind {
	case badNode:
		return nil
	case mapNode:
		return []*node{value}
	case listNode:
		for _, item := range value.items {
			if item.kind == badNode {
				return nil
			}
			if item.kind != mapNode {
				c.fail(y, path, "a merge key (<<) takes a map or a list of maps")
				return nil
			}
		}
		return value.items
	}
	c.fail(y, path, "a merge key (<<) takes a map or a list of maps")
	return nil
}

// merge lays over on base: maps deeply, everything else by replacement. Where a map names a kind (the embedder, the
// sink), another kind replaces it.
func merge(base, over *node, path string) *node {
	switch {
	case over == nil:
		return base
	case base == nil:
		return over
	case path == "" && over.kind == nullNode: // an empty file
		return base
	case base.kind != mapNode || over.kind != mapNode:
		return over
	}
	if (path == "embedder" || path == "sink") && !sharesKey(base, over) {
		return over
	}
	out := &node{kind: mapNode, pos: over.pos, entries: append([]entry(nil), base.entries...)}
	at := make(map[string]int, len(base.entries))
	for i, e := range base.entries {
		at[e.key] = i
	}
	for _, e := range over.entries {
		if i, both := at[e.key]; both {
			out.entries[i] = entry{e.key, e.keyPos, merge(out.entries[i].value, e.value, joinPath(path, e.key))}
			continue
		}
		out.entries = append(out.entries, e)
	}
	return out
}

func sharesKey(a, b *node) bool {
	for _, e := range b.entries {
		if a.get(e.key) != nil {
			return true
		}
	}
	return false
}

var plainKey = regexp.MustCompile(`^[\p{L}\p{N}_@/+-]+$`)

// joinPath extends a key path by a key.
func joinPath(path, key string) string {
	key = printable(key)
	if path == "" {
		return key
	}
	return path + "." + key
}

// printable is a key as error messages show it: quoted if it is no plain word, and never long.
func printable(key string) string {
	if plainKey.MatchString(key) && len(key) <= 64 {
		return key
	}
	if len(key) > 64 {
		key = strings.ToValidUTF8(key[:64], "") + "…"
	}
	return strconv.Quote(key)
}
