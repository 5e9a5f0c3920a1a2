package pdf

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

// opener opens parsers of one engine.
func opener(tb testing.TB, change ...func(*Config)) func() connector.Parser {
	tb.Helper()
	plugin := Plugin()
	return func() connector.Parser {
		cfg := plugin.Config()
		for _, c := range change {
			c(cfg.(*Config))
		}
		p, err := plugin.Open(context.Background(), cfg, connector.Env{})
		if err != nil {
			tb.Fatal(err)
		}
		return p
	}
}

func collect(tb testing.TB, p connector.Parser, data []byte) []connector.Element {
	tb.Helper()
	els, err := parsertest.Collect(context.Background(), p, "document.pdf", strings.NewReader(string(data)))
	if err == nil {
		err = parsertest.CheckElements(els)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return els
}

// show writes elements one a line.
func show(els []connector.Element) string {
	var b strings.Builder
	for _, el := range els {
		what := string(el.Kind)
		if el.Level > 0 {
			what += fmt.Sprint(el.Level)
		}
		if el.Kind == connector.KindDropped {
			what = string(el.Reason)
		}
		fmt.Fprintf(&b, "%d %s: %s\n", el.Page, what, strings.Join(strings.Fields(el.Text), " "))
	}
	return b.String()
}

func english() []byte {
	b := newBuilder()
	b.info = "/Title (About bridges) /Author (Ann Smith) /CreationDate (D:20240102030405+08'00')"
	b.catalog = "/Lang (en-GB)"
	for i := range 3 {
		c := put("F1", 8, 60, 770, "Journal of bridges") + put("F1", 8, 295, 30, fmt.Sprint(i+1))
		if i == 0 {
			c += put("F2", 20, 60, 700, "About bridges")
		}
		c += put("F2", 14, 60, 660, fmt.Sprintf("%d Part", i+1))
		for k, line := range []string{"A bridge is a structure that spans an obstacle without blocking the way", "underneath. It is built for passing over the obstacle, which is usually", fmt.Sprintf("hard to cross (example %d).", i+1)} {
			c += put("F1", 10, 60, 630-14*float64(k), line)
		}
		b.page(c)
	}
	return b.bytes()
}

func chinese() []byte {
	b := newBuilder()
	b.page(han(20, 60, 700, "关于桥梁的报告") + han(10, 80, 650, "桥梁是跨越障碍物的结构，下面的道路不受阻挡。人们用它通过河流、山谷或者其他的道路，它们一般很难") +
		han(10, 60, 634, "跨越。最早的桥是倒下的树。"))
	b.page(han(10, 80, 700, "第二页的文字在这里。"))
	return b.bytes()
}

func TestConformance(t *testing.T) {
	parsertest.Run(t, opener(t), []parsertest.Case{
		{Name: "english", Path: "bridges.pdf", Input: string(english()), Sentinels: []string{"About bridges", "Journal of bridges", "(example 3)", "without blocking the way underneath"}},
		{Name: "chinese", Path: "桥.pdf", Input: string(chinese()), Sentinels: []string{"关于桥梁的报告", "一般很难跨越", "第二页"}},
	})
}

func TestGolden(t *testing.T) {
	els := collect(t, opener(t)(), english())
	const part = "A bridge is a structure that spans an obstacle without blocking the way underneath. It is built for passing over the obstacle, which is usually hard to cross (example %d)."
	want := "1 page furniture: Journal of bridges\n1 page furniture: 1\n1 heading1: About bridges\n"
	for i := 1; i <= 3; i++ {
		if i > 1 {
			want += fmt.Sprintf("%[1]d page furniture: Journal of bridges\n%[1]d page furniture: %[1]d\n", i)
		}
		want += fmt.Sprintf("%d heading2: %d Part\n%d text: "+part+"\n", i, i, i, i)
	}
	if got := show(els); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if p := els[2].Properties; p["title"] != "About bridges" || p["author"] != "Ann Smith" || p["created"] != "2024-01-02T03:04:05+08:00" || p["language"] != "en-GB" {
		t.Errorf("properties %v", p)
	}
	if b := els[2].Box; b == nil || b.X0 < 59 || b.X0 > 65 || b.Y0 < 80 || b.Y1 > 105 {
		t.Errorf("the title stands at %v", b)
	}
	want = "1 heading1: 关于桥梁的报告\n1 text: 桥梁是跨越障碍物的结构，下面的道路不受阻挡。人们用它通过河流、山谷或者其他的道路，它们一般很难跨越。最早的桥是倒下的树。\n2 text: 第二页的文字在这里。\n"
	if got := show(collect(t, opener(t)(), chinese())); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestErrors: what cannot be read says what it is and what to do.
func TestErrors(t *testing.T) {
	open := opener(t)
	whole := english()
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"text":      {[]byte("Some text, not a PDF file."), "no PDF file"},
		"header":    {[]byte("%PDF-1.7\n"), "damaged or cut short"},
		"truncated": {whole[:200], "damaged or cut short"},
	} {
		_, err := parsertest.Collect(context.Background(), open(), "a.pdf", strings.NewReader(string(c.data)))
		if err == nil || !strings.Contains(err.Error(), c.want) || connector.ClassOf(err) != connector.ClassInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	small := opener(t, func(c *Config) { c.MaxTreeSize = 100 })
	if _, err := parsertest.Collect(context.Background(), small(), "a.pdf", strings.NewReader(string(whole))); err == nil || !strings.Contains(err.Error(), "max_tree_size") {
		t.Error(err)
	}
}

// TestEncrypted: a real encrypted file is read with its password, and says what it needs without.
func TestEncrypted(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(shareddata.Dir(t), "fixtures", "unstructured", "pdf", "password.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	for password, want := range map[connector.Secret]string{"": "the file is encrypted: give its password", "wrong": "the password does not open it", "password": ""} {
		els, err := parsertest.Collect(context.Background(), opener(t, func(c *Config) { c.Password = password })(), "a.pdf", strings.NewReader(string(data)))
		switch {
		case want == "" && (err != nil || len(els) == 0):
			t.Errorf("with the password: %d elements, %v", len(els), err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || connector.ClassOf(err) != connector.ClassInvalid):
			t.Errorf("%s: %v", want, err)
		}
	}
}
