package strategies

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
	"github.com/kbsync/kbsync/internal/decode"
	"github.com/kbsync/kbsync/internal/shareddata"
	"github.com/kbsync/kbsync/parsers/latex"
)

func latexElements(tb testing.TB, text string) []connector.Element {
	tb.Helper()
	return parsed(tb, latex.New(latex.DefaultMaxTreeSize), "x.tex", text)
}

func openLatexWith(tb testing.TB, s Sizing, heading string) connector.Strategy {
	tb.Helper()
	c := latexDefaults()
	c.Sizing = s
	if heading != "" {
		c.Heading = heading
	}
	return mustOpen(tb, Latex(), &c)
}

// latexChunks cuts a text and checks the laws.
func latexChunks(tb testing.TB, text string, chars int) []connector.Chunk {
	tb.Helper()
	return lawful(tb, openLatexWith(tb, Sizing{MaxChars: chars, MinChars: 5}, ""), latexElements(tb, text))
}

// heldWhole tells whether one chunk holds all of part and is not forced.
func heldWhole(chunks []connector.Chunk, part string) bool {
	for i := range chunks {
		if strings.Contains(chunks[i].Text, part) && !chunks[i].ForcedSplit {
			return true
		}
	}
	return false
}

func TestLatexLaws(t *testing.T) {
	inputs := []strategytest.Input{
		{Name: "English sample", Elements: latexElements(t, latexSample)},
		{Name: "Chinese sample", Elements: latexElements(t, latexChinese)},
	}
	for name, s := range map[string]Sizing{
		"default": {MinChars: 20}, "100 chars": {MaxChars: 100, MinChars: 20}, "40 tokens": {MaxTokens: 40, MinChars: 20},
		"overlap": {MaxChars: 300, Overlap: Amount{N: 60}}, "8 chars": {MaxChars: 8},
	} {
		t.Run(name, func(t *testing.T) {
			strategytest.Run(t, openLatexWith(t, s, ""), inputs...)
			strategytest.Run(t, openLatexWith(t, s, "out"), inputs...)
		})
	}
}

// Environments, math and comments stay whole wherever they fit the cap, whatever is around them.
func TestLatexKeepsWhole(t *testing.T) {
	prose := strings.Repeat("Some words of a sentence stand here. ", 12)
	for name, part := range map[string]string{
		"equation":    "\\begin{equation}\n  a = b, \\quad\n\n  c = d. % e\n\\end{equation}",
		"align":       "\\begin{align*}\n  a &= b \\\\\n  c &= d. E\n\\end{align*}",
		"display":     "\\[ a = b. C = d, e \\]",
		"dollars":     "$$ a = b. C = d, e $$",
		"verbatim":    "\\begin{verbatim}\n\\section{no}\n\n% x. Y\n\\end{verbatim}",
		"listing":     "\\begin{lstlisting}[language=C]\nint x;\n\nint y;\n\\end{lstlisting}",
		"minted":      "\\begin{minted}{go}\nx := 1\n\ny := 2\n\\end{minted}",
		"theorem":     "\\begin{theorem}[Foo]\nFirst. Second $x$.\n\nThird.\n\\end{theorem}",
		"figure":      "\\begin{figure}\n\\includegraphics{x}\n\n\\caption{A cat. A dog.}\n\\end{figure}",
		"table":       "\\begin{table}\n\\caption{T}\n\\begin{tabular}{l}\na \\\\\nb \\\\\n\\end{tabular}\n\\end{table}",
		"comment":     "% \\section{no} and more words. Another sentence here",
		"comments":    "\\begin{comment}\n\\section{no}\n\nWords. Words.\n\\end{comment}",
		"inline math": "$a, b. C; d e f g h i j k l m n o p q r s t u$",
		"verb":        "\\verb|a. b, c d e f g|",
		"reference":   "\\cite[see. also, p. 3]{one, two}",
	} {
		t.Run(name, func(t *testing.T) {
			for _, lead := range []string{"", "One more sentence that ends with ", strings.Repeat("word ", 37)} {
				text := "\\section{A}\n" + prose + "\n\n" + lead + part + "\n" + prose + "\n"
				if !heldWhole(latexChunks(t, text, 120), part) {
					t.Errorf("cut after %q", lead)
				}
			}
		})
	}
}

