package llmjson

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/llmtest"
)

type fruit struct {
	Name   string  `json:"name"`
	Counts []int   `json:"counts"`
	Ripe   bool    `json:"ripe"`
	Weight float64 `json:"weight"`
	Kind   string  `json:"kind"`
}

func shape() Schema {
	return Schema{Fields: []Field{
		{"name", Schema{Kind: String, Min: 1, Max: 10, Doc: "its name"}},
		{"counts", Schema{Kind: List, Max: 3, Items: &Schema{Kind: Integer, Min: 1, Max: 9, Bounded: true}}},
		{"ripe", Schema{Kind: Bool}},
		{"weight", Schema{Kind: Number, Min: 0, Max: 5, Bounded: true}},
		{"kind", Schema{Kind: String, Enum: []string{"apple", "pear"}}},
	}}
}

const good = `{"name":"梨","counts":[1,9],"ripe":true,"weight":0.5,"kind":"pear"}`

func TestRead(t *testing.T) {
	s := shape()
	swap := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	for text, want := range map[string]string{
		swap(`0.5`, `0.7`) + " no: " + good:     "",
		swap(`}`, `,"\u212aind":"plum"}`):       "", // the sign of Kelvin, which package json takes for a k
		good:                                    "",
		"```json\n" + good + "\n```":            "",
		"Sure {as asked}: " + good + " {ok?}":   "",
		"<think>{\"name\":1}</think>\n" + good:  "",
		`A draft {"name":1}, then ` + good:      "",
		"A lone { and \" before " + good:        "",
		swap(`"梨"`, `"} {\" ]"`):                "",
		swap(`"kind"`, `"note":"more","kind"`):  "",
		"":                                      "the answer is empty",
		" \n":                                   "the answer is empty",
		"I cannot.":                             "no JSON object",
		`["a"]`:                                 "no JSON object",
		good[:len(good)-3]:                      "cut off",
		swap(`"梨"`, `梨`):                        "not valid JSON",
		swap(`"梨"`, `null`):                     "$.name: want a string, found null",
		swap(`"梨"`, `7`):                        "$.name: want a string, found a number",
		swap(`"梨"`, `" "`):                      "$.name: the string is empty",
		swap(`"梨"`, `"12345678901"`):            "11 characters, want 10 at most",
		swap(`"name"`, `"nom"`):                 `the key "name" is missing`,
		swap(`[1,9]`, `{}`):                     "$.counts: want an array, found an object",
		swap(`[1,9]`, `[1,2,3,4]`):              "4 items, want 3 at most",
		swap(`[1,9]`, `[1,"2"]`):                "$.counts[1]: want an integer, found a string",
		swap(`[1,9]`, `[1.5]`):                  "1.5 is not a whole number",
		swap(`[1,9]`, `[99999999999999999999]`): "is not a whole number",
		swap(`[1,9]`, `[0]`):                    "0 is out of range, want 1 to 9",
		swap(`0.5`, `1e999`):                    "out of range",
		swap(`0.5`, `-1`):                       "-1 is out of range",
		swap(`"pear"`, `"plum"`):                "none of apple, pear",
		swap(`true`, `"yes"`):                   "$.ripe: want a boolean",
		strings.Repeat("{", 100000):             "cut off",
		strings.Repeat(`{"a":[`, 100000):        "cut off",
		"x " + strings.Repeat("{} ", 100000):    "is missing",
	} {
		var got fruit
		err := Read(text, &s, &got)
		var f *FaultError
		switch {
		case want == "" && (err != nil || got.Weight != 0.5 || got.Kind != "pear" || len(got.Counts) != 2):
			t.Errorf("%.100q: %+v, %v", text, got, err)
		case want != "" && (!errors.As(err, &f) || !strings.Contains(err.Error(), want)):
			t.Errorf("%.100q: %v, want %q", text, err, want)
		}
	}
}

func TestSchemaJSON(t *testing.T) {
	s := shape()
	var got map[string]any
	if err := json.Unmarshal(s.JSON(), &got); err != nil {
		t.Fatal(err)
	}
	if got["type"] != "object" || got["additionalProperties"] != false || len(got["required"].([]any)) != 5 { //nolint:forcetypeassert // else the test fails
		t.Errorf("%s", s.JSON())
	}
	if !strings.Contains(string(s.JSON()), `"enum":["apple","pear"]`) {
		t.Errorf("%s", s.JSON())
	}
}

