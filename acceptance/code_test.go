package acceptance

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/connector/strategytest"
	"github.com/kbsync/kbsync/internal/counters"
	"github.com/kbsync/kbsync/internal/detect"
	"github.com/kbsync/kbsync/internal/shareddata"
	"github.com/kbsync/kbsync/parsers/code"
	"github.com/kbsync/kbsync/strategies"
)

// noGrammar are the languages of the real documents that no module of this program serves, each with the reason.
var noGrammar = map[string]string{
	"swift": "tree-sitter-swift has no release with its generated parser that a Go module could take",
}

// source is one real source file.
type source struct {
	path, language, text string
	els                  []connector.Element
}

// sources are all files of the real documents that the code parser reads.
func codeSources(t *testing.T) []source {
	t.Helper()
	plugin := code.Plugin()
	parser, err := plugin.Open(context.Background(), plugin.Config(), connector.Env{})
	if err != nil {
		t.Fatal(err)
	}
	var out []source
	eachFile(t, shareddata.Dir(t), func(path string, data []byte) {
		if typ := detect.Detect(path, "", data); typ.Skip != "" || typ.Parser != "code" {
			return
		}
		els, err := parsertest.Collect(context.Background(), parser, path, strings.NewReader(string(data)))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		s := source{path: path, language: code.LanguageOf(path, data), els: els}
		for i := range els {
			if els[i].Kind != connector.KindDropped {
				s.text += els[i].Text
			}
		}
		out = append(out, s)
	})
	return out
}

// declared is a function or method of a source file with the types around it.
type declared struct {
	lo, hi int
	name   string
	kind   string
	types  []string // the names of the declarations around it, outermost first
	owner  string   // the type, module or namespace that it belongs to; empty for functions of the file
}

// functions lists the functions of a file in order, each before those inside it.
func functions(els []connector.Element, types []string, text string) []declared {
	var out []declared
	for i := range els {
		el := &els[i]
		if el.Symbol == nil {
			continue
		}
		inner := types
		switch s := el.Symbol; s.Kind {
		case "function", "method":
			lo, hi := el.Span.Start, el.Span.Start+len(strings.TrimRight(el.Text, " \t\r\n\f"))
			lo += len(el.Text) - len(strings.TrimLeft(el.Text, " \t\r\n\f"))
			d := declared{lo: lo, hi: hi, name: s.Name, kind: s.Kind, types: types}
			switch {
			case s.Kind == "method" && len(s.Path) > 1:
				d.owner = s.Path[len(s.Path)-2]
			case len(types) > 0:
				d.owner = types[len(types)-1]
			}
			out = append(out, d)
		case "class", "struct", "interface", "trait", "impl", "enum", "module", "namespace":
			inner = append(types[:len(types):len(types)], s.Name)
		}
		out = append(out, functions(el.Children, inner, text)...)
	}
	return out
}

// tally counts the functions of one language at one cap.
type tally struct{ files, functions, small, whole, methods, named, byMeta, chunks, words, covered int }

// functionWord finds what looks like the start of a function, without any grammar.
var functionWord = regexp.MustCompile(`(?m)^[ \t]*(?:[a-z]+ +){0,3}(?:func|fun|fn|def|function) +[\pL_&(]`)

// worded are the languages whose functions start with such a word.
var worded = []string{"go", "kotlin", "lua", "php", "python", "ruby", "rust", "scala", "swift", "javascript"}

