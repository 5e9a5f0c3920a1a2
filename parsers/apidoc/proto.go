package apidoc

import (
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// protoReader reads Protocol Buffers, proto2, proto3 and editions.
type protoReader struct {
	reader
	pair  []int
	pkg   string
	types map[string]bool // dotted names without the package
}

// maxMessages bounds the depth to which messages in messages are told apart.
const maxMessages = 16

func protobuf(text string) []decl {
	l := lexer{text: text, proto: true}
	p := &protoReader{reader: reader{text: text, toks: l.tokens()}, types: map[string]bool{}}
	p.pair = p.pairs()
	p.collect(0, len(p.toks), nil)
	return p.statements(0, len(p.toks), nil)
}

// protoBlock tells the statements that hold others.
func protoBlock(word string) bool {
	return slices.Contains([]string{"message", "enum", "service", "extend", "oneof", "group"}, word)
}

// collect notes the package, and the messages and enums by their names.
func (p *protoReader) collect(lo, hi int, scope []string) {
	for i := lo; i < hi; i++ {
		word := p.word(i)
		if word == "package" && p.pkg == "" && len(scope) == 0 {
			p.pkg = p.word(i + 1)
		}
		if word != "message" && word != "enum" || p.word(i+1) == "" || !p.is(i+2, "{") || len(scope) >= maxMessages {
			continue
		}
		inner := append(slices.Clone(scope), p.word(i+1))
		p.types[strings.Join(inner, ".")] = true
		if end := p.pair[i+2]; end > 0 {
			p.collect(i+3, end, inner)
			i = end
		}
	}
}

// find is the path of the type that a name means inside scope, looked up from the innermost outwards.
func (p *protoReader) find(name string, scope []string) []string {
	name = strings.TrimPrefix(name, ".")
	if p.pkg != "" {
		name = strings.TrimPrefix(name, p.pkg+".")
	}
	for n := len(scope); n >= 0; n-- {
		full := strings.Join(append(slices.Clone(scope[:n]), name), ".")
		if p.types[full] {
			return append([]string{p.pkg}, strings.Split(full, ".")...)
		}
	}
	return nil
}

// statements are the statements between two tokens.
func (p *protoReader) statements(lo, hi int, scope []string) []decl {
	var out []decl
	for i := lo; i < hi; {
		first := i
		i = min(p.next(i), hi)
		if i >= hi {
			break
		}
		brace, end := p.extent(i, hi, len(scope))
		s := decl{start: p.toks[first].start, header: connector.Span{Start: p.toks[i].start, End: p.toks[end-1].end}}
		if i > first {
			s.doc = connector.Span{Start: s.start, End: p.toks[i-1].end}
		}
		p.describe(&s, i, brace, end, scope)
		i = min(p.trailing(end), hi)
		s.end = p.toks[i-1].end
		out = append(out, s)
	}
	return out
}

// extent finds the brace that opens a body, or -1, and the token after the statement at i.
func (p *protoReader) extent(i, hi, depth int) (brace, end int) {
	brace = -1
	block := protoBlock(p.word(i)) || p.word(i) == "rpc" || p.is(i, "{")
	for k := i; k < hi; k++ {
		switch {
		case p.is(k, ";"):
			return brace, k + 1
		case p.is(k, "}"):
			return brace, k + 1
		case p.is(k, "{") && p.pair[k] < 0 && depth == 0:
			for n := k + 1; n < hi; n++ { // never closed: it ends where a declaration starts at the margin
				if protoBlock(p.word(n)) && p.atLine(n) {
					return k, p.back(n, k)
				}
			}
			return k, hi
		case p.is(k, "{"):
			if block || p.is(i+1, "group") || p.is(i+2, "group") {
				end = min(p.pair[k]+1, hi)
				if end <= k {
					end = hi
				}
				if p.is(end, ";") && end < hi {
					end++
				}
				return k, end
			}
			k = max(k, p.pair[k])
		case p.toks[k].kind == markToken && p.pair[k] > k:
			k = p.pair[k]
		case k > i && depth == 0 && protoBlock(p.word(k)) && p.atLine(k):
			return brace, p.back(k, i) // a semicolon is missing
		}
	}
	return brace, hi
}

// describe sets kind, name and what is inside a statement.
func (p *protoReader) describe(s *decl, i, brace, end int, scope []string) {
	word := p.word(i)
	s.kind, s.name = "field", word
	switch {
	case protoBlock(word) || word == "rpc":
		s.kind, s.name = word, p.word(p.next(i+1))
	case word == "option" && p.is(i+1, "deprecated") && p.is(i+3, "true"):
		s.kind, s.name, s.path = "attribute", "deprecated", []string{"true"}
		return
	case slices.Contains([]string{"syntax", "edition", "package", "import", "option", "reserved", "extensions"}, word):
		s.kind = "member"
	default:
		for k := i; k+1 < end; k++ {
			if p.is(k+1, "=") && p.word(k) != "" {
				s.name = p.word(k)
				break
			}
		}
	}
	inner := append(slices.Clone(scope), s.name)
	s.path = append([]string{p.pkg}, inner...)
	if brace < 0 || len(scope) >= maxMessages {
		s.kids = p.marks(i, end, scope)
		return
	}
	s.header.End = p.toks[brace].end
	s.kids = p.marks(i, brace, scope)
	last := end
	for last > brace+1 && (p.is(last-1, ";") || p.is(last-1, "}")) && last-1 >= p.pair[brace] && p.pair[brace] > 0 {
		last--
	}
	s.kids = append(s.kids, p.statements(brace+1, last, inner)...)
}

// marks are the references and the attributes between two tokens.
func (p *protoReader) marks(lo, hi int, scope []string) []decl {
	var out []decl
	value := false // behind an equals sign
	for i := lo + 1; i < hi; i++ {
		if p.is(i, "=") {
			value = true
		}
		word := p.word(i)
		if word == "" {
			continue
		}
		m := decl{start: p.toks[i].start, end: p.toks[i].end}
		switch {
		case word == "deprecated" && p.is(i+1, "=") && p.is(i+2, "true"):
			m.end = p.toks[i+2].end
			m.kind, m.name, m.path = "attribute", "deprecated", []string{"true"}
			out = append(out, m)
		case !value && !p.is(i+1, "=") && !protoBlock(p.word(i-1)) && !p.is(i-1, "rpc"):
			if path := p.find(word, scope); path != nil {
				m.kind, m.name, m.path = "reference", word, path
				out = append(out, m)
			}
		}
	}
	return out
}
