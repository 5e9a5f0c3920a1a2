package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/parsers/html"
	"github.com/kbsync/kbsync/parsers/markdown"
	"github.com/kbsync/kbsync/parsers/text"
)

// env opens the parsers that read answers.
func env(t *testing.T) connector.Env {
	t.Helper()
	plugins := map[string]connector.ParserPlugin{"text": text.Plugin(), "html": html.Plugin(nil), "markdown": markdown.Plugin(nil)}
	e := connector.Env{Dir: t.TempDir()}
	e.Parser = func(ctx context.Context, kind string) (connector.Parser, error) {
		p, ok := plugins[kind]
		if !ok {
			return nil, fmt.Errorf("no parser %q", kind)
		}
		return p.Open(ctx, p.Config(), connector.Env{})
	}
	return e
}

// service opens a converter against a handler; set changes its configuration.
func service(t *testing.T, plugin connector.ParserPlugin, h http.HandlerFunc, set func(*Service)) connector.Parser {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	cfg := plugin.Config()
	common := commonOf(t, cfg)
	common.URL = s.URL
	if set != nil {
		set(common)
	}
	p, err := plugin.Open(t.Context(), cfg, env(t))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func commonOf(t *testing.T, cfg any) *Service {
	t.Helper()
	switch c := cfg.(type) {
	case *TikaConfig:
		return &c.Service
	case *DoclingConfig:
		return &c.Service
	case *UnstructuredConfig:
		return &c.Service
	case *MineruConfig:
		return &c.Service
	case *KreuzbergConfig:
		return &c.Service
	}
	t.Fatalf("%T", cfg)
	return nil
}

// upload is the document of a request.
func uploaded(r *http.Request) string {
	if r.Method == http.MethodPut {
		b, _ := io.ReadAll(r.Body)
		return string(b)
	}
	f, _, err := r.FormFile("files")
	if err != nil {
		return ""
	}
	b, _ := io.ReadAll(f)
	return string(b)
}

const answerMD = `# Report 报告\n\nFirst words 你好.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n`

// TestAnswers reads what each service gives, and what it was asked.
func TestAnswers(t *testing.T) {
	cases := map[string]struct {
		plugin connector.ParserPlugin
		path   string
		auth   string
		answer string
		want   []string
	}{
		"tika":          {Tika(), "/tika", "Authorization", "<html><body><h1>Report 报告</h1><p>First words 你好.</p></body></html>", []string{"heading", "text"}},
		"docling-serve": {Docling(), "/v1/convert/file", "X-Api-Key", `{"document":{"md_content":"` + answerMD + `"},"status":"success","errors":[]}`, []string{"heading", "text", "table"}},
		"mineru":        {Mineru(), "/file_parse", "Authorization", `{"backend":"pipeline","version":"2","results":{"scan":{"md_content":"` + answerMD + `"}}}`, []string{"heading", "text", "table"}},
		"kreuzberg":     {Kreuzberg(), "/extract", "Authorization", `[{"content":"` + answerMD + `","mime_type":"application/pdf","metadata":{}}]`, []string{"heading", "text", "table"}},
		"unstructured": {Unstructured(), "/general/v0/general", "unstructured-api-key", `[{"type":"Title","text":"Report 报告","metadata":{"page_number":1}},
			{"type":"NarrativeText","text":"First words 你好.","metadata":{"page_number":2}},{"type":"ListItem","text":"1. one","metadata":{}},
			{"type":"ListItem","text":"2. two","metadata":{}},{"type":"Table","text":"a b 1 2","metadata":{"text_as_html":"<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"}},
			{"type":"Footer","text":"page 2","metadata":{"page_number":2}}]`, []string{"heading", "text", "list", "table", "dropped"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := service(t, c.plugin, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != c.path || !strings.HasSuffix(r.Header.Get(c.auth), "secret-key") || uploaded(r) != "the bytes" {
					http.Error(w, "asked wrongly", http.StatusTeapot)
					return
				}
				_, _ = fmt.Fprint(w, c.answer)
			}, func(s *Service) { s.APIKey = "secret-key" })
			els, err := parsertest.Collect(t.Context(), p, "扫描/scan 一.pdf", strings.NewReader("the bytes"))
			if err != nil {
				t.Fatal(err)
			}
			if err := parsertest.CheckElements(els); err != nil {
				t.Error(err)
			}
			var kinds []string
			for _, el := range els {
				kinds = append(kinds, string(el.Kind))
			}
			if fmt.Sprint(kinds) != fmt.Sprint(c.want) {
				t.Errorf("kinds %v, want %v:\n%s", kinds, c.want, parsertest.Text(els))
			}
			if s := parsertest.Text(els); !strings.Contains(s, "Report 报告") || !strings.Contains(s, "First words 你好.") {
				t.Errorf("%q", s)
			}
		})
	}
}

