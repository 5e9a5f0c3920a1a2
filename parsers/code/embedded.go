package code

import (
	"context"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// part is a stretch of a file that mixes languages.
type part struct {
	tag      string // "script", "style"; empty for markup
	language string
	lo, hi   int // with the tags
	from, to int // without them
}

// mixes says that files of that language are markup with scripts and styles in other languages: components of Vue, Svelte and Astro, templates.
func mixes(language string) bool {
	switch language {
	case "vue", "svelte", "astro":
		return true
	}
	return strings.HasPrefix(language, "html+")
}

// maxTag bounds the search for the end of a start tag, in bytes.
const maxTag = 4 << 10

// mixedParts divides a component or template into its scripts, its styles and the markup between. The parts tile text. Each byte is looked at
// a bounded number of times.
func mixedParts(text string) []part {
	var out []part
	at, from := 0, 0
	markup := func(hi int) {
		if hi > at {
			out = append(out, part{language: "html", lo: at, hi: hi, from: at, to: hi})
		}
		at = hi
	}
	if strings.HasPrefix(text, "---\n") { // the script of an Astro component
		if k := strings.Index(text[4:], "\n---"); k >= 0 {
			to := 4 + k + 1
			at = lineEnd(text, to+3, len(text))
			out = append(out, part{tag: "script", language: "typescript", hi: at, from: 4, to: to})
			from = at
		}
	}
	comments := true
	for {
		k := strings.IndexByte(text[from:], '<')
		if k < 0 {
			break
		}
		lo := from + k
		from = lo + 1
		if comments && strings.HasPrefix(text[lo:], "<!--") {
			if k := strings.Index(text[lo:], "-->"); k >= 0 {
				from = lo + k + 3
			} else {
				comments = false
			}
			continue
		}
		p, ok := rawElement(text, lo)
		if !ok {
			continue
		}
		markup(lo)
		out = append(out, p)
		at, from = p.hi, p.hi
	}
	markup(len(text))
	return out
}

// rawElement reads a script or style element that starts at lo. One that is never closed goes to the end.
func rawElement(text string, lo int) (part, bool) {
	for _, tag := range []string{"script", "style"} {
		rest := text[lo+1:]
		if len(rest) <= len(tag) || !strings.EqualFold(rest[:len(tag)], tag) || strings.IndexByte(" \t\n>/", rest[len(tag)]) < 0 {
			continue
		}
		from := tagEnd(text, lo)
		if from < 0 {
			return part{}, false
		}
		open := text[lo:from]
		p := part{tag: tag, language: tagLanguage(tag, open), lo: lo, hi: from, from: from, to: from}
		if !strings.HasSuffix(open, "/>") {
			p.to, p.hi = closing(text, from, tag)
		}
		p.hi = lineEnd(text, p.hi, len(text))
		return p, true
	}
	return part{}, false
}

// tagEnd is where the start tag at lo ends; -1 if that is not near.
func tagEnd(text string, lo int) int {
	quote := byte(0)
	for i := lo; i < min(len(text), lo+maxTag); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i + 1
		}
	}
	return -1
}

// closing is where the content of a raw element ends, and where its end tag does.
func closing(text string, from int, tag string) (to, end int) {
	for i := from; ; {
		k := strings.Index(text[i:], "</")
		if k < 0 {
			return len(text), len(text)
		}
		i += k + 2
		if len(text)-i < len(tag) || !strings.EqualFold(text[i:i+len(tag)], tag) {
			continue
		}
		if k := strings.IndexByte(text[i:], '>'); k >= 0 {
			return i - 2, i + k + 1
		}
		return i - 2, len(text)
	}
}

