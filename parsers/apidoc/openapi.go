package apidoc

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// targets are the declarations that references can mean, by their JSON pointers with NUL between segments.
type targets map[string][]string

// builder makes declarations of a tree.
type builder struct {
	text    string
	title   string
	targets targets
}

// openAPI gives the declarations of an OpenAPI or Swagger file.
func openAPI(text string, root *node) []decl {
	b := builder{text: text, title: root.get("info").value("title"), targets: targets{}}
	b.collect(root)
	var out []decl
	for i := range root.kids {
		m := &root.kids[i]
		var group []decl
		switch {
		case m.seq || len(m.kids) == 0:
		case m.key == "paths" || m.key == "webhooks":
			for j := range m.kids {
				group = append(group, b.pathItem(&m.kids[j]))
			}
		case m.key == "components":
			for j := range m.kids {
				if g := &m.kids[j]; len(g.kids) > 0 && !g.seq {
					group = append(group, b.components(g)...)
				} else {
					group = append(group, b.member(g, "member", b.title))
				}
			}
		case kindOf(m.key) != "":
			group = b.components(m)
		}
		if len(group) == 0 {
			group = []decl{b.member(m, "member", b.title)}
		}
		group[0].start = m.start
		out = append(out, group...)
	}
	return out
}

// kindOf is the kind of the entries of a group of components, or empty.
func kindOf(group string) string {
	switch group {
	case "schemas", "definitions", "$defs":
		return "schema"
	case "parameters", "responses", "examples", "headers", "links", "callbacks":
		return strings.TrimSuffix(group, "s")
	case "requestBodies":
		return "request body"
	case "securitySchemes", "securityDefinitions":
		return "security scheme"
	case "pathItems":
		return "path"
	}
	return ""
}

// collect notes what references can mean.
func (b *builder) collect(root *node) {
	for i := range root.kids {
		m := &root.kids[i]
		if m.seq {
			continue
		}
		for j := range m.kids {
			g := &m.kids[j]
			switch {
			case m.key == "components":
				for k := range g.kids {
					b.note([]string{m.key, g.key, g.kids[k].key}, b.title, g.key, g.kids[k].key)
				}
			case kindOf(m.key) != "":
				b.note([]string{m.key, g.key}, b.title, m.key, g.key)
			case m.key == "paths":
				b.note([]string{m.key, g.key}, b.title, g.key)
			}
		}
	}
}

func (b *builder) note(segments []string, path ...string) {
	key := strings.Join(segments, "\x00")
	if _, ok := b.targets[key]; !ok {
		b.targets[key] = path
	}
}

// find is the path of the symbol that a reference means, or that holds what it means.
func (b *builder) find(ref string) []string {
	segments, ok := pointer(ref)
	if !ok || len(segments) > maxNesting {
		return nil
	}
	for n := len(segments); n >= 0; n-- {
		if path, ok := b.targets[strings.Join(segments[:n], "\x00")]; ok && (n > 0 || len(segments) == 0) {
			return path
		}
	}
	return nil
}

func (b *builder) components(g *node) []decl {
	out := make([]decl, 0, len(g.kids))
	kind := kindOf(g.key)
	if kind == "" {
		kind = "component"
	}
	for i := range g.kids {
		d := b.member(&g.kids[i], kind, b.title, g.key)
		if i == 0 {
			d.start = g.start
		}
		out = append(out, d)
	}
	return out
}

// pathItem is a path with its operations.
func (b *builder) pathItem(p *node) decl {
	d := decl{kind: "path", name: p.key, path: []string{b.title, p.key}, header: b.head(p), start: p.start, end: p.end}
	for i := range p.kids {
		m := &p.kids[i]
		if !isMethod(m.key) || m.seq {
			d.kids = append(d.kids, b.member(m, memberKind(p, m), d.path...))
			continue
		}
		name := strings.ToUpper(m.key) + " " + p.key
		op := decl{kind: "operation", name: name, header: b.head(m), start: m.start, end: m.end}
		tag := ""
		if tags := m.get("tags"); tags != nil && len(tags.kids) > 0 {
			tag = tags.kids[0].text
		}
		op.path = []string{b.title, tag, name}
		for j := range m.kids {
			op.kids = append(op.kids, b.member(&m.kids[j], memberKind(m, &m.kids[j]), op.path...))
		}
		d.kids = append(d.kids, op)
	}
	return d
}

