package archive

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/japanese"

	"github.com/kbsync/kbsync/internal/decode"
)

// maxName is the longest name, in bytes.
const maxName = 4096

// Reasons for which members are left out.
const (
	reasonMac     = "a resource fork or folder settings of macOS"
	reasonOutside = "its name leads out of the archive"
	reasonLong    = "its name is longer than 4096 bytes"
)

// settle gives each member its path: decoded, relative, inside the archive and unique.
func settle(all []found) {
	charset := charsetOf(all)
	dirs := map[string]bool{}
	for i := range all {
		f := &all[i]
		name := f.raw
		if !utf8.ValidString(name) {
			name = decodeName(charset, name)
		}
		p, reason := clean(name)
		if f.Path = p; f.Reason == "" {
			f.Reason = reason
		}
		for d := path.Dir(f.Path); d != "." && !dirs[d]; d = path.Dir(d) {
			dirs[d] = true
		}
	}
	used := map[string]bool{}
	next := map[string]int{} // where to go on counting, so that a thousand equal names cost a thousand steps
	for i := range all {
		p := &all[i].Path
		if base := *p; used[base] || dirs[base] {
			for n := max(next[base], 2); used[*p] || dirs[*p]; n++ {
				*p = numbered(base, n)
				next[base] = n + 1
			}
		}
		used[*p] = true
	}
}

// numbered is a path with a number before its extension.
func numbered(p string, n int) string {
	ext := path.Ext(p)
	if ext == path.Base(p) {
		ext = ""
	}
	return fmt.Sprintf("%s (%d)%s", strings.TrimSuffix(p, ext), n, ext)
}

// clean is a name as a path inside the archive, and the reason for which its member is left out, if there is one.
func clean(name string) (p, reason string) {
	if len(name) > maxName {
		reason = reasonLong
		name = strings.ToValidUTF8(name[:200], "")
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case r == '\\':
			return '/'
		case r < ' ', r == 0x7F:
			return '_'
		}
		return r
	}, name)
	if len(name) >= 2 && name[1] == ':' && (name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z') {
		name = name[2:]
	}
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		switch part {
		case "", ".":
		case "..":
			if len(parts) == 0 {
				reason = reasonOutside
				continue
			}
			parts = parts[:len(parts)-1]
		default:
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		parts = []string{"unnamed"}
	}
	base := parts[len(parts)-1]
	if reason == "" && (parts[0] == "__MACOSX" || base == ".DS_Store" || strings.HasPrefix(base, "._")) {
		reason = reasonMac
	}
	return strings.Join(parts, "/"), reason
}

// unicodePath is the name in UTF-8 that some programs put beside one in a legacy character set (field 0x7075 of a zip file); empty if there
// is none.
func unicodePath(name string, extra []byte) string {
	for len(extra) >= 4 {
		id, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if len(extra) < 4+n {
			return ""
		}
		field := extra[4 : 4+n]
		if id == 0x7075 && n > 5 && field[0] == 1 && binary.LittleEndian.Uint32(field[1:]) == crc32.ChecksumIEEE([]byte(name)) && utf8.Valid(field[5:]) {
			return string(field[5:])
		}
		extra = extra[4+n:]
	}
	return ""
}

// charsetOf finds the character set of the names that are not UTF-8, looking at all of them together: one name is too short to tell.
func charsetOf(all []found) encoding.Encoding {
	const enough = 64 << 10
	var b bytes.Buffer
	for i := range all {
		if raw := all[i].raw; !utf8.ValidString(raw) && b.Len() < enough {
			b.WriteString(strings.NewReplacer("\n", "_", "\r", "_").Replace(raw[:min(len(raw), maxName)]) + "\n")
		}
	}
	if b.Len() == 0 {
		return nil
	}
	switch {
	case kana(b.Bytes()):
		return japanese.ShiftJIS
	case ofDOS(b.Bytes()):
		return charmap.CodePage437
	}
	r := decode.NewReader(bytes.NewReader(b.Bytes()), decode.Options{})
	if _, err := io.Copy(io.Discard, r); err != nil {
		return charmap.CodePage437
	}
	enc, err := htmlindex.Get(r.Charset())
	if err != nil || r.Charset() == "utf-8" {
		return charmap.CodePage437 // what the format says; every byte is a character there
	}
	return enc
}

// kana says that names are Shift_JIS with two kana side by side, which other bytes hardly give.
func kana(names []byte) bool {
	text, err := japanese.ShiftJIS.NewDecoder().Bytes(names)
	if err != nil {
		return false
	}
	run, most := 0, 0
	for _, r := range string(text) {
		switch {
		case r == utf8.RuneError:
			return false
		case r < 0x3040 || r > 0x30FF:
			run = 0
		default:
			run++
			most = max(most, run)
		}
	}
	return most > 1
}

// ofDOS says that names look like those of Western Europe in code page 437: single accented letters between others.
func ofDOS(names []byte) bool {
	for i, c := range names {
		if c < utf8.RuneSelf {
			continue
		}
		if c > 0xA5 && c != 0xE1 || i > 0 && names[i-1] >= utf8.RuneSelf || i+1 < len(names) && names[i+1] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// decodeName reads a name; what is no character is U+FFFD.
func decodeName(enc encoding.Encoding, name string) string {
	if enc == nil {
		return strings.ToValidUTF8(name, "\uFFFD")
	}
	text, err := enc.NewDecoder().String(name)
	if err != nil {
		return strings.ToValidUTF8(name, "\uFFFD")
	}
	return text
}