// tagLanguage is the language of a script or style by the lang or type of its start tag; empty if there is no grammar for it.
func tagLanguage(tag, open string) string {
	word := attribute(open, "lang")
	if word == "" {
		word = attribute(open, "type")
	}
	word = strings.ToLower(word)
	if tag == "style" {
		if word == "" || strings.HasSuffix(word, "css") && !strings.Contains(word, "scss") {
			return "css"
		}
		return ""
	}
	switch {
	case word == "ts" || word == "tsx" || word == "typescript" || strings.HasSuffix(word, "/typescript"):
		if word == "tsx" {
			return "tsx"
		}
		return "typescript"
	case word == "" || word == "js" || word == "jsx" || word == "module" || strings.HasSuffix(word, "javascript") || strings.HasSuffix(word, "/babel") || strings.HasSuffix(word, "/jsx"):
		return "javascript"
	case strings.HasSuffix(word, "json") || word == "importmap":
		return "json"
	}
	return ""
}

// attribute is the value of an attribute in a start tag, without quotes.
func attribute(tag, name string) string {
	for i := 0; ; {
		k := strings.Index(tag[i:], name)
		if k < 0 {
			return ""
		}
		i += k + len(name)
		if strings.IndexByte(" \t\n", tag[i-len(name)-1]) < 0 {
			continue
		}
		rest := strings.TrimLeft(tag[i:], " \t\n")
		if !strings.HasPrefix(rest, "=") {
			continue
		}
		rest = strings.TrimLeft(rest[1:], " \t\n")
		if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
			if k := strings.IndexByte(rest[1:], rest[0]); k >= 0 {
				return rest[1 : 1+k]
			}
			return ""
		}
		value, _, _ := strings.Cut(strings.TrimRight(rest, "/>"), " ")
		return strings.TrimSpace(value)
	}
}

// mixed divides a file that mixes languages: each script and style is a module with the declarations in it, by its own language.
func (e *engine) mixed(ctx context.Context, text string) ([]decl, error) {
	var out []decl
	for _, p := range mixedParts(text) {
		list, ok, err := e.parse(ctx, p.language, text[p.from:p.to])
		if err != nil {
			return nil, err
		}
		if !ok {
			list = indented(text[p.from:p.to])
		}
		shift(list, p.from)
		if p.tag == "" {
			out = append(out, list...)
			continue
		}
		d := decl{start: p.lo, end: trimmed(text, p.lo, p.hi), language: p.language, children: list}
		d.symbol = connector.Symbol{
			Kind: "module", Name: p.tag, Path: []string{p.tag}, Header: connector.Span{Start: p.lo, End: trimmed(text, p.lo, p.from)},
			Doc: connector.Span{Start: p.lo, End: p.lo}, Body: connector.Span{Start: p.from, End: p.hi},
		}
		out = append(out, d)
	}
	return out, nil
}

// shift moves declarations of a part of a text to their places in the whole.
func shift(list []decl, by int) {
	for i := range list {
		d := &list[i]
		d.start += by
		d.end += by
		for _, s := range []*connector.Span{&d.symbol.Header, &d.symbol.Doc, &d.symbol.Body} {
			s.Start += by
			s.End += by
		}
		shift(d.children, by)
	}
}

// Divider divides code that stands in other documents: the fences of Markdown, the scripts of web pages.
type Divider struct{ engine *engine }

// NewDivider returns a divider by the grammars of this build.
func NewDivider() *Divider { return &Divider{engine: newEngine()} }

// Backend is [Backend].
func (d *Divider) Backend() string { return Backend() }

// Divide returns the declarations of text as elements that tile it, as the parser would; nil where the language, named as by
// [LanguageOf], has no grammar in this build or the text does not parse.
func (d *Divider) Divide(ctx context.Context, language, text string) ([]connector.Element, error) {
	var list []decl
	var ok bool
	var err error
	if mixes(language) {
		list, err = d.engine.mixed(ctx, text)
		ok = true
	} else {
		list, ok, err = d.engine.parse(ctx, language, text)
	}
	if err != nil || !ok {
		return nil, err
	}
	return elements(text, language, list), nil
}
