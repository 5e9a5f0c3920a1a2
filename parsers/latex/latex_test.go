package latex

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/internal/shareddata"
)

func parse(t testing.TB, src string) []connector.Element {
	t.Helper()
	els, err := parsertest.Collect(context.Background(), New(DefaultMaxTreeSize), "a.tex", strings.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	if err := parsertest.CheckElements(els); err != nil {
		t.Error(err)
	}
	if got := parsertest.Text(els); got != src {
		t.Errorf("the elements are not the source:\n%.300q\n%.300q", got, src)
	}
	return els
}

// outline shows elements as kind(level)[title]:language!{children}; ! marks atoms.
func outline(els []connector.Element) string {
	parts := make([]string, 0, len(els))
	for _, el := range els {
		s := string(el.Kind)
		if el.Level > 0 {
			s += fmt.Sprint(el.Level)
		}
		if el.Title != "" {
			s += "[" + el.Title + "]"
		}
		if el.Language != "" {
			s += ":" + el.Language
		}
		if el.Atom {
			s += "!"
		}
		if len(el.Children) > 0 {
			s += "{" + outline(el.Children) + "}"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

func TestOutline(t *testing.T) {
	cases := []struct{ name, src, want string }{
		{"empty", "", ""},
		{"blank", "\n \n", "text"},
		{"sections", "\\section{A}\none\n\n\\subsection*{B}\ntwo\n", "heading1[A] text heading2[B] text"},
		{"all ranks", "\\part{a}\\chapter{b}\\section{c}\\subsection{d}\\subsubsection{e}\\paragraph{f}x\n\\subparagraph{g}",
			"heading1[a] heading2[b] heading3[c] heading4[d] heading5[e] heading6[f] text heading6[g]"},
		{"ranks that are not used take no level", "\\chapter{a}\\subsection{b}\\subparagraph{c}", "heading1[a] heading2[b] heading3[c]"},
		{"short title", "\\section[short]{The \\textbf{long} title}\n", "heading1[The long title]"},
		{"title on the next line", "\\section\n  {A}\n\\section%\n{B}\n", "heading1[A] heading1[B]"},
		{"label", "\\section{A}\\label{sec:a}\ntext\n\\section{B}\n\\label{sec:b}\n\nmore", "heading1[A] text heading1[B] text"},
		{"braces in a title", "\\section{a {b} $c_{1}$ \\% \\'e~d\\footnote{no}}", "heading1[a b $c_{1}$ % é d]"},
		{"Chinese", "\\section{绪论}\n\n研究背景。\n", "heading1[绪论] text"},
		{"not a section", "\\sectionmark{a} \\sectioning \\section\n\ntext", "text text"},
		{"escaped backslash", "\\\\section{a}\n", "text"},
		{"comment", "% \\section{no}\n\\section{yes}\n", "text{text!} heading1[yes]"},
		{"comment at the end of a line", "a % \\section{no}\nb\n", "text{text!}"},
		{"escaped percent", "50\\% \\section{yes}\n", "text heading1[yes]"},
		{"percent after a line break", "a\\\\% \\section{no}\nb\n", "text{text!}"},
		{"comment environment", "a\n\\begin{comment}\n\\section{no}\n\\end{comment}\n\\section{b}\n", "text text! heading1[b]"},
		{"iffalse", "\\iffalse\n\\ifx a b \\section{no} \\fi\n\\fi\n\\section{b}\n", "text! heading1[b]"},
		{"verbatim", "\\begin{verbatim}\n\\section{no}\n% \\end{x}\n\\end{verbatim}\n\\section{yes}\n", "code! heading1[yes]"},
		{"listing", "\\begin{lstlisting}[language=Python,caption=x]\nx\n\\end{lstlisting}\n", "code:python!"},
		{"minted", "\\begin{minted}[linenos]{c++}\n\\section{no}\n\\end{minted}\n", "code:c++!"},
		{"verb", "a \\verb|\\section{no} % $| b \\lstinline{x $} c\n", "text{code! code!}"},
		{"unclosed verbatim", "\\begin{verbatim}\nx\n\\section{a}\n", "text heading1[a]"},
		{"inline math", "a $x = 1$ b \\(y\\) c\n", "text{math! math!}"},
		{"display math", "a\n\\[ x \\]\nb\n$$ y $$ c\n", "text math! text math! text"},
		{"price", "It costs $5.\n\n\\section{a}\n", "text heading1[a]"},
		{"stray dollar before a section", "costs $5\n\\section{a}\n$6", "text heading1[a] text"},
		{"escaped dollar", "\\$5 and \\$6\n", "text"},
		{"equation", "see\n\\begin{equation}\n  x\n\n\\label{eq:x}\n\\end{equation}\nwhere\n", "text math! text"},
		{"align with cases", "\\begin{align*}a &= \\begin{cases}1\\end{cases}\\end{align*}\n", "math!"},
		{"figure", "\\begin{figure}[t]\n\\includegraphics{a.png}\n\\caption[s]{A \\emph{cat}.}\n\\end{figure}\n", "image[A cat.]!{text{text!}}"},
		{"theorem", "\\begin{theorem}[Foo]\nx\n\n$y$\n\\end{theorem}\n", "text!{text text{math!}}"},
		{"declared theorem", "\\newtheorem{satz}{Satz}\n\\begin{satz}\nx\n\\end{satz}\n", "text{text!} text!{text}"},
		{"proof", "\\begin{proof}\na\n\n\\begin{equation}b\\end{equation}\n\\end{proof}\n", "text{text math!}"},
		{"list", "\\begin{itemize}\n  \\item a\n  \\item b\n  \\begin{enumerate}\\item c\\end{enumerate}\n  \\item[x] $d$\n\\end{itemize}\n",
			"list1{item1 item1{text list2{item2}} item1{text{math!}}}"},
		{"unclosed environment", "\\begin{theorem}\na\n\\section{b}\nc\n", "text heading1[b] text"},
		{"mismatched end", "\\begin{quote}a\\begin{center}b\\end{quote}\\end{center}\n\\end{nothing}\\section{c}\n", "quote{text} text heading1[c]"},
		{"sections in an environment", "\\begin{appendices}\n\\section{a}\nb\n\\end{appendices}\n", "text heading1[a] text"},
		{"definitions", "\\newcommand{\\x}[1]{\\section{#1} \\begin{y}}\n\\def\\z#1{\\section{#1}}\n\\titleformat{\\section}{a}{b}{c}{d}\n", "text{text! text! text!}"},
		{"references", "see \\cite[p.~3]{a,b} and \\url{http://x.y/%20z}, \\input{chap1}\n", "text{text! text! text!}"},
		{"address", "at http://x.y/a%20b$c and \\section{d}\n", "text heading1[d]"},
		{"preamble", "\\documentclass{article}\n\\title{On \\LaTeX}\n\\newcommand{\\s}{\\section{no}}\n% \\begin{document}\n\n\\begin{document}\n\\section{a}\n\\end{document}\n",
			"front_matter{text{text! text! text!}} text heading1[a] text"},
		{"table", "\\begin{table}\n\\caption{Rows}\n\\begin{tabular}{ll}\na & b \\\\\n\\hline\n1 & 2 \\\\\n\\end{tabular}\n\\end{table}\n", "table[Rows]{text table}"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := outline(parse(t, c.src)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestRows(t *testing.T) {
	cases := []struct{ name, body, header, rows string }{
		{"booktabs", "\\toprule\nk & v \\\\ % note & x\n\\midrule\na & \\makecell{1 \\\\ 2} \\\\[2pt]\nb\\&c & \\\\\n\\bottomrule\n", "[[k v]]", "[[a \\makecell{1 \\\\ 2}] [b\\&c ]]"},
		{"hline", "\\hline\nk & v \\\\ \\hline\na & 1 \\\\ \\hline\nb & 2 \\\\ \\hline\n", "[[k v]]", "[[a 1] [b 2]]"},
		{"rule on the row's line", "k & v \\\\\n\\hline a & 1 \\\\\n", "[[k v]]", "[[a 1]]"},
		{"none", "a & 1 \\\\\n\nb & 2\n", "[]", "[[a 1] [b 2]]"},
		{"longtable", "k & v \\\\\n\\midrule\n\\endfirsthead\nk & v \\\\\n\\midrule\n\\endhead\n\\bottomrule\n\\endfoot\na & 1 \\\\\n", "[[k v] [k v]]", "[[a 1]]"},
		{"Chinese", "姓名 & 城市 \\\\\n\\midrule\n张伟 & \n 北京 \\\\\n", "[[姓名 城市]]", "[[张伟 北京]]"},
		{"first cell empty", " & v \\\\\n\\midrule\n & 1 \\\\\n", "[[ v]]", "[[ 1]]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			els := parse(t, "\\begin{longtable}{l|l}\n"+c.body+"\\end{longtable}\n")
			if len(els) != 1 || els[0].Table == nil {
				t.Fatal(outline(els))
			}
			var rows [][]string
			for _, r := range els[0].Table.Rows {
				rows = append(rows, r.Cells)
			}
			if got := fmt.Sprint(els[0].Table.Header); got != c.header {
				t.Errorf("header %s, want %s", got, c.header)
			}
			if got := fmt.Sprint(rows); got != c.rows {
				t.Errorf("rows %s, want %s", got, c.rows)
			}
		})
	}
}

func TestFrontMatter(t *testing.T) {
	els := parse(t, "\\title{A \\thanks{no} title}\n\\author{Ann \\and 李伟}\n\\begin{document}\nx\n\\end{document}\n")
	if got := fmt.Sprint(els[0].Front); got != "map[author:Ann 李伟 title:A title]" {
		t.Error(got)
	}
}

func TestLineEnds(t *testing.T) {
	els, err := parsertest.Collect(context.Background(), New(DefaultMaxTreeSize), "", strings.NewReader("\\section{a}\r\ntext % c\r\n\r\n\\begin{equation}\r\nx\r\n\\end{equation}\r\n"))
	if err != nil || outline(els) != "heading1[a] text{text!} math!" {
		t.Error(outline(els), err)
	}
}

func TestLargeDocumentsAreParagraphs(t *testing.T) {
	els, err := parsertest.Collect(context.Background(), New(10), "", strings.NewReader("\\section{a}\n\ntext text text\n"))
	if err != nil || outline(els) != "dropped text text" {
		t.Error(outline(els), err)
	}
}

// Hostile documents, each large enough that anything worse than linear would not end.
func hostile() map[string]string {
	const n = 10_000
	rep := strings.Repeat
	return map[string]string{
		"nested":               rep("\\begin{quote}", n) + "x" + rep("\\end{quote}", n),
		"nested with sections": rep("\\begin{a}\n\\section{b}\n", n) + rep("\\end{a}\n", n),
		"nested lists":         rep("\\begin{itemize}\\item ", n) + rep("\\end{itemize}", n),
		"unclosed":             rep("\\begin{a}\\begin{verbatim}\\[ \\( $$ \\iffalse ", n),
		"ends":                 rep("\\end{a}\n", n),
		"crossed":              rep("\\begin{a}", n) + rep("\\begin{b}\\end{a}", n),
		"open braces":          rep("\\section{", n),
		"open brackets":        rep("\\section[", 8*n) + "]",
		"open definitions":     rep("\\newcommand{\\a}{", 8*n),
		"captions":             rep("\\caption{", 8*n) + rep("}", 8*n),
		"addresses":            rep("\\url{", 8*n),
		"dollars":              rep("a $ b\n\n", n) + rep("$", n),
		"parentheses":          rep("\\( \\[ $$ $ ", 8*n),
		"comments":             rep("%", n) + rep("\n%", n) + rep("\\section%\n", n),
		"blank lines":          rep("\n \n", n) + rep(" ", 8*n) + "\n",
		"rows":                 "\\begin{tabular}{l}" + rep("a & \\\\ \n", n) + "\\end{tabular}",
		"row":                  "\\begin{tabular}{l}" + rep("{ & \\begin{x}", n) + "\\end{tabular}",
		"backslashes":          rep("\\", 8*n+1),
		"verbs":                rep("\\verb|", n) + rep("\\verb+ ", n),
	}
}

func TestHostile(t *testing.T) {
	for name, src := range hostile() {
		t.Run(name, func(t *testing.T) { parse(t, src) })
	}
}

func TestContract(t *testing.T) {
	parsertest.Run(t, func() connector.Parser { return New(DefaultMaxTreeSize) }, []parsertest.Case{
		{Name: "article", Input: sample, Sentinels: strings.Fields("sentinelpreamble sentinelcomment sentinelverbatim sentinelmath sentinelcell sentinelafter 哨兵")},
	})
}

const sample = `\documentclass{article} % sentinelpreamble
\title{Title}
\begin{document}
\section[Short]{One} % sentinelcomment
Text with $x$ and \verb|sentinelverbatim|. 哨兵。
\begin{equation} sentinelmath \end{equation}
\begin{table}\caption{C}
\begin{tabular}{cc}
a & b \\ \midrule
sentinelcell & 2 \\
\end{tabular}
\end{table}
\begin{itemize}
\item one
\item two $y$
\end{itemize}
\end{document}
sentinelafter
`

func TestData(t *testing.T) {
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
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		src := strings.ReplaceAll(string(raw), "\r\n", "\n")
		t.Run(filepath.Base(filepath.Dir(f))+"/"+filepath.Base(f), func(t *testing.T) {
			els := parse(t, src)
			if got, want := headings(els), plainHeadings(src); got != want {
				t.Errorf("headings\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// headings are the commands of the headings, a line each.
func headings(els []connector.Element) string {
	var out []string
	for _, el := range els {
		if el.Kind == connector.KindHeading {
			out = append(out, letters(strings.TrimLeft(el.Text, " \t")[1:]))
		}
	}
	return strings.Join(out, "\n")
}

// plainHeadings finds them line by line, which does for documents that are written as people write.
func plainHeadings(src string) string {
	var out []string
	for _, l := range strings.Split(src, "\n") {
		l = strings.TrimLeft(l, " \t")
		if name := strings.TrimSuffix(letters(strings.TrimPrefix(l, `\`)), "*"); strings.HasPrefix(l, `\`) && sectioning(name) > 0 {
			out = append(out, name)
		}
	}
	return strings.Join(out, "\n")
}

func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add("\\begin{a}\\begin{verbatim}\\end{a}$x\\(\\[%\n\\]\\)$\\item[\\verb||]\\section*[]{}\n\n\\def\\x#1{}\\caption{\\'{e}}\\end{tabular}&\\\\[\n")
	f.Add("\\begin{longtable}[c]{l}\\hline\n\\endhead & {\\\\} \\\\\n%\n\\multicolumn{2}{c}{x}\\\\ \\hline\n\\end{longtable}́\\iffalse\\fi\\begin{comment}\n\\end{comment}")
	p := New(1 << 20)
	f.Fuzz(func(t *testing.T, src string) {
		if err := parsertest.CheckSound(p, "x.tex", src); err != nil {
			t.Error(err)
		}
		if err := parsertest.CheckDeterminism(p, "x.tex", src); err != nil && strings.ToValidUTF8(src, "") == src && !strings.Contains(src, "\x00") {
			t.Error(err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	src := strings.Repeat(sample, 1000)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		elements(src)
	}
}
