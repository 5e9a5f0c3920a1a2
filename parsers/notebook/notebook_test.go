package notebook

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

func collect(tb testing.TB, r io.Reader) ([]connector.Element, error) {
	tb.Helper()
	return parsertest.Collect(context.Background(), open(tb, Config{MaxOutputBytes: DefaultMaxOutput}), "x.ipynb", r)
}

// repeated reads the same bytes n times over.
type repeated struct {
	part string
	n    int
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && r.n > 0 {
		k := copy(p[n:], r.part[r.at:])
		n += k
		if r.at += k; r.at == len(r.part) {
			r.at = 0
			r.n--
		}
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// An image of 10 MB, one of 20 MB and a cell that printed 10 MB cost no memory: all that Parse allocates, freed or not, is a fraction
// of what it reads, and the same for each.
func TestLargeOutputs(t *testing.T) {
	const cellHead = `{"cells": [{"cell_type": "code", "metadata": {}, "outputs": [`
	const cellTail = `], "source": "plot()"}, {"cell_type": "markdown", "metadata": {}, "source": "after"}], "metadata": {"language_info": {"name": "python"}}, "nbformat": 4}`
	cases := map[string]struct{ before, part, after string }{
		"image":    {`{"output_type": "display_data", "data": {"image/png": "`, "iVBORw0KGgoAAAANSUhEUgAA", `", "text/plain": "<Figure size 640x480>"}}`},
		"lines":    {`{"output_type": "stream", "name": "stdout", "text": ["`, `a line that was printed\n", "`, `"]}`},
		"outputs":  {``, `{"output_type": "stream", "name": "stderr", "text": "progress"}, {"output_type": "display_data", "data": {"text/plain": "step"}}, `, `{"output_type": "stream", "name": "stdout", "text": "end"}`},
		"metadata": {`{"output_type": "display_data", "metadata": {"x": [`, `{"deep": [1, 2, "three"]}, `, `0]}, "data": {"text/plain": "x"}}`},
	}
	for name, c := range cases {
		for _, size := range []int{10 << 20, 20 << 20} {
			if size > 10<<20 && name != "image" {
				continue
			}
			in := io.MultiReader(strings.NewReader(cellHead+c.before), &repeated{part: c.part, n: size / len(c.part)}, strings.NewReader(c.after+cellTail))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			els, err := collect(t, in)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := after.TotalAlloc - before.TotalAlloc; name != "outputs" && got > 4<<20 {
				t.Errorf("%s: %d bytes allocated for %d", name, got, size)
			}
			if text := parsertest.Text(els); !strings.Contains(text, "plot()") || !strings.Contains(text, "after") || len(text) > (maxOutputs+1)*DefaultMaxOutput {
				t.Errorf("%s: text of %d bytes", name, len(text))
			}
			for i := range els {
				if els[i].Kind == connector.KindCode && strings.HasPrefix(els[i].Text, "plot") && els[i].Language != "python" {
					t.Errorf("%s: language %q", name, els[i].Language)
				}
			}
			if err := parsertest.CheckElements(els); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// What cannot be read says why, and where.
func TestBrokenNotebooks(t *testing.T) {
	for input, want := range map[string]string{
		small[:len(small)/2]:                 "is the file cut short?",
		`{"cells": [`:                        "breaks off after 11 bytes",
		`# no notebook`:                      "found '#' where '{' should stand at byte 0",
		`[1, 2]`:                             "where '{' should stand",
		`{"a": 1}`:                           "neither cells (nbformat 4) nor worksheets",
		`{"cells": [] "nbformat": 4}`:        "where ',' should stand at byte 13",
		`{"cells": [{"source": "\q"}]}`:      `the escape \q`,
		`{"cells": [{"source": "\u00g0"}]}`:  "broken escape",
		`{"cells": []} x`:                    "behind the notebook's end",
		"<<<<<<< HEAD\n" + small:             "found '<'",
		`{"a": ` + strings.Repeat("[", 20e3): "too deep a nesting",
	} {
		_, err := collect(t, strings.NewReader(input))
		if err == nil || !strings.Contains(err.Error(), want) || connector.ClassOf(err) != connector.ClassInvalid {
			t.Errorf("%.40q: %v, want %q", input, err, want)
		}
	}
}

// A cell of too much source is named, not cut.
func TestHugeSource(t *testing.T) {
	in := io.MultiReader(strings.NewReader(`{"cells": [{"cell_type": "code", "source": "`), &repeated{part: `x = 1\n`, n: maxSource / 4}, strings.NewReader(`"}]}`))
	_, err := collect(t, in)
	if connector.ClassOf(err) != connector.ClassTooLarge || !strings.Contains(err.Error(), "cell 1 ") {
		t.Error(err)
	}
}

// Many cells come out as they are read, once too many wait for the language.
func TestManyCells(t *testing.T) {
	cells := &repeated{part: `{"cell_type": "code", "source": "x = 1", "outputs": []}, `, n: 100_000}
	n := 0
	in := io.MultiReader(strings.NewReader(`{"cells": [`), cells, strings.NewReader(`{"cell_type": "code", "source": "last"}]}`))
	for _, err := range open(t, Config{MaxOutputBytes: 10}).Parse(context.Background(), &connector.Document{}, in) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1 && cells.n == 0 {
			t.Error("nothing came before all was read")
		}
	}
	if n != 100_001 {
		t.Errorf("%d elements", n)
	}
	stop := errors.New("stop")
	_, err := collect(t, io.MultiReader(strings.NewReader(small[:100]), errReader{stop}))
	if !errors.Is(err, stop) {
		t.Error(err)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// The language of code cells: the kernel's, the cell's own, or that of its magic; wherever the metadata stand.
func TestLanguages(t *testing.T) {
	const meta = `"metadata": {"kernelspec": {"language": "R"}, "language_info": {"name": "ipython3"}}`
	const list = `"cells": [{"cell_type": "code", "source": "x"}, {"cell_type": "code", "source": "%%bash\nls"}, {"cell_type": "code", "metadata": {"vscode": {"languageId": "fsharp"}}, "source": "y"}, {"cell_type": "code", "source": "%%time\nz"}]`
	for _, input := range []string{"{" + meta + ", " + list + "}", "{" + list + ", " + meta + "}"} {
		els, err := collect(t, strings.NewReader(input))
		if err != nil || len(els) != 4 {
			t.Fatal(err, els)
		}
		got := ""
		for i := range els {
			got += els[i].Language + " "
		}
		if got != "python shell f# python " {
			t.Errorf("%q", got)
		}
	}
}

func FuzzNotebook(f *testing.F) {
	f.Add(small, uint16(40))
	f.Add(`{"worksheets":[{"cells":[{"cell_type":"heading","level":9,"source":"a"},{"input":"\ud800\u0000\r"}]}],"metadata":{"kernelspec":{"language":"R"}}}`, uint16(0))
	f.Add(`{"cells":[{"cell_type":"markdown","source":"a\n===\n$$\nx\n$$\n> q\n1. i\n\n   j\n~~~\n|a|\n|-|\n|b"}]}`, uint16(3))
	f.Fuzz(func(t *testing.T, input string, size uint16) {
		p := open(t, Config{MaxOutputBytes: int(size)})
		if err := parsertest.CheckSound(p, "x.ipynb", input); err != nil {
			t.Error(err)
		}
		// Any text as a Markdown cell.
		var b strings.Builder
		for _, r := range input {
			switch {
			case r == '"' || r == '\\':
				b.WriteRune('\\')
				b.WriteRune(r)
			case r == '\n':
				b.WriteString(`\n`)
			case r >= ' ':
				b.WriteRune(r)
			}
		}
		cell := `{"cells":[{"cell_type":"markdown","source":"` + b.String() + `"}]}`
		if els, err := parsertest.Collect(context.Background(), p, "x.ipynb", strings.NewReader(cell)); err == nil {
			if err := parsertest.CheckElements(els); err != nil {
				t.Errorf("%q: %v", cell, err)
			}
		}
	})
}
