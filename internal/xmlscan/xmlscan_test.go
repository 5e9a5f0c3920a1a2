package xmlscan

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/shareddata"
)

// events writes a document as one line an event; neighbouring pieces of text are joined.
func events(data []byte) (string, error) {
	s, err := New(data)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	var text []byte
	flush := func() {
		if len(text) > 0 {
			fmt.Fprintf(&b, "%q\n", text)
		}
		text = text[:0]
	}
	for {
		k, err := s.Next()
		if errors.Is(err, io.EOF) {
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
		if k == Text {
			text = append(text, s.Text()...)
			continue
		}
		flush()
		if k == End {
			fmt.Fprintf(&b, "/%s|%s\n", s.Space(), s.Name())
			continue
		}
		fmt.Fprintf(&b, "%s|%s", s.Space(), s.Name())
		for i := range s.Attrs() {
			space, local, value := s.AttrAt(i)
			fmt.Fprintf(&b, " %s|%s=%q", space, local, value)
		}
		b.WriteByte('\n')
	}
}

// standard is events of encoding/xml.
func standard(data []byte) (string, error) {
	d := xml.NewDecoder(bytes.NewReader(data))
	var b strings.Builder
	depth := 0
	var text []byte
	flush := func() {
		if len(text) > 0 {
			fmt.Fprintf(&b, "%q\n", text)
		}
		text = text[:0]
	}
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
		switch t := t.(type) {
		case xml.CharData:
			if depth > 0 {
				text = append(text, t...)
			}
		case xml.StartElement:
			flush()
			depth++
			fmt.Fprintf(&b, "%s|%s", t.Name.Space, t.Name.Local)
			for _, a := range t.Attr {
				if a.Name.Space == "xmlns" || a.Name.Local == "xmlns" {
					continue
				}
				fmt.Fprintf(&b, " %s|%s=%q", a.Name.Space, a.Name.Local, a.Value)
			}
			b.WriteByte('\n')
		case xml.EndElement:
			flush()
			depth--
			fmt.Fprintf(&b, "/%s|%s\n", t.Name.Space, t.Name.Local)
		}
	}
}

func TestEvents(t *testing.T) {
	for in, want := range map[string]string{
		`<a/>`: "|a\n/|a\n",
		`<?xml version="1.0"?><!-- < --><!DOCTYPE a [<!ENTITY x "]>"><!-- > -->]><a b='1&amp;2' c="x&#10;y">t&lt;&#x4E2D;&nbsp;<![CDATA[<&]]></a> `: "|a |b=\"1&2\" |c=\"x\\ny\"\n\"t<中&nbsp;<&\"\n/|a\n",
		`<a xmlns="u" xmlns:p="v"><p:b p:x="1" y="2"/><b xmlns="w"/><b/></a>`:                                                                       "u|a\nv|b v|x=\"1\" |y=\"2\"\n/v|b\nw|b\n/w|b\nu|b\n/u|b\n/u|a\n",
		"<a>x\r\ny\rz</a>":                     "|a\n\"x\\ny\\nz\"\n/|a\n",
		`<a>&#0;&#xD800;&#x110000;&#;&;&x</a>`: "|a\n\"\uFFFD\uFFFD\uFFFD&#;&;&x\"\n/|a\n",
	} {
		if got, err := events([]byte(in)); err != nil || got != want {
			t.Errorf("%s:\n%s%v, want\n%s", in, got, err, want)
		}
	}
}

func TestMalformed(t *testing.T) {
	for _, in := range []string{
		``, ` `, `x`, `<`, `<a`, `<a>`, `<a></b>`, `</a>`, `<a/><b/>`, `<a b>`, `<a b=1/>`, `<a b="1/>`, `<a b="<"/>`, `<a/ >`, `<!--`, `<a><![CDATA[</a>`, `<!DOCTYPE a [`,
		`<a>x</a>y`, `<a></a b>`, `< a/>`, `<?xml`, `<![CDATA[x]]><a/>`, strings.Repeat("<a>", MaxDepth+1),
	} {
		got, err := events([]byte(in))
		if connector.ClassOf(err) != connector.ClassInvalid || !strings.Contains(fmt.Sprint(err), "byte") {
			t.Errorf("%.40q gave %q and %v", in, got, err)
		}
	}
}

// TestBillionLaughs: entities of the document are text, so the output is no larger than the input.
func TestBillionLaughs(t *testing.T) {
	in := `<!DOCTYPE l [<!ENTITY l0 "ha"><!ENTITY l1 "&l0;&l0;&l0;"><!ENTITY l2 "&l1;&l1;">]><l>&l2;</l>`
	if got, err := events([]byte(in)); err != nil || got != "|l\n\"&l2;\"\n/|l\n" {
		t.Errorf("%s %v", got, err)
	}
}

