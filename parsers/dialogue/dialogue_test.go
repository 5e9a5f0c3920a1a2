package dialogue

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

// TestGolden compares the elements of testdata/*.txtar; KBSYNC_UPDATE=1 writes them anew.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, path := range files {
		ar, err := txtar.ParseFile(path)
		if err != nil || len(ar.Files)%2 != 0 && os.Getenv("KBSYNC_UPDATE") == "" {
			t.Fatal(path, err)
		}
		var updated []txtar.File
		for _, file := range ar.Files {
			if file.Name == "elements" {
				continue
			}
			got := show(t, open(t, "auto"), file.Name, string(file.Data))
			updated = append(updated, file, txtar.File{Name: "elements", Data: []byte(got)})
		}
		want := string(txtar.Format(ar))
		ar.Files = updated
		if got := txtar.Format(ar); os.Getenv("KBSYNC_UPDATE") == "1" {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		} else if string(got) != want {
			t.Errorf("%s: run with KBSYNC_UPDATE=1 after a look at\n%s", path, got)
		}
	}
}

func TestSpeakerLines(t *testing.T) {
	g := newGrammar()
	for line, want := range map[string]string{
		"Ann: hi":                                "Ann||hi",
		"张三：你好":                                  "张三||你好",
		"张三:你好":                                  "张三||你好",
		"Dr. Ann Lee: hi":                        "Dr. Ann Lee||hi",
		"Bot:v2: hi":                             "Bot:v2||hi",
		"**Ann:** hi":                            "-",
		"[12:30] Ann: hi":                        "Ann|12:30|hi",
		"[2024-01-01 12:00:00] 张三：你好":            "张三|2024-01-01 12:00:00|你好",
		"2024-01-01T12:00:00Z Ann: hi":           "Ann|2024-01-01T12:00:00Z|hi",
		"Ann (12:30): hi":                        "Ann|12:30|hi",
		"Ann [00:01:02]: hi":                     "Ann|00:01:02|hi",
		"01/02/24, 9:15 PM - Ann: hi":            "Ann|01/02/24, 9:15 PM|hi",
		"[12:30] <ann> hi":                       "ann|12:30|hi",
		"2024-01-01 12:00:00 张三":                 "张三|2024-01-01 12:00:00|",
		"张三 2024/1/1 12:00:00":                   "张三|2024/1/1 12:00:00|",
		"2024-01-01 12:00:00 张三(wxid_1)":         "张三(wxid_1)|2024-01-01 12:00:00|",
		"2024年1月1日 下午 3:00 李四":                   "李四|2024年1月1日 下午 3:00|",
		"http://example.com/a":                   "-",
		"see http://example.com: there":          "-",
		"https: is a scheme":                     "-",
		"12:30 is the time":                      "-",
		"Note: this is none":                     "-",
		"注意：不是人":                                 "-",
		"He said, quietly: no":                   "-",
		"This is a sentence of many words: none": "-",
		"我今天早上对他说了这句话，你听：好":                      "-",
		": nobody":                               "-",
		"1: one":                                 "-",
		"  std::vector<int> x: y":                "-",
		"":                                       "-",
		strings.Repeat("很", 200) + "：x":          "-",
		"2024-01-01 12:00:00 this line says what happened, not who": "-",
	} {
		h, ok := g.parse(line)
		got := "-"
		if ok {
			got = h.speaker + "|" + h.time + "|" + line[h.n:]
		}
		if got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}

func TestDetectConversations(t *testing.T) {
	for _, text := range []string{
		"Ann: hi\nBob: hello\nAnn: how are you?\nBob: fine\n",
		"张三：在吗？\n李四：在。\n\n张三：走吧。\n李四：好。\n",
		"2024-01-01 12:00:00 张三\n在吗？\n\n2024-01-01 12:00:05 李四\n在。\n\n2024-01-01 12:01:00 张三\n走吧。\n2024-01-01 12:01:09 李四\n好。\n",
		"[09:00] <ann> hi\n[09:01] <bob> hi\n[09:02] <ann> so?\n[09:03] <bob> yes\n",
	} {
		if e, ok := Detect([]byte(text)); !ok {
			t.Errorf("%q: %+v", text, e)
		}
	}
	for _, text := range []string{"", "host: a\nport: 1\nuser: b\npass: c\nname: d\nmode: e\n", "Note: a\nNote: b\nNote: c\nTip: d\nTip: e\n", "\xff\xfe"} {
		if e, ok := Detect([]byte(text)); ok {
			t.Errorf("%q: %+v", text, e)
		}
	}
}

// repeated gives a text n times over.
type repeated struct {
	text string
	n    int
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.text[r.at:])
	if r.at += n; r.at == len(r.text) {
		r.at, r.n = 0, r.n-1
	}
	return n, nil
}

