package pdf

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

// fakeOCR makes this test program act as a program for OCR.
const fakeOCR = "KBSYNC_FAKE_OCR"

func TestMain(m *testing.M) {
	if how := os.Getenv(fakeOCR); how != "" {
		os.Exit(actAsOCR(how))
	}
	os.Exit(m.Run())
}

// actAsOCR answers with two paragraphs if the picture is a page of 600 by 800 points at 72 dots an inch.
func actAsOCR(how string) int {
	var in io.Reader = os.Stdin
	if how == "file" {
		f, err := os.Open(os.Args[1])
		if err != nil {
			return 3
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	picture, err := png.Decode(in)
	if err != nil || picture.Bounds().Dx() != 600 || picture.Bounds().Dy() != 800 {
		fmt.Fprintln(os.Stderr, "not the picture of the page:", err)
		return 4
	}
	switch how {
	case "fail":
		fmt.Fprintln(os.Stderr, "cannot load language chi_sim")
		return 1
	case "hang":
		time.Sleep(time.Hour)
	case "silent":
		return 0
	}
	fmt.Print("The first paragraph of the scanned page goes on\nin a second line.\n\n这是扫描页的第二段文字，它在图片里也占了两行，所以下一\n行接着上一行。\n\f")
	return 0
}

// scanned is a page with text and one that is a picture.
func scanned() []byte {
	b := newBuilder()
	b.page(put("F1", 10, 60, 700, "A page with text."))
	picture := b.stream("/Type /XObject /Subtype /Image /Width 2 /Height 2 /ColorSpace /DeviceGray /BitsPerComponent 8", "\x00\xFF\xFF\x00", true)
	b.page("q 600 0 0 800 0 0 cm /I Do Q", fmt.Sprintf("/XObject << /I %d 0 R >>", picture))
	return b.bytes()
}

func ocr(change func(*OCR)) func(*Config) {
	return func(c *Config) {
		c.OCR.DPI = 72
		change(&c.OCR)
	}
}

func TestOCROff(t *testing.T) {
	want := "1 text: A page with text.\n2 no text layer: OCR needed: page 2: 1 image\n"
	if got := show(collect(t, opener(t)(), scanned())); got != want {
		t.Errorf("got %s", got)
	}
}

func TestOCRCommand(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const read = "1 text: A page with text.\n2 text: The first paragraph of the scanned page goes on in a second line.\n2 text: 这是扫描页的第二段文字，它在图片里也占了两行，所以下一行接着上一行。\n"
	for how, c := range map[string]struct {
		args       []string
		want, fail string
	}{
		"stdin":  {nil, read, ""},
		"file":   {[]string{"{image}"}, read, ""},
		"silent": {nil, "1 text: A page with text.\n2 no text layer: OCR needed: page 2: 1 image\n", ""},
		"fail":   {nil, "", "ocr of page 2: " + exe + ": exit status 1: cannot load language chi_sim"},
		"hang":   {nil, "", "no answer within 300ms"},
	} {
		t.Run(how, func(t *testing.T) {
			t.Setenv(fakeOCR, how)
			p := opener(t, ocr(func(o *OCR) {
				o.Command = append([]string{exe}, c.args...)
				if how == "hang" {
					o.Timeout = 300 * time.Millisecond
				}
			}))()
			els, err := parsertest.Collect(context.Background(), p, "a.pdf", bytes.NewReader(scanned()))
			if c.fail != "" {
				if err == nil || !strings.Contains(err.Error(), c.fail) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := show(els); got != c.want {
				t.Errorf("got %s", got)
			}
			if last := els[len(els)-1]; last.Box != nil {
				t.Errorf("nobody knows where it stands: %v", last.Box)
			}
		})
	}
	p := opener(t, ocr(func(o *OCR) { o.Command = []string{"no-such-program-for-ocr"} }))()
	if _, err := parsertest.Collect(context.Background(), p, "a.pdf", bytes.NewReader(scanned())); err == nil || !strings.Contains(err.Error(), "no-such-program-for-ocr") {
		t.Error(err)
	}
}

// TestOCRService: the answers of PaddleOCR's services, plain text, and faults.
func TestOCRService(t *testing.T) {
	const (
		upper = `[[60,100],[400,100],[400,120],[60,120]]`
		lower = `[[60,300],[400,300],[400,320],[60,320]]`
		first = "1 text: A page with text.\n"
		both  = first + "2 text: 上面一行的文字在这里。\n2 text: The lower line of the page.\n"
	)
	for name, c := range map[string]struct {
		status       int
		answer, want string
	}{
		"serving":  {200, `{"logId":"x","errorCode":0,"errorMsg":"Success","result":{"ocrResults":[{"prunedResult":{"rec_texts":["上面一行的文字在这里。","The lower line of the page."],"rec_scores":[1,0.9],"rec_polys":[` + upper + `,` + lower + `]},"ocrImage":"abc"}]}}`, both},
		"boxes":    {200, `{"result":{"ocrResults":[{"prunedResult":{"rec_texts":["上面一行的文字在这里。","The lower line of the page."],"rec_boxes":[[60,100,400,120],[60,300,400,320]]}}]}}`, both},
		"hub":      {200, `{"msg":"","status":"000","results":[[{"confidence":0.9,"text":"上面一行的文字在这里。","text_region":` + upper + `},{"confidence":0.9,"text":"The lower line of the page.","text_region":` + lower + `}]]}`, both},
		"python":   {200, `[[[` + upper + `,["上面一行的文字在这里。",0.99]],[` + lower + `,["The lower line of the page.",0.98]]]]`, both},
		"plain":    {200, "上面一行的文字在这里。\n\n\nThe lower line of the page.\n", both},
		"text":     {200, `{"text":"上面一行的文字在这里。\n\n\nThe lower line of the page."}`, both},
		"nothing":  {200, `{"errorCode":0,"result":{"ocrResults":[{"prunedResult":{"rec_texts":[]}}]}}`, first + "2 no text layer: OCR needed: page 2: 1 image\n"},
		"refused":  {200, `{"errorCode":413,"errorMsg":"too large"}`, "error: the service says 413: too large"},
		"hub says": {200, `{"status":"101","msg":"no image","results":""}`, "error: the service says 101: no image"},
		"down":     {503, "busy", "error: HTTP 503: busy"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, request := range []string{"image", "paddleocr"} {
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if why := wrongPicture(r, request); why != "" {
						t.Error(why)
					}
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.answer)
				}))
				defer srv.Close()
				p := opener(t, ocr(func(o *OCR) { o.URL, o.Request, o.Token = srv.URL, request, "secret" }))()
				els, err := parsertest.Collect(context.Background(), p, "a.pdf", bytes.NewReader(scanned()))
				got := show(els)
				if err != nil {
					got = "error: " + strings.TrimPrefix(err.Error(), "pdf: ocr of page 2: ")
				}
				if got != c.want {
					t.Errorf("got %s", got)
				}
				if name == "down" && connector.ClassOf(err) != connector.ClassTransient {
					t.Errorf("class %v", connector.ClassOf(err))
				}
				if name == "serving" {
					if b := els[1].Box; b == nil || b.X0 != 60 || b.Y0 != 100 || b.X1 != 400 {
						t.Errorf("box %v", b)
					}
				}
			}
		})
	}
}