func TestEncodings(t *testing.T) {
	want := "|a\n\"中文 and more of 这些文字\"\n/|a\n"
	doc := `<?xml version="1.0" encoding="%s"?><a>中文 and more of 这些文字</a>`
	for name, encode := range map[string]func(string) (string, error){
		"UTF-8":    func(s string) (string, error) { return s, nil },
		"UTF-16":   unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String,
		"UTF-16BE": unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewEncoder().String,
		"GBK":      simplifiedchinese.GBK.NewEncoder().String,
	} {
		in, err := encode(fmt.Sprintf(doc, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := events([]byte(in)); err != nil || got != want {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	if got, err := events([]byte("\uFEFF<a/>")); err != nil || got != "|a\n/|a\n" {
		t.Errorf("a byte order mark: %q %v", got, err)
	}
}

func TestSkipAndAttributes(t *testing.T) {
	s, err := New([]byte(`<a xmlns:r="R"><b><c/>x</b><d id="1" r:id="2" n=" 7 "/></a>`))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Skip(); err != nil || string(s.Name()) != "b" || s.Depth() != 1 {
		t.Fatalf("after Skip: %s at depth %d, %v", s.Name(), s.Depth(), err)
	}
	if k, err := s.Next(); err != nil || k != Start || string(s.Name()) != "d" {
		t.Fatalf("%v %s %v", k, s.Name(), err)
	}
	in, _ := s.AttrIn("R", "id")
	plain, _ := s.AttrIn("", "id")
	if string(in) != "2" || string(plain) != "1" || s.String("id") != "1" || s.Int("n", 0) != 7 || s.Int("none", 9) != 9 {
		t.Errorf("attributes %s %s %s %d", in, plain, s.String("id"), s.Int("n", 0))
	}
}

// parts are the XML parts of the office documents among the shared data.
func parts(tb testing.TB) [][]byte {
	tb.Helper()
	var out [][]byte
	err := filepath.WalkDir(filepath.Join(shareddata.Dir(tb), "fixtures"), func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".docx" {
			return err
		}
		z, err := zip.OpenReader(path)
		if err != nil {
			return err
		}
		defer func() { _ = z.Close() }()
		for _, f := range z.File {
			if ext := filepath.Ext(f.Name); ext != ".xml" && ext != ".rels" {
				continue
			}
			r, err := f.Open()
			if err != nil {
				return err
			}
			data, err := io.ReadAll(r)
			if err != nil {
				return err
			}
			out = append(out, data)
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// TestAgreesWithStandard compares the events of real documents with those of encoding/xml.
func TestAgreesWithStandard(t *testing.T) {
	for i, data := range parts(t) {
		want, err := standard(data)
		if err != nil {
			continue
		}
		if got, err := events(data); err != nil || got != want {
			t.Errorf("part %d: %v, %d bytes of events, want %d", i, err, len(got), len(want))
		}
	}
}

func FuzzNext(f *testing.F) {
	for _, s := range []string{`<a xmlns:p="v"><p:b p:x="1&lt;"/>t&#65;<![CDATA[x]]></a>`, `<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>`, "\xFF\xFE<\x00a\x00/\x00>\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := events(data)
		if len(got) > 40*len(data)+100 && !bytes.Contains(data, []byte("xmlns")) {
			t.Errorf("%d bytes of events from %d", len(got), len(data))
		}
		if err != nil || !plain(data) {
			return
		}
		if want, standardErr := standard(data); standardErr == nil && got != want {
			t.Errorf("%q gave\n%s, the standard library\n%s", data, got, want)
		}
	})
}

// plain says that data hold nothing about which the standard library and the scanner differ on purpose: references to unknown entities, line
// ends, encodings, and names that are none.
func plain(data []byte) bool {
	for _, s := range []string{"xmlns", "encoding", "]]>", "\uFEFF"} {
		if bytes.Contains(data, []byte(s)) {
			return false
		}
	}
	return len(data) > 0 && !bytes.ContainsAny(data, "&\r\n\t\x00:")
}

// BenchmarkScan measures the scanner, and encoding/xml beside it.
func BenchmarkScan(b *testing.B) {
	all := parts(b)
	var size int64
	for _, p := range all {
		size += int64(len(p))
	}
	b.Run("xmlscan", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			for _, p := range all {
				s, err := New(p)
				for err == nil {
					if _, err = s.Next(); err == nil {
						_ = s.Text()
					}
				}
			}
		}
	})
	b.Run("encoding/xml", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			for _, p := range all {
				d := xml.NewDecoder(bytes.NewReader(p))
				for {
					if _, err := d.Token(); err != nil {
						break
					}
				}
			}
		}
	})
}