// TestConformance runs the suite of parsers over a service that gives back what it got.
func TestConformance(t *testing.T) {
	cases := []parsertest.Case{{Name: "mixed", Path: "a.pdf", Input: "Words 一 two.\n\nMore words 再来.\n", Sentinels: []string{"再来", "two"}}}
	t.Run("kreuzberg", func(t *testing.T) {
		parsertest.Run(t, func() connector.Parser {
			return service(t, Kreuzberg(), func(w http.ResponseWriter, r *http.Request) {
				_, _ = fmt.Fprintf(w, `[{"content":%s}]`, quoted(uploaded(r)))
			}, nil)
		}, cases)
	})
	t.Run("exec", func(t *testing.T) {
		parsertest.Run(t, func() connector.Parser { return command(t, ExecConfig{Command: []string{"cat", "{file}"}}) }, cases)
	})
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' {
			return '?'
		}
		return r
	}, s)) + `"`
}

// TestServiceFaults checks the class and the words of what can go wrong.
func TestServiceFaults(t *testing.T) {
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			uploaded(r)
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(code)
			_, _ = fmt.Fprint(w, body)
		}
	}
	cases := map[string]struct {
		h     http.HandlerFunc
		class connector.Class
		says  string
	}{
		"401":     {status(401, `{"detail":"no such key secret-key"}`), connector.ClassCredentials, "no such key ***; check api_key"},
		"403":     {status(403, ""), connector.ClassDenied, "api_key"},
		"404":     {status(404, "<html>"), connector.ClassNotFound, "check url"},
		"415":     {status(415, ""), connector.ClassInvalid, "cannot read this document"},
		"422":     {status(422, `{"detail":[{"msg":"bad file"}]}`), connector.ClassInvalid, "bad file"},
		"413":     {status(413, ""), connector.ClassTooLarge, "as large"},
		"429":     {status(429, "slow"), connector.ClassThrottled, "slow"},
		"500":     {status(500, "boom"), connector.ClassTransient, "boom"},
		"503":     {status(503, ""), connector.ClassThrottled, "503"},
		"302":     {status(302, ""), connector.ClassUnsupported, "redirects"},
		"wrong":   {status(200, `{"status":`), connector.ClassUnsupported, "not what this service gives"},
		"failure": {status(200, `{"document":{},"status":"failure","errors":[{"error_message":"damaged"}]}`), connector.ClassInvalid, "damaged"},
		"partial": {status(200, `{"document":{"md_content":"x"},"status":"partial_success","errors":["page 3"]}`), connector.ClassInvalid, "page 3"},
		"empty":   {status(200, `{"document":{"md_content":" \n"},"status":"success"}`), connector.ClassInvalid, "gave no text"},
		"huge":    {status(200, strings.Repeat("x", 5000)), connector.ClassInvalid, "max_output"},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = fmt.Fprint(w, "half")
		}, connector.ClassTransient, "broke off"},
		"never":     {func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body); <-r.Context().Done() }, connector.ClassTransient, "within timeout"},
		"oversized": {status(200, ""), connector.ClassInvalid, "max_document"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := service(t, Docling(), c.h, func(s *Service) {
				s.APIKey, s.MaxOutput, s.MaxDocument = "secret-key", 4000, 1000
				if name == "never" {
					s.Timeout = 50 * time.Millisecond
				}
			})
			input := "the bytes"
			if name == "oversized" {
				input = strings.Repeat("x", 1001)
			}
			_, err := parsertest.Collect(t.Context(), p, "a.pdf", strings.NewReader(input))
			if err == nil || connector.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "secret-key") {
				t.Errorf("class %s: %v", connector.ClassOf(err), err)
			}
			var ce *connector.Error
			if name == "429" && (!errors.As(err, &ce) || ce.RetryAfter != 7*time.Second) {
				t.Errorf("no RetryAfter: %v", err)
			}
		})
	}
	t.Run("down", func(t *testing.T) {
		cfg := Tika().Config().(*TikaConfig)
		cfg.URL = "http://127.0.0.1:1"
		p, err := Tika().Open(t.Context(), cfg, env(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parsertest.Collect(t.Context(), p, "a.pdf", strings.NewReader("x")); connector.ClassOf(err) != connector.ClassTransient {
			t.Error(err)
		}
	})
}

// command opens exec with defaults where cfg has none.
func command(t *testing.T, cfg ExecConfig) connector.Parser {
	t.Helper()
	p, err := openCommand(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func openCommand(t *testing.T, cfg ExecConfig) (connector.Parser, error) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Fatal("these tests need sh")
	}
	full := Command().Config().(*ExecConfig)
	full.Command, full.Output, full.VersionCommand, full.Env = cfg.Command, "text", cfg.VersionCommand, cfg.Env
	if cfg.Timeout > 0 {
		full.Timeout = cfg.Timeout
	}
	if cfg.MaxOutput > 0 {
		full.MaxOutput = cfg.MaxOutput
	}
	if cfg.MaxDocument > 0 {
		full.MaxDocument = cfg.MaxDocument
	}
	return Command().Open(t.Context(), full, env(t))
}

// TestExec checks the ways in and out of a command, and that nothing stays behind.
func TestExec(t *testing.T) {
	t.Setenv("KBSYNC_TEST_KEY", "not for commands")
	cases := map[string]struct {
		script string
		want   string
		says   string
	}{
		"stdin":    {`tr a-z A-Z`, "HELLO 你好", ""},
		"file":     {`cat {file}; echo {file} | sed 's/.*document//'`, "hello 你好.docx", ""},
		"out":      {`cat {file} > {out}; echo noise`, "hello 你好", ""},
		"outdir":   {`cat {file} > {outdir}/x.md`, "hello 你好", ""},
		"env":      {`echo "<$KBSYNC_TEST_KEY$GIVEN>"`, "<given>", ""},
		"exit":     {`echo "first line" >&2; echo "bad font 坏" >&2; exit 3`, "", "exit status 3): first line bad font 坏"},
		"silent":   {`true`, "", "gave no text"},
		"nothing":  {`: {out}`, "", "wrote no file"},
		"endless":  {`while :; do echo yyyyyyyyyyyyyyyyyyyy; done`, "", "max_output"},
		"stuck":    {`sleep 600 & sleep 600`, "", "longer than timeout"},
		"too many": {`echo a > {outdir}/1; echo b > {outdir}/2`, "", "2 files"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tmp := t.TempDir()
			t.Setenv("TMPDIR", tmp)
			cfg := ExecConfig{Command: []string{"sh", "-c", c.script}, MaxOutput: 1 << 16, Env: map[string]connector.Secret{"GIVEN": "given"}}
			if name == "stuck" {
				cfg.Timeout = 100 * time.Millisecond
			}
			els, err := parsertest.Collect(t.Context(), command(t, cfg), "a/b.docx", strings.NewReader("hello 你好"))
			if got := strings.TrimSpace(parsertest.Text(els)); c.says == "" && (err != nil || got != c.want) {
				t.Errorf("%q, %v", got, err)
			}
			if c.says != "" && (connector.ClassOf(err) != connector.ClassInvalid || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("class %s: %v", connector.ClassOf(err), err)
			}
			if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestExecKillsChildren: what a command started ends with it, when it is stopped.
func TestExecKillsChildren(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "pid")
	p := command(t, ExecConfig{Command: []string{"sh", "-c", "sleep 600 & echo $! > " + mark + "; wait"}, Timeout: 300 * time.Millisecond})
	if _, err := parsertest.Collect(t.Context(), p, "a", strings.NewReader("x")); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Fatal(err)
	}
	pid, err := os.ReadFile(mark)
	if err != nil {
		return // it was stopped before it started its child
	}
	stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
	if err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("the child still runs: %s", stat)
	}
}

// TestExecConfiguration: a missing program is a fault of the configuration, and the version is part of the parser's identity.
func TestExecConfiguration(t *testing.T) {
	if _, err := openCommand(t, ExecConfig{Command: []string{"no-such-program-here"}}); connector.ClassOf(err) != connector.ClassNotFound {
		t.Error(err)
	}
	p := command(t, ExecConfig{Command: []string{"cat"}, VersionCommand: []string{"echo", "cat 9.1"}})
	if got := p.Info().Backend; !strings.HasPrefix(got, "cat 9.1") {
		t.Errorf("backend %q", got)
	}
	plain, err := Command().Open(t.Context(), Command().Config(), env(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parsertest.Collect(t.Context(), plain, "a", strings.NewReader("x")); connector.ClassOf(err) != connector.ClassUnsupported {
		t.Error(err)
	}
	for _, bad := range []ExecConfig{{}, {Command: []string{"a", "{out}", "{outdir}"}}} {
		bad.Output, bad.Timeout, bad.MaxDocument, bad.MaxOutput, bad.Concurrency = "text", 1, 1, 1, 1
		if bad.Validate() == nil {
			t.Errorf("%v is accepted", bad.Command)
		}
	}
	for _, url := range []string{"", "localhost:9998", "http://user:pw@host", "http://host/?key=1"} {
		s := serviceDefaults(url)
		if s.Validate() == nil {
			t.Errorf("url %q is accepted", url)
		}
	}
}
