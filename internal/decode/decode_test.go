package decode

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"

	"github.com/kbsync/kbsync/connector"
)

func TestCharsets(t *testing.T) {
	zh := "知识库同步工具把文档切成小块，再写入向量数据库。每次运行只处理改变了的部分。\n第二段：标点符号、全角字符！\n"
	tw := "知識庫同步工具將文件切成小塊，再寫入向量資料庫。每次執行只處理改變了的部分。\n第二段：標點符號、全形字元！\n"
	ja := "これは日本語のテキストです。文書を小さく分割して、ベクトルデータベースに書き込みます。カタカナも含む。\n"
	ko := "이것은 한국어 텍스트입니다. 문서를 작은 조각으로 나누어 벡터 데이터베이스에 저장합니다. 변경된 부분만 처리합니다.\n"
	fr := "Le café était fermé; l’été dernier, Élodie a mangé des crêpes à Nîmes – « très bien » – pour 5 €.\n"
	ru := "Это русский текст. Документы делятся на части и записываются в векторную базу данных, только изменённые.\n"
	cases := []struct {
		name, text string
		enc        encoding.Encoding
		charset    string
	}{
		{"gb18030", zh, simplifiedchinese.GB18030, "gb18030"},
		{"gbk short", "知识库", simplifiedchinese.GBK, "gb18030"},
		{"gbk after a long english head", strings.Repeat("plain english line\n", 9000) + zh, simplifiedchinese.GBK, "gb18030"},
		{"big5", tw, traditionalchinese.Big5, "big5"},
		{"shift_jis", ja, japanese.ShiftJIS, "shift_jis"},
		{"euc-jp", ja, japanese.EUCJP, "euc-jp"},
		{"iso-2022-jp", ja, japanese.ISO2022JP, "iso-2022-jp"},
		{"euc-kr", ko, korean.EUCKR, "euc-kr"},
		{"cp1252", fr, charmap.Windows1252, "windows-1252"},
		{"koi8-r", ru, charmap.KOI8R, "koi8-r"},
		{"cp1251", ru, charmap.Windows1251, "windows-1251"},
		{"utf-8", zh + fr, encoding.Nop, "utf-8"},
		{"utf-8 with mark", fr, unicode.UTF8BOM, "utf-8"},
		{"utf-16 with mark", zh + fr, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "utf-16le"},
		{"utf-16be with mark", zh + fr, unicode.UTF16(unicode.BigEndian, unicode.UseBOM), "utf-16be"},
		{"utf-16le", fr + zh, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "utf-16le"},
		{"utf-16be", zh, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "utf-16be"},
		{"utf-32le", zh + fr, utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), "utf-32le"},
		{"utf-32be with mark", fr, utf32.UTF32(utf32.BigEndian, utf32.UseBOM), "utf-32be"},
		{"ascii", "plain", encoding.Nop, "utf-8"},
		{"empty", "", encoding.Nop, "utf-8"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			raw, err := c.enc.NewEncoder().Bytes([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			r := NewReader(iotest.HalfReader(bytes.NewReader(raw)), Options{})
			got, err := r.ReadString(0)
			if err != nil {
				t.Fatal(err)
			}
			if got != c.text {
				t.Errorf("text is %.200q, want %.200q", got, c.text)
			}
			if r.Charset() != c.charset {
				t.Errorf("charset %q, want %q", r.Charset(), c.charset)
			}
			for _, d := range r.Dropped() {
				if d.Reason != connector.DropBOM {
					t.Errorf("dropped %+v", d)
				}
			}
		})
	}
}

func TestCleaning(t *testing.T) {
	cases := []struct{ name, in, want, drops string }{
		{"line ends", "a\r\nb\rc\r\r\nd\n", "a\nb\nc\n\nd\n", ""},
		{"nul", "a\x00b\x01\x02c", "abc", "1 control characters \"\\x00\";2 control characters \"\\x01\\x02\""},
		{"form feed between words", "a\fb \fc\n\vd", "a b c\nd", "2 control characters \"\\f\";4 control characters \"\\f\";6 control characters \"\\v\""},
		{"invisible", "a\u200bb\u00adc\ufeffd\u2060e\u202ef", "abcdef", "1 invisible characters \"\\u200b\";2 invisible characters \"\\u00ad\";3 invisible characters \"\\ufeff\";4 invisible characters \"\\u2060\";5 invisible characters \"\\u202e\""},
		{"joiners stay", "👩\u200d💻 می\u200cخواهم ❤\ufe0f", "👩\u200d💻 می\u200cخواهم ❤\ufe0f", ""},
		{"flag tags stay", "🏴\U000E0067\U000E0062\U000E007F x\U000E0067", "🏴\U000E0067\U000E0062\U000E007F x", "18 invisible characters \"\\U000e0067\""},
		{"c1 and nel", "a\u0085b\u0081c", "a bc", "2 control characters \"\\u0085\";3 control characters \"\\u0081\""},
		{"mark", "\ufeffa\ufeff", "a", "0 byte order mark \"\\ufeff\";1 invisible characters \"\\ufeff\""},
		{"bad bytes in utf-8", "知识库知识库\xff知识\xe4\xbd", "知识库知识库知识", "18 undecodable bytes \"\\\\xFF\";24 undecodable bytes \"\\\\xE4\\\\xBD\""},
		{"tabs and no-break spaces stay", "\ta\u00a0b", "\ta\u00a0b", ""},
		{"cr at the end", "a\r", "a\n", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, drops, err := All(strings.NewReader(c.in), 0)
			if err != nil || got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
			if s := show(drops); s != c.drops {
				t.Errorf("drops\n%s\nwant\n%s", s, c.drops)
			}
		})
	}
}

