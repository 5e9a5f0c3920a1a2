package lightmarkup

import (
	"fmt"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

func TestLines(t *testing.T) {
	s := NewSource("a  \n \t b\n\n  - c")
	if len(s.Lines) != 4 || s.Line(0) != "a" || s.Line(1) != "b" || s.Lines[1].Indent != 9 || !s.Blank(2) || !s.Blank(9) {
		t.Errorf("%+v", s.Lines)
	}
	if column := s.Enter(3, 1); column != 4 || s.Line(3) != "c" {
		t.Error(column, s.Line(3))
	}
	if NewSource("").Lines == nil || len(NewSource("").Lines) != 0 || len(NewSource("\n").Lines) != 1 {
		t.Error("lines of nothing")
	}
}

func TestColumns(t *testing.T) {
	for s, want := range map[string]int{"": 0, "ab": 2, "中文": 4, "e\u0301": 1, "ｱ": 1, "Ａ": 2} {
		if got := Width(s); got != want {
			t.Errorf("%q: %d", s, got)
		}
	}
	if got := fmt.Sprintf("%q", SplitColumns("张伟  北京", []int{6, 20})); got != `["张伟  " "北京" ""]` {
		t.Error(got)
	}
	if got := Join([]string{" a ", "b", "中", "文", "c", ""}); got != "a b 中文 c" {
		t.Error(got)
	}
}

func TestCSV(t *testing.T) {
	for src, want := range map[string]string{
		"a,b\n\n c , \"d, e\"\n": `["a" "b"]0-1 ["c" "d, e"]2-3 `,
		"\"a\nb\",\"c\"\"d\"":    `["a\nb" "c\"d"]0-2 `,
		"\"a\nb,\"c":             `["a\nb,c"]0-2 `,
		"x,\"a\nb":               `["x" "\"a"]0-1 ["b"]1-2 `,
		"a,":                     `["a" ""]0-1 `,
	} {
		s := NewSource(src)
		got := ""
		for _, r := range s.CSV(0, len(s.Lines), ',') {
			got += fmt.Sprintf("%q%d-%d ", r.Cells, r.First, r.Last)
		}
		if got != want {
			t.Errorf("%q: %s", src, got)
		}
	}
}

func TestCuts(t *testing.T) {
	s := NewSource("a\nb\nc\nd\n")
	s.Cut(3, 4)
	s.Cut(1, 2)
	s.Cut(1, 2)
	table := s.Table(0, 4)
	table.Table.HeaderSpan = s.Span(0, 2)
	table.Table.Rows = []connector.Row{{Span: s.Span(2, 3)}, {Span: s.Span(3, 4)}}
	f := s.finish([]connector.Element{table})
	if len(f.els) != 1 || f.els[0].Text != "a\nc\n" || f.els[0].Table.HeaderText != "a\n" || len(f.els[0].Table.Rows) != 1 || len(f.cuts) != 2 {
		t.Errorf("%+v", f)
	}
}

func TestLanguage(t *testing.T) {
	for name, want := range map[string]string{"Python3": "python", "sh": "shell", "none": "", "my lang": "", "unheard": "unheard", "c++": "c++"} {
		if got := Language(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