func question() Question[fruit] {
	return Question[fruit]{
		Request: connector.LLMRequest{Prompt: "fruit/1", System: "s", User: "a pear", MaxTokens: 50}, Name: "fruit", Schema: shape(),
		Check: func(f *fruit) error {
			if f.Name == "wrong" {
				return &FaultError{"$.name", "it is wrong"}
			}
			return nil
		},
	}
}

func TestAsk(t *testing.T) {
	bad := strings.Replace(good, "梨", "wrong", 1)
	for name, c := range map[string]struct {
		says  []string
		asked int
		fault string
	}{
		"at once":        {[]string{good}, 1, ""},
		"mended":         {[]string{"no", good}, 2, ""},
		"checked":        {[]string{bad, good}, 2, ""},
		"given up":       {[]string{"no", bad}, 2, "$.name: it is wrong"},
		"empty for ever": {[]string{""}, 2, "empty"},
	} {
		d := llmtest.Texts(c.says...)
		got, err := Ask(t.Context(), d, question())
		asked := d.Asked()
		if len(asked) != c.asked {
			t.Errorf("%s: asked %d times, want %d", name, len(asked), c.asked)
		}
		if c.fault == "" {
			if err != nil || got.Name != "梨" {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		} else {
			var u *UnusableError
			if !errors.As(err, &u) || len(u.Faults) != 2 || u.Prompt != "fruit/1" || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if len(asked) == 2 && (!strings.HasPrefix(asked[1].User, asked[0].User) || !strings.Contains(asked[1].User, "What is wrong with it: $")) {
			t.Errorf("%s: the fault is not named: %s", name, asked[1].User)
		}
	}
}

// TestAskEnds: what no repair can mend is not asked again; what says nothing about the text is no UnusableError.
func TestAskEnds(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		answer   connector.LLMAnswer
		err      error
		most     int
		asked    int
		unusable bool
		is       error
	}{
		"refused":            {answer: connector.LLMAnswer{Finish: connector.FinishRefused, Text: good}, asked: 1, unusable: true, is: ErrRefused},
		"cut off":            {answer: connector.LLMAnswer{Finish: connector.FinishLength, Text: good}, asked: 2, unusable: true, is: ErrCutOff},
		"cut off at the end": {answer: connector.LLMAnswer{Finish: connector.FinishLength}, most: 50, asked: 1, unusable: true, is: ErrCutOff},
		"too long":           {err: connector.Errorf(connector.ClassInvalid, "%w", boom), asked: 1, unusable: true, is: boom},
		"budget":             {err: boom, asked: 1, is: boom},
		"away":               {err: connector.Errorf(connector.ClassTransient, "%w", boom), asked: 1, is: boom},
		"cancelled":          {err: context.Canceled, asked: 1, is: context.Canceled},
	} {
		d := &llmtest.Double{Is: connector.LLMModel{Provider: "p", Name: "n", Version: "1", MaxOutputTokens: c.most}, Says: func(context.Context, connector.LLMRequest) (connector.LLMAnswer, error) {
			return c.answer, c.err
		}}
		_, err := Ask(t.Context(), d, question())
		var u *UnusableError
		if errors.As(err, &u) != c.unusable || !errors.Is(err, c.is) || len(d.Asked()) != c.asked {
			t.Errorf("%s: %v after %d requests", name, err, len(d.Asked()))
		}
		if n := len(d.Asked()); n == 2 && d.Asked()[1].MaxTokens != 100 {
			t.Errorf("%s: asked again for %d tokens", name, d.Asked()[1].MaxTokens)
		}
	}
	d := llmtest.Texts(good)
	q := question()
	q.Request.User = " \n\t"
	if _, err := Ask(t.Context(), d, q); !errors.Is(err, ErrBlank) || len(d.Asked()) != 0 {
		t.Errorf("blank: %v after %d requests", err, len(d.Asked()))
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{good, "{", "```json\n" + good, `{"a":"\`, "{]}", `{"name":"x"} {"name":`, "</think>{}", "{\"\\\"}"} {
		f.Add(seed)
	}
	s := shape()
	f.Fuzz(func(t *testing.T, text string) {
		var got fruit
		err := Read(text, &s, &got)
		var wrong *FaultError
		if err != nil && !errors.As(err, &wrong) {
			t.Fatalf("an error without a fault: %v", err)
		}
		if err == nil {
			raw, _ := json.Marshal(got)
			if v, err := decode(raw); err != nil || s.Check(v) != nil {
				t.Fatalf("%q was taken for %s", text, raw)
			}
		}
		if err := Read(text+"\n"+good, &s, &got); err != nil && !strings.Contains(text, "{") {
			t.Fatalf("an answer after %q was not found: %v", text, err)
		}
	})
}
