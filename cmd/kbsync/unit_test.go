package main

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

func TestFilters(t *testing.T) {
	got, err := parseFilters([]string{"page=3", "team=docs", "team=ops", "draft=true", `v="3"`, "path=a=b", "ratio=0.5"})
	if err != nil {
		t.Fatal(err)
	}
	want := connector.Filter{
		{Field: "page", Values: []any{int64(3), "3"}},
		{Field: "team", Values: []any{"docs", "ops"}},
		{Field: "draft", Values: []any{true, "true"}},
		{Field: "v", Values: []any{"3"}},
		{Field: "path", Values: []any{"a=b"}},
		{Field: "ratio", Values: []any{0.5, "0.5"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v", got)
	}
	if _, err := parseFilters([]string{"page"}); err == nil {
		t.Error("a filter without = was taken")
	}
}

// TestReport: joined errors are lines of their own, and an error that wraps several keeps its own words.
func TestReport(t *testing.T) {
	one, two := errors.New("one"), errors.New("two")
	var out strings.Builder
	a := &app{err: &console{w: &out}}
	a.report(errors.Join(one, fmt.Errorf("both of %w and %w", one, two)))
	if want := "kbsync: one\nkbsync: both of one and two\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestSnippet(t *testing.T) {
	p := painter{true}
	tests := []struct{ text, question, want string }{
		{"Reset the\npassword here", "password", "Reset the \x1b[1;33mpassword\x1b[0m here"},
		{"打开设置，重置密码。", "如何重置密码", "打开设置，\x1b[1;33m重置密码\x1b[0m。"},
		{"concatenate cat", "cat", "concatenate \x1b[1;33mcat\x1b[0m"},
		{"clear\x1b[2Jscreen", "x", "clear[2Jscreen"},
	}
	for _, test := range tests {
		if got := snippet(test.text, terms(test.question), 100, p); got != test.want {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
	}
	long := strings.Repeat("filler ", 200) + "needle in the hay " + strings.Repeat("tail ", 200)
	if got := snippet(long, terms("needle"), 60, painter{}); !strings.Contains(got, "needle") || !strings.HasPrefix(got, "…") || len(got) > 80 {
		t.Errorf("got %q", got)
	}
}

func TestSegments(t *testing.T) {
	text := "aaabbbccc dd"
	chunks := []pageChunk{{Index: 0, Spans: []connector.Span{{Start: 0, End: 6}}}, {Index: 1, Spans: []connector.Span{{Start: 3, End: 9}, {Start: 10, End: 99}}}}
	var got []string
	joined := ""
	for _, s := range segments(text, chunks) {
		got = append(got, s.Text+"|"+s.Chunks)
		joined += s.Text
	}
	if want := []string{"aaa|0", "bbb|0 1", "ccc|1", " |", "dd|1"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	if joined != text {
		t.Errorf("the text became %q", joined)
	}
}

func TestHistogram(t *testing.T) {
	for _, largest := range []int{0, 1, 11, 12, 99, 512, 8191, 1_000_000} {
		if n := largest/niceStep(largest) + 1; n > maxBars {
			t.Errorf("%d: %d bars", largest, n)
		}
	}
}

func TestStrategyFlags(t *testing.T) {
	reg := registry(t)
	rule, err := strategyRule(reg, "recursive", []string{`separators=["$A", "\"x\": y"]`, "max_tokens=10", "max_tokens=20", "overlap=10%"})
	if err != nil {
		t.Fatal(err)
	}
	got := options(rule.Strategy.Config)
	for _, want := range []string{`"max_tokens":20`, `"separators":["$A","\"x\": y"]`, `"overlap":"10%"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	for _, set := range []string{"max_tokens", "=3", "max_tokens=many", "max_tokens=[1]", "nope=1", "max_tokens={a: &x 1}", "max_tokens=1\nname: x"} {
		if _, err := strategyRule(reg, "recursive", []string{set}); err == nil {
			t.Errorf("%q was taken", set)
		}
	}
}

func TestSizes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 999_499: "999.5 kB", 1_500_000: "1.5 MB", 2_000_000_000_000: "2.0 TB"} {
		if got := size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