func TestLatexForced(t *testing.T) {
	chunks := latexChunks(t, "\\section{A}\n\\begin{equation}\n"+strings.Repeat("a + b\n", 60)+"\\end{equation}\nThe end.\n", 100)
	forced := 0
	for _, c := range chunks {
		if c.ForcedSplit {
			forced++
		}
	}
	if forced < 4 {
		t.Errorf("%d forced of %d", forced, len(chunks))
	}
}

func TestLatexMasked(t *testing.T) {
	for name, hidden := range map[string]string{
		"comment": "% \\section{no}", "end of a line": "text % \\section{no}", "environment": "\\begin{comment}\n\\section{no}\n\\end{comment}",
		"verbatim": "\\begin{verbatim}\n\\section{no}\n\\end{verbatim}", "listing": "\\begin{lstlisting}\n\\section{no}\n\\end{lstlisting}",
		"minted": "\\begin{minted}{tex}\n\\section{no}\n\\end{minted}", "verb": "\\verb|\\section{no}|", "definition": "\\newcommand{\\x}{\\section{no}}",
	} {
		text := "\\section{Yes}\n" + strings.Repeat("Words in a row. ", 10) + "\n" + hidden + "\n" + strings.Repeat("Words in a row. ", 10) + "\n\\subsection{Too}\nend\n"
		for _, c := range latexChunks(t, text, 90) {
			if h := strings.Join(c.Headings, "/"); h != "Yes" && h != "Yes/Too" && h != "" {
				t.Errorf("%s: headings %q", name, h)
			}
		}
	}
}

func TestLatexBreadcrumbs(t *testing.T) {
	body := strings.Repeat("Words in a row. ", 12) + "\n"
	text := "\\part{P}" + body + "\\chapter*{C}" + body + "\\section[s]{S}" + body + "\\subsection{T}" + body + "\\paragraph{G}" + body + "\\section{U}" + body
	seen := map[string]bool{}
	for _, c := range latexChunks(t, text, 210) {
		seen[strings.Join(c.Headings, " > ")] = true
	}
	for _, want := range []string{"P", "P > C", "P > C > S", "P > C > S > T", "P > C > S > T > G", "P > C > U"} {
		if !seen[want] {
			t.Errorf("%q is missing in %v", want, seen)
		}
	}
}

func TestLatexPreambleStandsAlone(t *testing.T) {
	text := "\\documentclass{article}\n" + strings.Repeat("\\usepackage{one}\n", 3) + "\\begin{document}\n\\maketitle\n\n" + strings.Repeat(strings.Repeat("Words of the abstract. ", 4)+"\n\n", 3) + "\n\\section{A}\nx\n\\end{document}\n"
	for _, c := range latexChunks(t, text, 230) {
		if strings.Contains(c.Text, "usepackage") && strings.Contains(c.Text, "abstract") {
			t.Errorf("%q", c.Text)
		}
	}
}

func TestLatexTableRepeatsItsHeader(t *testing.T) {
	rows := strings.Repeat("a cell & another cell \\\\\n", 12)
	text := "\\begin{table}\n\\caption{Many}\\label{tab:m}\n\\begin{tabular}{ll}\n\\toprule\nkey & value \\\\\n\\midrule\n" + rows + "\\bottomrule\n\\end{tabular}\n\\end{table}\n"
	chunks := latexChunks(t, text, 160)
	n := 0
	for _, c := range chunks {
		if strings.Contains(c.EmbedText(), "a cell") {
			if n++; !strings.Contains(c.EmbedText(), "key & value") || c.ForcedSplit {
				t.Errorf("%+v", c)
			}
		}
	}
	if n < 3 {
		t.Errorf("%d chunks", n)
	}
}

func TestLatexLabels(t *testing.T) {
	chunks := latexChunks(t, "\\section{A}\\label{sec:a}\n% \\label{no}\n\\begin{equation}x\\label{eq:b}\\end{equation}\n", 500)
	if got := sprint(chunks[0].Metadata["labels"]); got != "[sec:a eq:b]" {
		t.Error(got)
	}
}