// wrongPicture says what is wrong with a request.
func wrongPicture(r *http.Request, request string) string {
	body, _ := io.ReadAll(r.Body)
	if request == "paddleocr" {
		var v struct {
			File     string
			FileType int
			Images   []string
		}
		if err := json.Unmarshal(body, &v); err != nil || v.FileType != 1 || len(v.Images) != 1 || v.Images[0] != v.File {
			return fmt.Sprintf("%v %.200s", err, body)
		}
		body, _ = base64.StdEncoding.DecodeString(v.File)
	}
	if p, err := png.DecodeConfig(bytes.NewReader(body)); err != nil || p.Width != 600 {
		return fmt.Sprintf("no picture: %v", err)
	}
	if r.Method != http.MethodPost || r.Header.Get("Authorization") != "Bearer secret" {
		return fmt.Sprintf("%s %v", r.Method, r.Header)
	}
	return ""
}

func TestOCRSettings(t *testing.T) {
	for _, o := range []OCR{
		{Command: []string{"a"}, URL: "http://x", DPI: 300, Timeout: 1}, {Command: []string{""}, DPI: 300, Timeout: 1},
		{URL: "localhost:8080", DPI: 300, Timeout: 1}, {URL: "http://x", DPI: 3, Timeout: 1}, {URL: "http://x", DPI: 300},
	} {
		c := defaults()
		c.OCR = o
		if c.Validate() == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}
