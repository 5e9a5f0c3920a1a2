package prompts

import (
	"errors"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector/llmtest"
	"github.com/kbsync/kbsync/internal/llmjson"
)

func TestChoose(t *testing.T) {
	q := ChooseQuestion{
		Name: "a/b.txt", Sample: chinese, Measured: []string{"code: 5 %"}, Unit: "tokens", Least: 64, Most: 512, MostOverlap: 30,
		Kinds: []ChooseKind{{"markdown", "headings"}, {"sentence", "stories"}},
	}
	const good = `{"strategy":"sentence","size":300,"overlap":10,"ground":"narrative","reason":" It is\na story. "}`
	want := ChooseAnswer{"sentence", 300, 10, "narrative", "It is a story."}
	swap := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	for name, c := range map[string]struct {
		says  []string
		want  ChooseAnswer
		fault string
	}{
		"good":            {[]string{good}, want, ""},
		"prose around it": {[]string{"I would say {this}:\n```json\n" + good + "\n```\nBecause it tells."}, want, ""},
		"unknown kind":    {[]string{swap("sentence", "poetry"), good}, want, ""},
		"too large":       {[]string{swap("300", "9000"), good}, want, ""},
		"too small":       {[]string{swap("300", "1")}, ChooseAnswer{}, "1 is out of range, want 64 to 512"},
		"overlap":         {[]string{swap(`"overlap":10`, `"overlap":90`)}, ChooseAnswer{}, "90 is out of range, want 0 to 30"},
		"negative":        {[]string{swap(`"overlap":10`, `"overlap":-1`)}, ChooseAnswer{}, "out of range"},
		"other ground":    {[]string{swap("narrative", "because I say so")}, ChooseAnswer{}, "is none of"},
		"no reason":       {[]string{swap(`" It is\na story. "`, `""`)}, ChooseAnswer{}, "the string is empty"},
		"empty":           {[]string{""}, ChooseAnswer{}, "empty"},
		"missing":         {[]string{`{"strategy":"sentence"}`}, ChooseAnswer{}, `"size" is missing`},
		"a number":        {[]string{swap("300", `"300"`)}, ChooseAnswer{}, "want an integer"},
	} {
		d := llmtest.Texts(c.says...)
		got, err := Choose(t.Context(), d, q, 200)
		check(t, name, got, c.want, err, c.fault)
		r := d.Asked()[0]
		for _, part := range []string{"Document: a/b.txt", "code: 5 %", "sentence: stories", "64 to 512 tokens", chinese} {
			if !strings.Contains(r.User, part) {
				t.Errorf("%s: %q is not in the question: %s", name, part, r.User)
			}
		}
		if r.Prompt != ChooseVersion || !strings.Contains(r.System, "JSON") || !strings.Contains(string(r.Schema), `"enum":["markdown","sentence"]`) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	q.Sample = " —— \n"
	d := llmtest.Texts("never")
	if _, err := Choose(t.Context(), d, q, 200); !errors.Is(err, llmjson.ErrBlank) || len(d.Asked()) != 0 {
		t.Errorf("blank: %v, asked %d times", err, len(d.Asked()))
	}
}
