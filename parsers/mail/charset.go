package mail

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/kbsync/kbsync/internal/decode"
)

// alias is the standard's label of a character set that mail names otherwise.
func alias(label string) string {
	label = strings.ToLower(strings.Trim(label, " \t'\""))
	switch label {
	case "cp932", "ms-kanji":
		return "shift_jis"
	case "cp936", "gb", "gb18030-2000", "euc-cn":
		return "gbk"
	case "cp949":
		return "euc-kr"
	case "cp950", "big-5":
		return "big5"
	case "unicode-1-1-utf-7", "x-unicode-2-0-utf-7":
		return "utf-7"
	}
	return label
}

// text decodes the body of a part: the character set is the declared one where the bytes fit it, else the one that is found.
func text(b []byte, label string) (string, []decode.Drop, error) {
	label = alias(label)
	switch label {
	case "hz-gb-2312":
		if t, err := simplifiedchinese.HZGB2312.NewDecoder().Bytes(b); err == nil {
			b = t
		}
	case "utf-7":
		b = utf7(b)
	case "utf-16", "utf-16le", "utf-16be":
		if enc, err := htmlindex.Get(label); err == nil && bytes.IndexByte(b, 0) >= 0 {
			if t, err := enc.NewDecoder().Bytes(b); err == nil {
				b = t
			}
		}
	}
	r := decode.NewReader(bytes.NewReader(b), decode.Options{Declared: func([]byte) string { return label }})
	s, err := r.ReadString(0)
	return s, r.Dropped(), err
}

// decoded is a value of a header, in the character set of that label.
func (m *message) decoded(b []byte, label string) string {
	label = alias(label)
	if label == "" || label == "utf-8" || label == "us-ascii" {
		if utf8.Valid(b) {
			return string(b)
		}
		label = m.charset
	}
	switch label {
	case "utf-7", "hz-gb-2312":
	case "gb2312", "gbk", "gb_2312-80":
		label = "gb18030"
		fallthrough
	default:
		if enc, err := htmlindex.Get(label); err == nil {
			if name, _ := htmlindex.Name(enc); name != "replacement" {
				if s, err := enc.NewDecoder().Bytes(b); err == nil {
					return string(s)
				}
			}
		}
	}
	s, _, err := text(b, label)
	if err != nil {
		return strings.ToValidUTF8(string(b), "\uFFFD")
	}
	return s
}

// words decodes a value with encoded words (RFC 2047), also where they stand in quotes or hold spaces. Neighbours in one character set are
// decoded together: some programs cut within a character.
func (m *message) words(s string) string {
	if !strings.Contains(s, "=?") {
		return m.decoded([]byte(s), "")
	}
	var out strings.Builder
	var run []byte // of encoded words
	label := ""
	flush := func() {
		if len(run) > 0 {
			out.WriteString(m.decoded(run, label))
			run = nil
		}
	}
	plain := 0 // s[plain:i] has not been written
	for i := 0; i < len(s); {
		w, ok := encodedWord(s[i:])
		if !ok {
			next := strings.Index(s[i+1:], "=?")
			if next < 0 {
				break
			}
			i += 1 + next
			continue
		}
		if gap := s[plain:i]; strings.TrimSpace(gap) != "" || len(run) == 0 {
			flush()
			out.WriteString(m.decoded([]byte(gap), ""))
		} else if w.label != label {
			flush()
		}
		label = w.label
		run = append(run, w.bytes...)
		i += w.size
		plain = i
	}
	flush()
	out.WriteString(m.decoded([]byte(s[plain:]), ""))
	return out.String()
}

type word struct {
	label string
	bytes []byte
	size  int
}

// encodedWord reads the word at the start of s.
func encodedWord(s string) (w word, ok bool) {
	const longest = 4096 // of what stands between the marks
	if !strings.HasPrefix(s, "=?") {
		return w, false
	}
	rest := s[2:min(len(s), longest)]
	label, rest, ok := strings.Cut(rest, "?")
	if !ok || label == "" || len(label) > 64 || strings.ContainsAny(label, " \t=") || len(rest) < 2 || rest[1] != '?' {
		return w, false
	}
	kind, body := rest[0]|0x20, rest[2:]
	end := strings.Index(body, "?=")
	if end < 0 {
		return w, false
	}
	w.label, _, _ = strings.Cut(label, "*") // a language may follow
	w.label = alias(w.label)
	w.size = 2 + len(label) + 1 + 2 + end + 2
	switch kind {
	case 'b':
		w.bytes = unpackAll("base64", []byte(body[:end]))
	case 'q':
		w.bytes = unpackAll("quoted-printable", []byte(strings.ReplaceAll(body[:end], "_", " ")))
	default:
		return w, false
	}
	return w, true
}

// utf7 decodes UTF-7 (RFC 2152); what is none stays.
func utf7(b []byte) []byte {
	var out []byte
	for i := 0; i < len(b); i++ {
		if b[i] != '+' {
			out = append(out, b[i])
			continue
		}
		end := i + 1
		for end < len(b) && (b[end] >= 'A' && b[end] <= 'Z' || b[end] >= 'a' && b[end] <= 'z' || b[end] >= '0' && b[end] <= '9' || b[end] == '+' || b[end] == '/') {
			end++
		}
		units, err := base64.RawStdEncoding.DecodeString(string(b[i+1 : end]))
		switch {
		case end == i+1 && end < len(b) && b[end] == '-':
			out = append(out, '+')
		case err != nil || len(units) < 2:
			out = append(out, b[i:end]...)
			i = end - 1
			continue
		default:
			var wide []uint16
			for k := 0; k+1 < len(units); k += 2 {
				wide = append(wide, uint16(units[k])<<8|uint16(units[k+1]))
			}
			out = append(out, string(utf16.Decode(wide))...)
		}
		i = end - 1
		if end < len(b) && b[end] == '-' {
			i = end
		}
	}
	return out
}
