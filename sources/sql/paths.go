package sql

import (
	"encoding/hex"
	"errors"
	"mime"
	"net/url"
	"strings"
	"unicode/utf8"
)

const upperHex = "0123456789ABCDEF"

// What stands for key values that have no letters. A percent sign that is data is always followed by two hexadecimal digits in
// upper case, so these are told apart from every value.
const (
	emptyPart   = "%empty"
	nullPart    = "%null"
	invalidPart = "%path/"
)

// identity is the document's name made of its key: the values, escaped, joined by slashes. Different keys have different ones.
func identity(key []cell) string {
	var b strings.Builder
	for i, c := range key {
		if i > 0 {
			b.WriteByte('/')
		}
		switch {
		case c.kind == kindNull:
			b.WriteString(nullPart)
		case c.kind == kindBytes:
			b.WriteString(hex.EncodeToString([]byte(c.text)))
			if c.text == "" {
				b.WriteString(emptyPart)
			}
		default:
			escape(&b, c.text)
		}
	}
	return b.String()
}

// escape writes a value as one component of a path: without slashes, control bytes and what is no UTF-8; never empty, "." or "..".
func escape(b *strings.Builder, s string) {
	if s == "" {
		b.WriteString(emptyPart)
		return
	}
	dots := s == "." || s == ".."
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if dots || r < 0x20 || r == 0x7f || r == '/' || r == '\\' || r == '%' || r == '?' || r == '#' || r == utf8.RuneError && n == 1 {
			b.WriteByte('%')
			b.WriteByte(upperHex[s[i]>>4])
			b.WriteByte(upperHex[s[i]&15])
			i++
			continue
		}
		b.WriteString(s[i : i+n])
		i += n
	}
}

// extension tells a media type in a path, for rules that go by path. There always is one, without a dot inside: so paths
// differ where identities do.
func extension(mediaType string) string {
	base, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		return ".bin"
	}
	switch base {
	case "text/markdown", "text/x-markdown":
		return ".md"
	case "text/html":
		return ".html"
	case "application/xhtml+xml":
		return ".xhtml"
	case "application/json":
		return ".json"
	case "application/jsonl", "application/x-ndjson", "application/x-jsonlines":
		return ".jsonl"
	case "text/csv":
		return ".csv"
	case "text/tab-separated-values":
		return ".tsv"
	case "text/xml", "application/xml":
		return ".xml"
	case "text/yaml", "application/yaml", "application/x-yaml":
		return ".yaml"
	case "text/x-rst":
		return ".rst"
	case "text/x-tex", "application/x-tex", "application/x-latex":
		return ".tex"
	case "application/pdf":
		return ".pdf"
	case "application/rtf", "text/rtf":
		return ".rtf"
	case "application/epub+zip":
		return ".epub"
	case "application/vnd.openxmlformats-officedocument.wordprocessingml.document":
		return ".docx"
	case "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":
		return ".xlsx"
	case "application/vnd.openxmlformats-officedocument.presentationml.presentation":
		return ".pptx"
	}
	if strings.HasPrefix(base, "text/") {
		return ".txt"
	}
	return ".bin"
}

// checkPath checks a path that stands in a column.
func checkPath(p string) error {
	switch {
	case p == "":
		return errors.New("the path is empty")
	case strings.HasPrefix(p, "/"):
		return errors.New("the path starts with a slash")
	case !utf8.ValidString(p) || strings.ContainsRune(p, 0):
		return errors.New("the path is no text (NUL, or not UTF-8)")
	}
	return nil
}

// locate is the URI of a row: the database's with the key behind it.
func locate(base string, columns []column, key []cell) string {
	var b strings.Builder
	b.WriteString(base)
	for i, c := range key {
		b.WriteByte("#&"[min(i, 1)])
		b.WriteString(url.QueryEscape(columns[i].name))
		b.WriteByte('=')
		if c.kind == kindBytes {
			b.WriteString(hex.EncodeToString([]byte(c.text)))
		} else {
			b.WriteString(url.QueryEscape(c.text))
		}
	}
	return b.String()
}