func isMethod(key string) bool {
	return slices.Contains([]string{"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"}, key)
}

// member is an entry with what is inside it.
func (b *builder) member(n *node, kind string, up ...string) decl {
	d := decl{kind: kind, name: n.key, header: b.head(n), start: n.start, end: n.end}
	if n.key == "" {
		d.name = cmpName(n)
	}
	d.path = append(slices.Clone(up), d.name)
	switch {
	case kind == "attribute":
		d.name, d.path = attributes[n.key], []string{n.text}
		return d
	case kind == "reference":
		d.name, d.path = n.text, b.find(n.text)
		return d
	case isSample(n.key) && kind == "member":
		return d
	}
	for i := range n.kids {
		k := &n.kids[i]
		// Paths below the symbols that stand for themselves are not told: nobody refers to them.
		d.kids = append(d.kids, b.member(k, memberKind(n, k)))
	}
	return d
}

// cmpName names an item of a sequence.
func cmpName(n *node) string {
	for _, key := range []string{"name", "title", "url", "$ref"} {
		if v := n.value(key); v != "" {
			return v
		}
	}
	return n.text
}

// attributes are the members that go to a chunk's metadata.
var attributes = map[string]string{"operationId": "operation_id", "deprecated": "deprecated"}

// isSample tells the members that hold data, in which nothing refers to anything.
func isSample(key string) bool {
	return slices.Contains([]string{"example", "examples", "default", "enum", "const", "x-example"}, key)
}

// memberKind is the kind of the member m of n.
func memberKind(n, m *node) string {
	scalar := len(m.kids) == 0 && !m.seq && m.text != ""
	switch n.key {
	case "properties", "patternProperties":
		if !n.seq {
			return "property"
		}
	case "parameters":
		return "parameter"
	case "responses":
		return "response"
	}
	switch {
	case m.key == "$ref" && scalar:
		return "reference"
	case attributes[m.key] != "" && scalar:
		return "attribute"
	}
	return "member"
}

// head is the key of a node up to what is inside it.
func (b *builder) head(n *node) connector.Span {
	end := n.end
	if len(n.kids) > 0 {
		end = n.kids[0].start
		if line := backToLine(b.text, end, n.start); line > n.start {
			end = line
		}
	}
	return connector.Span{Start: n.start, End: trimmed(b.text, n.start, end)}
}

// jsonSchema gives the declarations of a JSON Schema: the schema itself, and each definition in it.
func jsonSchema(text, file string, root *node) []decl {
	b := builder{text: text, title: root.value("title"), targets: targets{}}
	if b.title == "" {
		b.title = file[strings.LastIndexByte(file, '/')+1:]
	}
	b.note(nil, b.title)
	b.collect(root)
	for i := range root.kids {
		if m := &root.kids[i]; kindOf(m.key) != "schema" {
			b.note([]string{m.key}, b.title)
		}
	}
	var out []decl
	open := -1
	for i := range root.kids {
		m := &root.kids[i]
		if kindOf(m.key) == "schema" && !m.seq && len(m.kids) > 0 {
			group := b.components(m)
			out = append(out, group...)
			open = -1
			continue
		}
		if open < 0 {
			open = len(out)
			name := b.title
			if len(out) > 0 {
				name = b.title + " (" + strconv.Itoa(i+1) + ")"
			}
			out = append(out, decl{kind: "schema", name: name, path: []string{b.title}, start: m.start, header: connector.Span{Start: m.start, End: m.start}})
		}
		d := &out[open]
		d.end = m.end
		d.kids = append(d.kids, b.member(m, memberKind(root, m)))
	}
	return out
}