// Long logs, and turns of 18 MB without a line end, run in a few MB.
func TestStreams(t *testing.T) {
	for name, in := range map[string]*repeated{
		"x.txt":     {text: strings.Repeat("Ann: is that so?\nBob: it is, as I said.\n", 1000), n: 120},
		"one.txt":   {text: strings.Repeat("words without end ", 1000), n: 1000},
		"x.srt":     {text: strings.Repeat("1\n00:00:01,000 --> 00:00:02,000\nAnn: words\n\n", 1000), n: 300},
		"one.srt":   {text: strings.Repeat("words without end ", 1000), n: 1000},
		"x.jsonl":   {text: strings.Repeat("{\"role\": \"user\", \"content\": \"is that so?\"}\n", 1000), n: 200},
		"one.jsonl": {text: strings.Repeat("{\"role\": \"user\", ", 1000), n: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			var most uint64
			n := 0
			for el, err := range open(t, "auto").Parse(context.Background(), &connector.Document{Path: name}, in) {
				if err != nil {
					t.Fatal(err)
				}
				if len(el.Text) > maxPiece {
					t.Fatalf("an element of %d bytes", len(el.Text))
				}
				if n++; n%50_000 == 1 || n%200 == 1 && len(el.Text) > 1000 {
					runtime.GC()
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					most = max(most, m.HeapAlloc)
				}
			}
			if most > 12<<20 {
				t.Errorf("%d MB held", most>>20)
			}
		})
	}
}

// A tree of messages whose entries stand in any order is read by their times.
func TestOrder(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"title": "Order of things", "mapping": {`)
	for i, n := range []int{2, 0, 3, 1} {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `"id%d": {"message": {"author": {"role": "user"}, "create_time": %d.5, "content": {"content_type": "text", "parts": ["part %d"]}}, "parent": null, "children": []}`, n, 1700000000+n, n)
	}
	b.WriteString("}}")
	got := show(t, open(t, "auto"), "x.json", b.String())
	last := -1
	for n := range 4 {
		k := strings.Index(got, fmt.Sprintf("user: part %d", n))
		if k <= last {
			t.Fatalf("part %d is out of order:\n%s", n, got)
		}
		last = k
	}
}

func FuzzDialogue(f *testing.F) {
	for _, seed := range []string{
		"Ann: hi\n张三：你好\n[12:30] <b> c\n2024-01-01 12:00:00 张三\nx\n", "WEBVTT\n\nNOTE a\n\nx\n00:01.000 --> 00:02.000\n<v A>b</v> <v.c D>e &amp; &#0; <i>f\n\n",
		"1\n00:00:01,000 --> 00:00:02,000\na\n2\n00:00:03,000 --> 00:00:04,000\n{\\an8}b <3\n", `[{"role": "a", "content": [{"text": "b c"}]}, {'x': None, "mapping": {}}] y`,
		"{\"role\":\"user\",\"content\":\"\\ud83d\\ude00 \\x41\"}\nno\n[1]\n", `{"from": {"user": {"displayName": "A"}}, "body": {"contentType": "html", "content": "<p>a<br>b</p>"}, "createdDateTime": "2024-01-01T00:00:00Z"}`,
	} {
		for format := range 6 {
			f.Add([]byte(seed), uint8(format))
		}
	}
	formats := []string{formatAuto, formatLines, formatVTT, formatSRT, formatJSONL, formatJSON}
	f.Fuzz(func(t *testing.T, data []byte, format uint8) {
		if err := parsertest.CheckSound(open(t, formats[int(format)%len(formats)]), "x", string(data)); err != nil {
			t.Error(err)
		}
		Detect(data)
	})
}