func TestLatexGolden(t *testing.T) {
	for _, path := range []string{"testdata/latex-en.txtar", "testdata/latex-zh.txtar"} {
		ar, err := txtar.ParseFile(path)
		if err != nil || len(ar.Files) == 0 {
			t.Fatal(path, err)
		}
		got := showChunks(lawful(t, openLatexWith(t, Sizing{MaxChars: 240, MinChars: 20}, ""), latexElements(t, string(ar.Files[0].Data))))
		if updating() {
			ar.Files = append(ar.Files[:1], txtar.File{Name: "chunks", Data: []byte(got)})
			if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if len(ar.Files) < 2 || got != string(ar.Files[1].Data) {
			t.Errorf("%s: run with -update after a look at\n%s", path, got)
		}
	}
}

func TestLatexData(t *testing.T) {
	dir := shareddata.Dir(t)
	var files []string
	for _, pattern := range []string{"fixtures/latex_zh_thuthesis_LPPL/data/*.tex", "fixtures/docling/latex/sources/*/*.tex"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(found) == 0 {
			t.Fatal(err, len(found))
		}
		files = append(files, found...)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		els := latexElements(t, string(b))
		t.Run(filepath.Base(f), func(t *testing.T) {
			for _, s := range []Sizing{{MinChars: 20}, {MaxChars: 400, MinChars: 20, Overlap: Amount{N: 80}}, {MaxChars: 80}} {
				lawful(t, openLatexWith(t, s, ""), els)
			}
			atomsWhole(t, els, lawful(t, openLatexWith(t, Sizing{MaxChars: 400, MinChars: 20}, ""), els), 400)
		})
	}
}

// atomsWhole tests that every atom of at most size characters is whole in one chunk.
func atomsWhole(t *testing.T, els []connector.Element, chunks []connector.Chunk, size int) {
	t.Helper()
	for i := range els {
		if el := &els[i]; el.Atom {
			part := strings.TrimSpace(el.Text)
			if len([]rune(part)) > size {
				continue
			}
			found := false
			lo := el.Span.Start + strings.Index(el.Text, part)
			for _, c := range chunks {
				found = found || c.Spans[0].Start <= lo && lo+len(part) <= c.Spans[0].End
			}
			if !found {
				t.Errorf("cut: %q", part)
			}
		}
		if el := &els[i]; el.Kind != connector.KindDropped {
			atomsWhole(t, el.Children, chunks, size)
		}
	}
}

func TestLatexHostile(t *testing.T) {
	rep := strings.Repeat
	for name, text := range map[string]string{
		"nested":     rep("\\begin{quote}\n", 10_000) + "$x$\n" + rep("\\end{quote}\n", 10_000),
		"lists":      rep("\\begin{itemize}\\item $x$ ", 2_000) + rep("\\end{itemize}", 2_000),
		"math":       "\\section{A}\n" + rep("word $x$, ", 10_000),
		"sections":   rep("\\section{A}\n\\paragraph{b}\n", 3_000),
		"comments":   rep("a % b. c\n", 5_000),
		"mismatched": rep("\\begin{theorem}x\\end{proof}\\begin{verbatim}", 2_000),
	} {
		t.Run(name, func(t *testing.T) {
			els := latexElements(t, text)
			lawfulChunks(t, openLatexWith(t, Sizing{MaxChars: 200, MinChars: 20}, ""), els)
		})
	}
}

func FuzzLatex(f *testing.F) {
	f.Add(latexSample, uint8(60), uint8(5))
	f.Add(latexChinese, uint8(30), uint8(0))
	f.Add("\\begin{document}%\n\\begin{tabular}{l}a&b\\\\\n\\hline\n\\end{tabular}$x$́\\item", uint8(9), uint8(3))
	p := latex.New(1 << 20)
	f.Fuzz(func(t *testing.T, text string, size, overlap uint8) {
		if len(text) > 4096 || size < 4 || decode.Binary([]byte(text)) {
			return
		}
		els := parsed(t, p, "x.tex", text)
		sizing := Sizing{MaxChars: int(size), Overlap: Amount{N: int(overlap) % int(size)}, MinChars: int(overlap) % 24}
		for _, heading := range []string{"in", "out"} {
			s := openLatexWith(t, sizing, heading)
			chunks, err := strategytest.Collect(s, strategytest.Input{Elements: els})
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range strategytest.Laws(s.Info(), strategytest.Input{Elements: els}, chunks) {
				t.Errorf("%+v: %v", sizing, err)
			}
		}
	})
}

// The strategy table reads the rows of a tabular as it reads those of other tables.
func TestLatexTablesAsRows(t *testing.T) {
	table := tableDefaults()
	chunks := lawful(t, mustOpen(t, Table(), &table), latexElements(t, "\\begin{tabular}{ll}\nname & city \\\\\n\\midrule\nAnn & Paris \\\\\n张伟 & 北京 \\\\\n\\end{tabular}\n"))
	if len(chunks) != 1 || chunks[0].Text != "name: Ann; city: Paris\nname: 张伟; city: 北京" {
		t.Errorf("%+v", chunks)
	}
}
