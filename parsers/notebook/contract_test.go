package notebook

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

var update = flag.Bool("update", false, "write golden files anew")

func open(tb testing.TB, c Config) connector.Parser {
	tb.Helper()
	p, err := Plugin().Open(context.Background(), &c, connector.Env{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// small has something of everything.
const small = `{"cells": [
 {"cell_type": "markdown", "id": "a", "metadata": {}, "source": ["# sentinelhead\n", "\n", "sentinelpara\n", "\n", "| a | b |\n", "|---|---|\n", "| sentinelcell | 2 |\n", "\n", "` + "```" + `bash\n# sentinelfence\n", "` + "```" + `\n", "- sentinelitem\n  - more"],
  "attachments": {"sentinelimage.png": {"image/png": "iVBORw0KGgo="}}},
 {"cell_type": "code", "execution_count": 1, "metadata": {"tags": []}, "outputs": [
   {"name": "stdout", "output_type": "stream", "text": ["sentinelout\n", "\u001b[31mred\u001b[0m\n"]},
   {"name": "stdout", "output_type": "stream", "text": "sentinelmore\n"},
   {"data": {"image/png": "iVBOR", "text/plain": ["sentinelplain"], "text/html": "<p>sentinelhtml</p>"}, "metadata": {}, "output_type": "display_data"},
   {"data": {"text/html": "<style>x{}</style><table><tr><td>sentineltd</td></tr></table>", "text/plain": "<IPython.core.display.HTML object>"}, "metadata": {}, "output_type": "execute_result", "execution_count": 1},
   {"ename": "ValueError", "evalue": "sentinelerror", "output_type": "error", "traceback": ["\u001b[0;31mTraceback\u001b[0m", "sentineltrace"]}
  ], "source": "def f():\n    return 'sentinelcode \ud83d\ude00'\n"},
 {"cell_type": "raw", "metadata": {}, "source": "sentinelraw"}
], "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}, "nbformat": 4, "nbformat_minor": 5}
`

func TestContract(t *testing.T) {
	words := []string{"sentinelhead", "sentinelpara", "sentinelcell", "sentinelfence", "sentinelitem", "sentinelimage", "sentinelout", "sentinelmore", "sentinelplain",
		"sentinelhtml", "sentineltd", "sentinelerror", "sentineltrace", "sentinelcode", "sentinelraw"}
	old := `{"metadata": {"name": ""}, "nbformat": 3, "worksheets": [{"cells": [
 {"cell_type": "heading", "level": 2, "metadata": {}, "source": ["sentinelheading"]},
 {"cell_type": "code", "collapsed": false, "input": ["sentinelinput"], "language": "python", "outputs": [
  {"output_type": "stream", "stream": "stdout", "text": ["sentinelstream"]},
  {"output_type": "pyout", "png": "iVBORw0K", "text": ["sentinelpyout"], "prompt_number": 1},
  {"output_type": "pyerr", "ename": "E", "evalue": "sentinelvalue", "traceback": []}]}]}]}`
	parsertest.Run(t, func() connector.Parser { return open(t, Config{MaxOutputBytes: DefaultMaxOutput}) }, []parsertest.Case{
		{Name: "nbformat 4", Input: small, Sentinels: words},
		{Name: "nbformat 3", Input: old, Sentinels: []string{"sentinelheading", "sentinelinput", "sentinelstream", "sentinelpyout", "sentinelvalue"}},
		{Name: "no cells", Input: `{"cells": [], "metadata": {}, "nbformat": 4}`},
		{Name: "empty"},
	})
}

// TestGolden compares the elements of the notebooks in testdata with what stands below them.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			ar, err := txtar.ParseFile(path)
			if err != nil || len(ar.Files) == 0 {
				t.Fatal(err)
			}
			got := show(t, open(t, Config{MaxOutputBytes: 60}), string(ar.Files[0].Data))
			if *update {
				ar.Files = append(ar.Files[:1], txtar.File{Name: "elements", Data: []byte(got)})
				if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(ar.Files) < 2 || got != string(ar.Files[1].Data) {
				t.Errorf("run with -update after a look at\n%s", got)
			}
		})
	}
}

// show writes the elements, one a line.
func show(tb testing.TB, p connector.Parser, input string) string {
	tb.Helper()
	els, err := parsertest.Collect(context.Background(), p, "x.ipynb", strings.NewReader(input))
	if err != nil {
		tb.Fatal(err)
	}
	if err := parsertest.CheckElements(els); err != nil {
		tb.Error(err)
	}
	var b strings.Builder
	for i := range els {
		el := &els[i]
		b.WriteString(string(el.Kind))
		if el.Level > 0 {
			b.WriteString(strings.Repeat("+", el.Level))
		}
		for _, s := range []string{el.Language, el.Title, string(el.Reason)} {
			if s != "" {
				b.WriteString(" (" + s + ")")
			}
		}
		b.WriteString(" " + strings.ReplaceAll(el.Text, "\n", "⏎") + "\n")
	}
	return b.String()
}