// TestCodeOfRealDocuments holds the strategy code to what it is for, over every source file of the real documents: a function of at most
// the cap is whole in one chunk, the chunks of a method name its type, nothing is lost, and every language is read by a grammar.
func TestCodeOfRealDocuments(t *testing.T) {
	all := codeSources(t)
	if len(all) < 70 {
		t.Fatalf("only %d source files", len(all))
	}
	counter, err := counters.Named("cl100k")
	if err != nil {
		t.Fatal(err)
	}
	grammars := code.Languages()
	for _, limit := range []int{200, 400, 800} {
		rows := map[string]*tally{}
		s := openCode(t, limit)
		for _, src := range all {
			row := rows[src.language]
			if row == nil {
				row = &tally{}
				rows[src.language] = row
			}
			in := strategytest.Input{Name: src.path, Document: *parsertest.Document(src.path, len(src.text)), Elements: src.els}
			chunks, err := strategytest.Collect(s, in)
			if err != nil {
				t.Fatalf("%s: %v", src.path, err)
			}
			for _, err := range strategytest.Laws(s.Info(), in, chunks) {
				t.Errorf("cap %d: %s: %v", limit, src.path, err)
			}
			row.files++
			row.chunks += len(chunks)
			checkFunctions(t, src, chunks, counter, limit, row)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "cap %d tokens\n%-12s %-12s %5s %9s %6s %7s %8s %6s %8s %6s %7s %6s\n", limit, "language", "backend", "files", "functions", "words", "of them", "<= cap", "whole", "methods", "named", "by meta", "chunks")
		for _, lang := range slices.Sorted(maps.Keys(rows)) {
			r := rows[lang]
			backend := code.Backend()
			if !slices.Contains(grammars, lang) {
				backend = "indentation"
				if noGrammar[lang] == "" && code.Backend() == "tree-sitter" {
					t.Errorf("%s has no grammar, and no reason is given", lang)
				}
			}
			if 4*r.covered < 3*r.words {
				t.Errorf("%s: %d words that start a function, but only %d of them are in one", lang, r.words, r.covered)
			}
			fmt.Fprintf(&b, "%-12s %-12s %5d %9d %6d %7d %8d %6d %8d %6d %7d %6d\n", lang, backend, r.files, r.functions, r.words, r.covered, r.small, r.whole, r.methods, r.named, r.byMeta, r.chunks)
		}
		t.Log(b.String())
	}
}

func openCode(t *testing.T, limit int) connector.Strategy {
	t.Helper()
	plugin := strategies.Code()
	s, err := plugin.Open(context.Background(), &strategies.CodeConfig{Sizing: strategies.Sizing{MaxTokens: limit, MinChars: 20}}, strategytest.Env())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func checkFunctions(t *testing.T, src source, chunks []connector.Chunk, counter connector.Counter, limit int, row *tally) {
	t.Helper()
	name := filepath.Base(src.path)
	all := functions(src.els, nil, src.text)
	if slices.Contains(worded, src.language) {
		for _, m := range functionWord.FindAllStringIndex(src.text, -1) {
			row.words++
			if slices.ContainsFunc(all, func(f declared) bool { return f.lo < m[1] && m[1] <= f.hi }) {
				row.covered++
			}
		}
	}
	for _, f := range all {
		row.functions++
		if counter.Count(src.text[f.lo:f.hi]) <= limit {
			row.small++
			if slices.ContainsFunc(chunks, func(c connector.Chunk) bool { return holds(c, f.lo, f.hi) }) {
				row.whole++
			} else {
				t.Errorf("cap %d: %s: %s of %d tokens is not whole", limit, name, f.name, counter.Count(src.text[f.lo:f.hi]))
			}
		}
		if f.owner == "" {
			continue
		}
		for _, c := range chunks {
			if !overlaps(c, f.lo, f.hi) {
				continue
			}
			row.methods++
			symbol := fmt.Sprint(c.Metadata["symbol"], " ", c.Metadata["symbols"])
			switch {
			case strings.Contains(c.Context+c.Text, f.owner):
				row.named++
			case strings.Contains(symbol, f.owner) && holds(c, f.lo, f.hi) && counter.Count(f.owner+"\n")+counter.Count(c.Text) > limit:
				row.byMeta++ // it is whole, which leaves no room for the name
			default:
				t.Errorf("cap %d: %s: a chunk of %s.%s does not name its type: %q", limit, name, f.owner, f.name, c.Text)
			}
		}
	}
}

// holds tells whether one span of the chunk holds text[lo:hi).
func holds(c connector.Chunk, lo, hi int) bool {
	return slices.ContainsFunc(c.Spans, func(s connector.Span) bool { return s.Start <= lo && hi <= s.End })
}

func overlaps(c connector.Chunk, lo, hi int) bool {
	return slices.ContainsFunc(c.Spans, func(s connector.Span) bool { return s.Start < hi && lo < s.End })
}