func TestCRLFOverBlocks(t *testing.T) {
	for pad := blockSize - 2; pad < blockSize+2; pad++ {
		in := strings.Repeat("x", pad) + "\r\n知\r\nz"
		want := strings.Repeat("x", pad) + "\n知\nz"
		if got, _, err := All(strings.NewReader(in), 0); err != nil || got != want {
			t.Errorf("pad %d: %v, tail %q", pad, err, got[max(0, len(got)-9):])
		}
	}
}

func TestBinaryAndErrors(t *testing.T) {
	blob := make([]byte, 4096)
	for i := range blob {
		blob[i] = byte(i * i / 7)
	}
	if _, _, err := All(bytes.NewReader(blob), 0); !errors.Is(err, ErrBinary) || connector.ClassOf(err) != connector.ClassInvalid {
		t.Errorf("binary: %v", err)
	}
	broken := errors.New("broken")
	if _, _, err := All(io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken)), 0); !errors.Is(err, broken) {
		t.Errorf("cut stream: %v", err)
	}
	if _, _, err := All(strings.NewReader("abcdef"), 3); connector.ClassOf(err) != connector.ClassTooLarge {
		t.Errorf("max: %v", err)
	}
}

func TestDropsAreBounded(t *testing.T) {
	_, _, err := All(strings.NewReader(strings.Repeat("ab\x00", 100_000)), 0)
	if err == nil {
		t.Fatal("a third of NULs is binary")
	}
	text, drops, err := All(strings.NewReader(strings.Repeat("some words and\x00", 100_000)), 0)
	if err != nil || len(text) != 1_400_000 || len(drops) != dropsPerReason+1 {
		t.Fatal(len(text), len(drops), err)
	}
	n := 0
	for _, d := range drops {
		n += d.Count
	}
	if n != 100_000 {
		t.Errorf("%d drops counted", n)
	}
}

func TestDrain(t *testing.T) {
	r := NewReader(strings.NewReader("ab\x00cd\x00ef\x00"), Options{})
	if _, err := r.ReadString(0); err != nil {
		t.Fatal(err)
	}
	if s := show(r.Drain(2)); !strings.HasPrefix(s, "2 ") || strings.Count(s, ";") != 0 {
		t.Error(s)
	}
	if s := show(r.Drain(6)); strings.Count(s, ";") != 1 {
		t.Error(s)
	}
	if s := show(r.Drain(6)); s != "" {
		t.Error(s)
	}
}

func TestSuspect(t *testing.T) {
	for text, want := range map[string]bool{
		"cafÃ© crÃ¨me brÃ»lÃ©e": true, "café crème": false, "锟斤拷锟斤拷": true, "知识库": false,
	} {
		r := NewReader(strings.NewReader(text), Options{})
		if _, err := r.ReadString(0); err != nil || r.Suspect() != want {
			t.Errorf("%q: %v %v", text, r.Suspect(), err)
		}
	}
}

func TestDeclared(t *testing.T) {
	raw, _ := charmap.Windows1253.NewEncoder().String("Αθήνα και Θεσσαλονίκη")
	got, err := NewReader(strings.NewReader(raw), Options{Declared: func([]byte) string { return "windows-1253" }}).ReadString(0)
	if err != nil || got != "Αθήνα και Θεσσαλονίκη" {
		t.Errorf("%q %v", got, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"a\r\nb", "\xff\xfea\x00", "知\x00", "\xd6\xaa\xca\xb6\xbf\xe2", "\x1b$B", "a\xffb", "🏴\U000E0067"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, drops, err := All(bytes.NewReader(raw), 0)
		b, drops2, err2 := All(iotest.OneByteReader(bytes.NewReader(raw)), 0)
		if a != b || (err == nil) != (err2 == nil) || show(drops) != show(drops2) {
			t.Fatal("depends on how the source cuts")
		}
		if err == nil && (!utf8.ValidString(a) || strings.ContainsAny(a, "\r\x00\u200b")) {
			t.Fatalf("not clean: %q", a)
		}
		for _, d := range drops {
			if d.Pos < 0 || d.Pos > len(a) || d.Count < 1 || !utf8.ValidString(d.Text) {
				t.Fatalf("%+v", d)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for name, s := range map[string]string{
		"ascii": strings.Repeat("A line of plain English prose that goes on for a while.\n", 100_000),
		"crlf":  strings.Repeat("A line of plain English prose that goes on for a while.\r\n", 100_000),
		"zh":    strings.Repeat("知识库同步工具，把“文档”切成小块，再写入向量数据库。\n", 100_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				r := NewReader(strings.NewReader(s), Options{})
				if _, err := io.Copy(io.Discard, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func show(drops []Drop) string {
	parts := make([]string, 0, len(drops))
	for _, d := range drops {
		parts = append(parts, strings.Join([]string{strconv.Itoa(d.Pos), string(d.Reason), strconv.QuoteToASCII(d.Text)}, " "))
	}
	return strings.Join(parts, ";")
}
