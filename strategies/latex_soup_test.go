package strategies

import (
	"math/rand"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector/strategytest"
)

// TestLatexSoup cuts documents of random pieces of LaTeX, most of them broken, and checks the laws.
func TestLatexSoup(t *testing.T) {
	words := strings.Split(`\section{A}|\subsection*{乙}|\paragraph[s]{c} |\begin{itemize}|\end{itemize}|\item |\item[x] |\begin{theorem}|\end{theorem}|`+
		`\begin{tabular}{ll}|\end{tabular}|\begin{table}|\end{table}|\caption{Of it. All.}|a & b \\|\hline |\midrule|\begin{verbatim}|\end{verbatim}|`+
		`\begin{equation}|\end{equation}|\[|\]|$|$$|\(|\)|% a comment. With two|%|\label{a:b}|\cite[p. 3]{x, y}|\verb+a b+|\url{http://a.b/c%20d}|{|}|\\|\%|`+
		`Words of a sentence. |另一句话。|e.g. 3.5, |x|word |中文|\begin{document}|\end{document}|\newcommand{\x}[1]{|\iffalse |\fi |\href{http://x.y}{a b}|http://q.r/s$t |`+
		`é|👍🏽|a longer run of words without any stop in it at all |\emph{|\begin{center}|\end{center}|\begin{figure}|\end{figure}|\begin{comment}|\end{comment}`, "|")
	words = append(words, "\n", "\n", "\n", "\n\n", "\n\n", " ", "\t", "  ")
	rng := rand.New(rand.NewSource(7))
	sizes := []Sizing{{MaxChars: 12}, {MaxChars: 40, MinChars: 8}, {MaxChars: 90, MinChars: 20, Overlap: Amount{N: 30}}, {MaxTokens: 25}}
	for n := range soups {
		var b strings.Builder
		for range 5 + rng.Intn(60) {
			b.WriteString(words[rng.Intn(len(words))])
		}
		els := latexElements(t, b.String())
		s := openLatexWith(t, sizes[n%len(sizes)], []string{"in", "out"}[n/4%2])
		in := strategytest.Input{Elements: els}
		chunks, err := strategytest.Collect(s, in)
		if err != nil {
			t.Fatal(err)
		}
		if errs := strategytest.Laws(s.Info(), in, chunks); len(errs) > 0 {
			t.Errorf("%d: %q: %v", n, b.String(), errs)
			return
		}
	}
}

// soups is how many documents are tried.
const soups = 1500
