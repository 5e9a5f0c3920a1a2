package rst

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/internal/lightmarkup/lightmarkuptest"
)

const guide = `.. A comment at the top.

=======
User 手册
=======

:Author: 李雷
:Date: 2024-05-01

Install
=======

Run the ` + "``setup``" + ` program::

    python setup.py install

.. note::
   Needs root.

   1. first
   2. second

Options
-------

.. list-table:: Keys
   :header-rows: 1

   * - key
     - meaning
   * - port
     - 端口

+------+-------+
| name | value |
+======+=======+
| a    | 1     |
+------+-------+

term
   What it is. [1]_

.. [1] A note.
`

func TestConformance(t *testing.T) {
	parsertest.Run(t, func() connector.Parser { return parser() }, []parsertest.Case{
		{Name: "guide", Path: "a.rst", Input: guide, Sentinels: []string{"comment at the top", "手册", "李雷", "setup.py", "端口", "A note"}},
		{Name: "empty", Path: "a.rst"},
		{Name: "plain", Path: "a.rst", Input: "just text\n"},
	})
}

func TestProperties(t *testing.T) {
	cases := []struct {
		src  string
		want map[string]any
	}{
		{guide, map[string]any{"title": "User 手册", "author": "李雷", "date": "2024-05-01"}},
		{"Title\n=====\n\n:Author: A\n:Version: 1\n   beta\n\nSub\n---\n", map[string]any{"title": "Title", "author": "A", "version": "1 beta"}},
		{":orphan:\n\nA\n=\n\nB\n=\n", map[string]any{"orphan": ""}},
		{"para\n\n:a: b\n", nil},
	}
	for _, c := range cases {
		els := parse(t, c.src)
		got := map[string]any(nil)
		for _, el := range els {
			if el.Properties != nil {
				got = el.Properties
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%.20q: %v", c.src, got)
		}
	}
}

func TestTooLarge(t *testing.T) {
	els := lightmarkuptest.Parse(t, New(10), "Title\n=====\n\ntext\n")
	if got := lightmarkuptest.Outline(els); got != "dropped text text" || els[0].Reason != connector.DropMarkup {
		t.Error(got)
	}
}

// Documents that would take forever if anything were worse than linear.
func TestLinear(t *testing.T) {
	repeat := func(s string) func(int) string { return func(n int) string { return strings.Repeat(s, n/len(s)+1) } }
	deep := func(step string) func(int) string {
		return func(n int) string {
			var b strings.Builder
			for i := 0; b.Len() < n; i++ {
				fmt.Fprintf(&b, "%s%s\n\n", strings.Repeat("  ", i%300), step)
			}
			return b.String()
		}
	}
	for name, source := range map[string]func(int) string{
		"items": repeat("- a\n"), "items on one line": repeat("- "), "deep items": deep("- a"), "deep quotes": deep("x"), "deep comments": deep(".. x"), "deep notes": deep(".. note::"),
		"borders": repeat("=== ===\n"), "borders apart": repeat("=== ===\na\n\n"), "grid borders": repeat("+--+\n"), "grid starts": repeat("+-+\n| a\n\n"), "marks": repeat("==\n"),
		"wide grid": func(n int) string {
			return strings.Repeat("+-", n/2) + "+\n" + strings.Repeat("|a\n", n/6) + strings.Repeat("+-", n/2) + "+\n"
		},
		"wide simple": func(n int) string {
			border := strings.Repeat("= ", n/2) + "=\n"
			return border + strings.Repeat("a\n", n/4) + border
		},
		"titles": repeat("a\n=\n"), "terms": repeat("a\n b\n"), "comments": repeat(".. c\n\nx\n\n"), "fields": repeat(":a: b\n"), "literals": repeat("::\n\n a\n"),
		"quotes of values": repeat(".. csv-table::\n\n   \"a\n   b,\"\n\n"), "one long title": func(n int) string { return strings.Repeat("`*|", n/3) + "\n====\n" },
		"open quotes": func(n int) string { return ".. csv-table::\n\n" + strings.Repeat("   a,\"b\n", n/8) },
	} {
		t.Run(name, func(t *testing.T) { lightmarkuptest.Linear(t, parser(), build, source) })
	}
}

func FuzzNothingIsLost(f *testing.F) {
	f.Add(guide)
	for _, s := range []string{"+-+\n|a|\n+-+\n", "= =\na b\n= =\n", "* - a\n  - b\n", ".. csv-table::\n\n   \"a\n   b\",c\n", "a\n==\n::\n\n b\n", ".. list-table::\n\n   * - a\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if err := parsertest.CheckSound(parser(), "a.rst", src); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	src := strings.Repeat(guide, 1<<20/len(guide))
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if _, err := parsertest.Collect(b.Context(), parser(), "document", strings.NewReader(src)); err != nil {
			b.Fatal(err)
		}
	}
}
