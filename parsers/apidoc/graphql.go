package apidoc

import (
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// graphReader reads GraphQL documents (the October 2021 specification): schemas, and operations and fragments.
type graphReader struct {
	reader
	pair  []int
	types map[string][]string // paths by name
	roots map[string]string   // what a field of that type is: query, mutation or subscription
}

func graphQL(text string) []decl {
	l := lexer{text: text}
	g := &graphReader{reader: reader{text: text, toks: l.tokens()}, types: map[string][]string{}}
	g.pair = g.pairs()
	g.roots = map[string]string{"Query": "query", "Mutation": "mutation", "Subscription": "subscription"}
	g.collect()
	var out []decl
	for g.more() {
		out = append(out, g.definition())
	}
	return out
}

func graphKeyword(w string) bool {
	return slices.Contains([]string{"schema", "type", "interface", "input", "enum", "union", "scalar", "directive", "extend",
		"query", "mutation", "subscription", "fragment"}, w)
}

// collect notes the types and what the schema calls its roots.
func (g *graphReader) collect() {
	for i := 0; i < len(g.toks); i++ {
		switch w := g.word(i); {
		case w == "schema" && g.is(i+1, "{"):
			for k := i + 2; k < len(g.toks) && k < i+16 && !g.is(k, "}"); k++ {
				if op := g.word(k); (op == "query" || op == "mutation" || op == "subscription") && g.is(k+1, ":") && g.word(k+2) != "" {
					g.roots[g.word(k+2)] = op
				}
			}
		case slices.Contains([]string{"type", "interface", "input", "enum", "union", "scalar"}, w) && !g.is(i-1, "extend"):
			if name := g.word(i + 1); name != "" && g.types[name] == nil && !g.continues(i) {
				g.types[name] = []string{name}
			}
		}
		if g.pair[i] > i && g.is(i, "{") {
			i = g.pair[i]
		}
	}
}

// continues tells whether token i goes on with what stands before it.
func (g *graphReader) continues(i int) bool {
	for i--; i >= 0 && g.toks[i].kind == commentToken; i-- {
	}
	for _, mark := range []string{"|", "=", "&", ":", "@", "(", "on", "implements"} {
		if g.is(i, mark) {
			return true
		}
	}
	return graphKeyword(g.word(i)) // a name that is a keyword, or extend
}

// atLine tells whether token i stands at the left margin.
func (r *reader) atLine(i int) bool {
	return r.toks[i].start == 0 || r.text[r.toks[i].start-1] == '\n'
}

// definition reads from the comments and the description of a definition to its end.
func (g *graphReader) definition() decl {
	d := decl{start: g.toks[g.at].start, kind: "member"}
	doc := g.at
	for g.more() && (g.toks[g.at].kind == commentToken || g.toks[g.at].kind == stringToken) {
		g.at++
	}
	if !g.more() {
		d.end = g.toks[g.at-1].end
		return d
	}
	if g.at > doc {
		d.doc = connector.Span{Start: g.toks[doc].start, End: g.toks[g.at-1].end}
	}
	key := g.at
	brace, end := g.extent(key)
	g.at = g.trailing(end)
	d.end = g.toks[g.at-1].end
	d.header = connector.Span{Start: g.toks[key].start, End: g.toks[end-1].end}
	g.name(&d, key)
	if brace < 0 {
		d.kids = g.marks(key, end)
		return d
	}
	d.header.End = g.toks[brace].end
	d.kids = g.marks(key, brace)
	if slices.Contains([]string{"type", "interface", "input", "enum", "schema"}, strings.TrimPrefix(d.kind, "extend ")) {
		d.kids = append(d.kids, g.fields(&d, brace+1, end)...)
	}
	return d
}

// name sets what a definition is called.
func (g *graphReader) name(d *decl, key int) {
	word := g.word(key)
	if !graphKeyword(word) {
		if g.is(key, "{") {
			d.kind = "query"
		}
		return
	}
	d.kind = word
	if word == "extend" && g.word(key+1) != "" {
		key++
		d.kind = "extend " + g.word(key)
	}
	key++
	if g.is(key, "@") && word == "directive" {
		d.name = "@" + g.word(key+1)
	} else {
		d.name = g.word(key)
	}
	if d.name == "" {
		d.name = d.kind
	}
	d.path = []string{d.name}
}

// extent finds the brace that opens the body, or -1, and the token after the definition at key.
func (g *graphReader) extent(key int) (brace, end int) {
	for i := key; i < len(g.toks); i++ {
		t := g.toks[i]
		switch {
		case i > key && t.kind == stringToken && !g.is(i-1, "="):
			return -1, i
		case i > key && graphKeyword(g.word(i)) && !g.continues(i):
			return -1, g.back(i, key)
		case g.is(i, "{"):
			end := len(g.toks)
			if g.pair[i] >= 0 {
				end = g.pair[i] + 1
			}
			for k := i + 1; k < end; k++ { // not closed in time: it ends where a definition starts at the margin
				if g.atLine(k) && graphKeyword(g.word(k)) && g.word(k+1) != "" && !g.is(k+1, "on") {
					return i, g.back(k, i)
				}
			}
			return i, end
		case t.kind == markToken && g.pair[i] > i:
			i = g.pair[i]
		}
	}
	return -1, len(g.toks)
}

// back leaves the comments and descriptions before token i to what follows; at least key stays.
func (r *reader) back(i, key int) int {
	for i > key+1 && r.toks[i-1].kind >= stringToken {
		i--
	}
	return i
}

// trailing takes a comment that stands on the line of the token before i.
func (r *reader) trailing(i int) int {
	if i > 0 && i < len(r.toks) && r.toks[i].kind == commentToken && !strings.Contains(r.text[r.toks[i-1].end:r.toks[i].start], "\n") {
		return i + 1
	}
	return i
}

// fields are the fields, input fields or values between two tokens.
func (g *graphReader) fields(d *decl, lo, hi int) []decl {
	var out []decl
	if g.is(hi-1, "}") {
		hi--
	}
	kind := "field"
	if op := g.roots[d.name]; op != "" && strings.HasSuffix(d.kind, "type") {
		kind = op
	}
	for i := lo; i < hi; {
		first := i
		for i < hi && g.toks[i].kind >= stringToken {
			i++
		}
		name := g.word(i)
		if name == "" {
			if i++; len(out) > 0 {
				out[len(out)-1].end = g.toks[min(i, hi)-1].end
			}
			continue
		}
		f := decl{kind: kind, name: name, path: []string{d.name, name}, start: g.toks[first].start}
		if i > first {
			f.doc = connector.Span{Start: f.start, End: g.toks[i-1].end}
		}
		end := min(g.fieldEnd(i), hi)
		f.header = connector.Span{Start: g.toks[i].start, End: g.toks[end-1].end}
		f.kids = g.marks(i, end)
		i = min(g.trailing(end), hi)
		f.end = g.toks[i-1].end
		out = append(out, f)
	}
	return out
}

// fieldEnd is the token after the field whose name is token i: arguments, type, default value and directives.
func (g *graphReader) fieldEnd(i int) int {
	skip := func(at int) int { // over a pair of brackets, or one token
		if at < len(g.toks) && g.pair[at] > at {
			return g.pair[at] + 1
		}
		return min(at+1, len(g.toks))
	}
	i++
	for {
		next := g.next(i)
		switch {
		case g.is(next, "("), g.is(next, "["), g.is(next, "{"):
			i = skip(next)
		case g.is(next, ":"), g.is(next, "="), g.is(next, "@"):
			next = g.next(next + 1)
			if g.is(next, "-") {
				next++
			}
			i = skip(next)
		case g.is(next, "!"), g.is(next, "."), g.is(next, "&"), g.is(next, "|"):
			i = next + 1
		default:
			return min(i, len(g.toks))
		}
	}
}

// marks are the references and the attributes between two tokens.
func (g *graphReader) marks(lo, hi int) []decl {
	var out []decl
	for i := lo + 1; i < hi; i++ {
		word := g.word(i)
		if word == "" {
			continue
		}
		span := decl{start: g.toks[i].start, end: g.toks[i].end}
		switch {
		case word == "deprecated" && g.is(i-1, "@"):
			span.start = g.toks[i-1].start
			span.kind, span.name, span.path = "attribute", "deprecated", []string{"true"}
			out = append(out, span)
		case g.types[word] != nil && !g.is(i+1, ":") && !g.is(i-1, "@") && !graphKeyword(g.word(i-1)):
			span.kind, span.name, span.path = "reference", word, g.types[word]
			out = append(out, span)
		}
	}
	return out
}
