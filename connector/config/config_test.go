package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden files again")

// environment is what the tests' variables hold.
func environment(name string) (string, bool) {
	v, ok := map[string]string{
		"PORT": "6334", "RATIO": "0.5", "ON": "true", "EMPTY": "", "SIZE": "64MiB", "WAIT": "90s", "MODE": "exact", "WORD": "hello",
		"PW": "pa$$wo${RD}d", "API_KEY": "sk-TOPSECRET", "TRICKY": "file:/etc/hostname", "BAD": "a\xffb",
	}[name]
	return v, ok
}

var opts = Options{Getenv: environment}

func parse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse("kbsync.yaml", []byte(text), testRegistry(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const sources = "sources:\n- fs: {root: ./docs}\n"

func TestThreeLines(t *testing.T) {
	f, err := Parse("handbook/kbsync.yaml", []byte("sources:\n  - fs:\n      root: ./docs\n"), testRegistry(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	if f.Name != "handbook" || f.Version != 1 || f.Embedder != nil || f.Sink != nil || f.Sources[0].Name != "fs" || !filepath.IsAbs(f.Dir) {
		t.Errorf("defaults: %+v", f)
	}
	if c := f.Sources[0].Config.(*fsConfig); c.Root != "./docs" || len(c.Include) != 1 {
		t.Errorf("fs: %+v", c)
	}
	want := Sync{MaxDelete: Amount{50, true}, OnError: "continue", Retries: 5, DocumentTimeout: 5 * time.Minute, Memory: 512 << 20, Debounce: time.Second, Poll: 30 * time.Second}
	if f.Sync != want {
		t.Errorf("sync: %+v", f.Sync)
	}
}

func TestNameOfFolder(t *testing.T) {
	for dir, want := range map[string]string{"/a/handbook": "handbook", "/a/手册": "手册", "/": "kbsync", "/a/.config": "config", "/a/x@y": "x-y", "/a/...": "kbsync"} {
		if got := nameOf(filepath.FromSlash(dir)); got != want {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}

// TestGolden compares the errors that each configuration gives with what is recorded; comments in the file say what it is about.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Parse("kbsync.yaml", a.Files[0].Data, testRegistry(t), opts)
			got := "no error\n"
			if err != nil {
				got = err.Error() + "\n"
			}
			if *update {
				a.Files = append(a.Files[:1], txtar.File{Name: "errors", Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(a.Files[1].Data); got != want {
				t.Errorf("got:\n%swant:\n%s", got, want)
			}
		})
	}
}

func TestValues(t *testing.T) {
	f := parse(t, sources+`
sink:
  db:
    address: "localhost:${PORT}"
    password: "${PW}"
    port: "${PORT}"
    ratio: ${RATIO}
    mode: "${MODE}"
    labels: {a: "$x", b: "$${PORT}", c: "${NONE:-d}", d: "${EMPTY:-e}", e: "100$", f: "${NONE:-${WORD} there}", g: "${NONE:-}", h: 2024-01-02}
    limits: {items: 3}
    tenant: t1
sync: {document_timeout: "${WAIT}", memory: "${SIZE}", max_delete: 20, concurrency: 3}
rules:
- {match: {path: "**/*.md", source: fs, min_size: 1kB}, strategy: {markdown: {max_tokens: 100}}, metadata: {n: 1, f: 1.5, b: true, l: [a, null], s: "${PORT}"}}
- strategy: {code: }
`)
	db := f.Sink.Config.(*dbConfig)
	want := dbConfig{
		Address: "localhost:6334", Password: "pa$$wo${RD}d", Port: 6334, Ratio: 0.5, Mode: "exact",
		Labels: map[string]string{"a": "$x", "b": "${PORT}", "c": "d", "d": "e", "e": "100$", "f": "hello there", "g": "", "h": "2024-01-02"},
		Limits: limits{Items: 3}, inner: inner{Tenant: "t1"},
	}
	if !reflect.DeepEqual(*db, want) {
		t.Errorf("%#v\nwant %#v", *db, want)
	}
	if f.Sync.DocumentTimeout != 90*time.Second || f.Sync.Memory != 64<<20 || f.Sync.MaxDelete != (Amount{Value: 20}) || f.Sync.Concurrency != 3 {
		t.Errorf("sync: %+v", f.Sync)
	}
	r := f.Rules[0]
	if r.Match.MinSize != 1000 || r.Name != "rules[0] (kbsync.yaml:16)" || r.Strategy.Config.(*cutConfig).Max != 100 {
		t.Errorf("rule: %+v", r)
	}
	if meta := map[string]any{"n": int64(1), "f": 1.5, "b": true, "l": []any{"a", nil}, "s": "6334"}; !reflect.DeepEqual(r.Metadata, meta) {
		t.Errorf("metadata: %#v", r.Metadata)
	}
	if f.Rules[1].Strategy.Config.(*cutConfig).Max != 800 {
		t.Errorf("defaults of a strategy: %+v", f.Rules[1].Strategy)
	}
}

// TestDollarSurvives: a password with dollars is what is in the file, in every quoting.
func TestDollarSurvives(t *testing.T) {
	for _, quoted := range []string{`pa$word$`, `"pa$word$"`, `'pa$word$'`, `"pa$$word$"`, `"${UNSET:-pa$$word$}"`} {
		f := parse(t, sources+"sink: {db: {password: "+quoted+"}}\n")
		if got := f.Sink.Config.(*dbConfig).Password.Reveal(); got != "pa$word$" {
			t.Errorf("%s: %q", quoted, got)
		}
	}
}

func TestSecretReferences(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"pw": "from file\n", "crlf": "a b\r\n", "two": "x\n\n", "none": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for ref, want := range map[string]string{
		"file:pw": "from file", "file:" + dir + "/crlf": "a b", "file:two": "x\n", "file:${UNSET:-none}": "x",
		"env:API_KEY": "sk-TOPSECRET", "env:PW": "pa$$wo${RD}d", "${TRICKY}": "file:/etc/hostname",
	} {
		f, err := Parse(filepath.Join(dir, "kbsync.yaml"), []byte(sources+"sink: {db: {password: '"+ref+"'}}\n"), testRegistry(t), opts)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Sink.Config.(*dbConfig).Password.Reveal(); got != want {
			t.Errorf("%s: %q, want %q", ref, got, want)
		}
	}
}

func TestMerge(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	base := write("base.yaml", sources+"name: base\nsink: {db: {address: a, port: 2}}\nsync: {retries: 1, concurrency: 1}\n")
	over := write("over.yaml", "name: over\nsink: {db: {port: 3}}\nsync: {retries: 2}\nsources:\n- {name: x, fs: {root: .}}\n")
	swap := write("swap.yaml", "sink: {sqlite: {}}\nsync:\n")
	f, err := Load([]string{base, over}, testRegistry(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	db := f.Sink.Config.(*dbConfig)
	if f.Name != "over" || db.Address != "a" || db.Port != 3 || f.Sync.Retries != 2 || f.Sync.Concurrency != 1 || len(f.Sources) != 1 || f.Sources[0].Name != "x" {
		t.Errorf("%+v %+v", f, db)
	}
	f, err = Load([]string{base, swap}, testRegistry(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	if f.Sink.Kind != "sqlite" || f.Sync.Retries != 5 {
		t.Errorf("another kind of sink, null for a map: %+v", f)
	}
	bad := write("bad.yaml", "sync:\n  retires: 1\n")
	_, err = Load([]string{base, bad}, testRegistry(t), opts)
	if want := bad + `:2:3: sync.retires: unknown key; did you mean "retries"?`; err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	_, err = Load([]string{base, filepath.Join(dir, "missing.yaml")}, testRegistry(t), opts)
	if !errors.As(err, new(Errors)) || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestAliases(t *testing.T) {
	f := parse(t, `
x-base: &base {max_tokens: 10, overlap: 5}
sources: [{fs: {root: a}}]
rules:
- strategy: {markdown: *base}
- strategy: {code: {<<: *base, overlap: 2}}
- strategy: {code: {<<: [{overlap: 1}, *base]}}
`)
	for i, want := range []cutConfig{{10, 5}, {10, 2}, {10, 1}} {
		if got := *f.Rules[i].Strategy.Config.(*cutConfig); got != want {
			t.Errorf("rule %d: %+v, want %+v", i, got, want)
		}
	}
}

// TestBombs: a small file cannot make a large configuration.
func TestBombs(t *testing.T) {
	bomb := "x-a: &a [1,1,1,1,1,1,1,1,1]\n"
	for c := 'b'; c < 'k'; c++ {
		item := "*" + string(c-1)
		bomb += "x-" + string(c) + ": &" + string(c) + " [" + strings.Repeat(item+",", 8) + item + "]\n"
	}
	for name, text := range map[string]string{
		"grows beyond":    bomb + sources,
		"contains itself": "x-a: &a {b: *a}\n" + sources,
		"levels deep":     "x-a: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n",
		"second YAML":     sources + "---\n" + sources,
		"not UTF-8":       sources + "name: \"\xff\"\n",
		"over 4 MiB":      sources + strings.Repeat("# long\n", 700_000),
	} {
		_, err := Parse("kbsync.yaml", []byte(text), testRegistry(t), opts)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

// TestShow: what is shown is a configuration that means the same, without its secrets.
func TestShow(t *testing.T) {
	f := parse(t, sources+`
name: show
sink: {db: {address: "postgres://u:hunter2@host/${API_KEY}", password: "${PW}", labels: {price: "5$$ ${WORD}", key: "${API_KEY}"}}}
rules: [{match: {language: [go, python]}, strategy: {code: {max_tokens: 7}}, metadata: {team: docs, n: 5}}]
front_matter: [title]
`)
	out, err := f.Show()
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter2", "TOPSECRET", "pa$", "wo$"} {
		if strings.Contains(string(out), secret) {
			t.Errorf("%q is shown:\n%s", secret, out)
		}
	}
	again := parse(t, string(out))
	second, err := again.Show()
	if err != nil || string(second) != string(out) {
		t.Errorf("shown again, error %v:\n%s\nfirst:\n%s", err, second, out)
	}
	again.Files, again.vault, f.vault = f.Files, nil, nil
	for _, want := range []string{"memory: 512MiB", "document_timeout: 5m", "max_delete: 50%", "price: 5$$ hello", "'***'"} {
		if !strings.Contains(string(out), want) && !strings.Contains(string(out), strings.ReplaceAll(want, "'", `"`)) {
			t.Errorf("%q is not shown:\n%s", want, out)
		}
	}
}

func TestMatches(t *testing.T) {
	facts := Facts{
		Path: "guide/intro.md", MediaType: "text/markdown; charset=utf-8", Language: "go", Source: "docs", Size: 500,
		FrontMatter: map[string]any{"draft": false, "tags": []any{"a", "b"}, "n": 3, "date": time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC)},
	}
	for text, want := range map[string]bool{
		"{}":                                      true,
		"{path: '**/*.md'}":                       true,
		"{path: '*.md'}":                          false,
		"{path: ['*.txt', 'guide/*.{md,txt}']}":   true,
		"{language: [Go, python]}":                true,
		"{language: rust}":                        false,
		"{media_type: text/markdown}":             true,
		"{media_type: 'text/*'}":                  true,
		"{media_type: image/png}":                 false,
		"{source: docs}":                          true,
		"{source: docs, path: '*.md'}":            false,
		"{min_size: 500, max_size: 500}":          true,
		"{min_size: 501}":                         false,
		"{max_size: 499}":                         false,
		"{front_matter: {draft: false}}":          true,
		"{front_matter: {draft: true}}":           false,
		"{front_matter: {draft: 'false'}}":        false,
		"{front_matter: {tags: b}}":               true,
		"{front_matter: {tags: [c, b]}}":          true,
		"{front_matter: {tags: c}}":               false,
		"{front_matter: {n: 3.0}}":                true,
		"{front_matter: {date: 2024-01-02}}":      true,
		"{front_matter: {missing: 1}}":            false,
		"{front_matter: {draft: false, tags: c}}": false,
	} {
		f := parse(t, "sources: [{name: docs, fs: {root: .}}]\nrules: [{match: "+text+", metadata: {a: 1}}]\n")
		if got := f.Rules[0].Match.Matches(facts); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "512": 512, "10kB": 10_000, "64MiB": 64 << 20, "1.5 GiB": 3 << 29, "2Ki": 2048, "7B": 7, "-1": -1, "1X": -1, "99999999TiB": -1, "": -1} {
		got, err := ParseSize(text)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
		if back, err := ParseSize(FormatSize(got)); got >= 0 && (err != nil || back != got) {
			t.Errorf("%d is written %s, which reads %d", got, FormatSize(got), back)
		}
	}
}

func TestExceeded(t *testing.T) {
	half, ten, none := Amount{50, true}, Amount{10, false}, Amount{0, false}
	for _, c := range []struct {
		amount      Amount
		lost, total int
		want        bool
	}{
		{half, 10, 10, false}, {half, 11, 21, true}, {half, 11, 22, false}, {half, 600, 1000, true},
		{ten, 10, 1000, false}, {ten, 11, 1000, true}, {none, 1, 10, true}, {none, 0, 10, false},
	} {
		if got := c.amount.Exceeded(c.lost, c.total); got != c.want {
			t.Errorf("%s of %d, %d lost: %v", c.amount, c.total, c.lost, got)
		}
	}
}

// FuzzParse: no panic, every error has its position, no secret in any error nor in what is shown.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		sources, "", "a: *a", sources + "sink: {db: {password: '${API_KEY}', port: '${API_KEY}', mode: '${API_KEY}', labels: {'${API_KEY}': x}}}",
		sources + "sink: {db: {address: '${API_KEY}', port: 1}}\nsync: {max_delete: '${API_KEY}', memory: '${API_KEY}', document_timeout: '${API_KEY}'}",
		sources + "rules: [{match: {path: '[${API_KEY}', source: '${API_KEY}'}, strategy: {code: {overlap: '${API_KEY}'}}}]\nname: '/${API_KEY}'",
		"<<: [{a: 1}]\nversion: !!binary aGk=\n? [x]\n: y", "sources: [{fs: {root: env:API_KEY}, git: }, null, {name: a}]\nsources: 1",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 10_000 {
			return
		}
		file, err := Parse("kbsync.yaml", data, testRegistry(t), opts)
		if err == nil {
			out, err := file.Show()
			if err != nil || strings.Contains(string(out), "TOPSECRET") && !strings.Contains(string(data), "TOPSECRET") {
				t.Errorf("shown, error %v:\n%s", err, out)
			}
			return
		}
		var errs Errors
		if !errors.As(err, &errs) || len(errs) == 0 {
			t.Fatalf("%T: %v", err, err)
		}
		for _, e := range errs {
			if e.Pos.File != "kbsync.yaml" || e.Pos.Line < 1 || e.Pos.Column < 1 {
				t.Errorf("no position: %v", e)
			}
		}
		if strings.Contains(err.Error(), "TOPSECRET") && !strings.Contains(string(data), "TOPSECRET") {
			t.Errorf("a secret in an error: %v", err)
		}
	})
}
