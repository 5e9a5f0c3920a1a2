package mail

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// Members yields what is attached, pictures in the text and mails included, in the order of the mail.
func (p *Parser) Members(ctx context.Context, _ *connector.Document, r io.ReaderAt, size int64) iter.Seq2[connector.Member, error] {
	return func(yield func(connector.Member, error) bool) {
		if err := p.members(ctx, r, size, yield); err != nil && !errors.Is(err, errStopped) {
			yield(connector.Member{}, fmt.Errorf("eml: %w", err))
		}
	}
}

func (p *Parser) members(ctx context.Context, r io.ReaderAt, size int64, yield func(connector.Member, error) bool) error {
	m, err := p.read(io.NewSectionReader(r, 0, size))
	if err != nil || m == nil {
		return err
	}
	names := names{}
	m.root.leaves(func(leaf *part) bool {
		if leaf.isBody() || leaf.isSignature() {
			return true
		}
		if err = ctx.Err(); err != nil {
			return false
		}
		if !yield(m.member(leaf, names, func() (io.Reader, error) { return p.again(m, leaf, r, size) }), nil) {
			err = errStopped
		}
		return err == nil
	})
	return err
}

// again reads the bytes of a part that was listed.
func (p *Parser) again(m *message, leaf *part, r io.ReaderAt, size int64) (io.Reader, error) {
	if !m.converted {
		return io.NewSectionReader(r, int64(leaf.start), int64(leaf.end-leaf.start)), nil
	}
	again, err := p.read(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, err
	}
	if again == nil || len(again.data) < leaf.end {
		return nil, connector.Errorf(connector.ClassChanged, "the mail is another than was listed")
	}
	return strings.NewReader(string(again.data[leaf.start:leaf.end])), nil
}

// member is a part as a file.
func (m *message) member(leaf *part, names names, open func() (io.Reader, error)) connector.Member {
	sum := sha256.New()
	n, _ := io.Copy(sum, unpack(leaf.encoding, strings.NewReader(string(m.data[leaf.start:leaf.end])))) // no source, no error
	out := connector.Member{Path: names.unique(m.fileName(leaf)), Version: version(sum.Sum(nil)), Size: n, Reason: leaf.encrypted()}
	if at, ok := m.date(); ok {
		out.ModifiedAt = at
	}
	if leaf.kind != "application/octet-stream" && !leaf.isMessage() {
		out.MediaType = leaf.kind
	}
	if out.Reason == "" {
		out.Open = func(context.Context) (io.ReadCloser, error) {
			r, err := open()
			if err != nil {
				return nil, err
			}
			return io.NopCloser(unpack(leaf.encoding, r)), nil
		}
	}
	return out
}

// version is that of a content with the digest sum.
func version(sum []byte) string { return "sha256-" + hex.EncodeToString(sum[:20]) }

// fileName is a name for a part: its own, or one made from what is known of it.
func (m *message) fileName(p *part) string {
	name := safe(p.name)
	if p.isMessage() {
		if name == "" {
			h, _ := parseHeader(m.data[p.start:p.end])
			name = slug(m.value(h, "subject"))
		}
		if name == "" {
			name = "mail"
		}
		if !strings.EqualFold(path.Ext(name), ".eml") {
			name += ".eml"
		}
		return name
	}
	if name != "" {
		return name
	}
	number := p.path
	if number == "" {
		number = "1"
	}
	return "part-" + number + extension(p.kind)
}

// extension of the files of a media type, of those that mail often holds without a name; ".bin" for others.
func extension(kind string) string {
	switch kind {
	case "image/png", "image/gif", "image/jpeg", "image/webp", "image/bmp", "application/pdf", "application/zip", "application/rtf", "text/rtf", "text/csv", "text/xml", "text/css":
		return "." + kind[strings.IndexByte(kind, '/')+1:]
	case "text/calendar", "text/x-calendar":
		return ".ics"
	case "text/vcard", "text/x-vcard", "text/directory":
		return ".vcf"
	case "text/html":
		return ".html"
	case "text/plain":
		return ".txt"
	case "application/json":
		return ".json"
	}
	return ".bin"
}

// maxFileName is the longest name of a file, in bytes.
const maxFileName = 200

// safe is a name without folders, control and invisible characters; empty if nothing is left.
func safe(name string) string {
	var clean decode.Cleaner
	name = clean.Clean(strings.ToValidUTF8(name, "\uFFFD"))
	name = oneLine(strings.ReplaceAll(name, "\x00", ""))
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.TrimSpace(name)
	if strings.Trim(name, ". ") == "" {
		return ""
	}
	if len(name) > maxFileName {
		ext := path.Ext(name)
		if len(ext) > 16 {
			ext = ""
		}
		name = shortened(strings.TrimSuffix(name, ext), maxFileName-len(ext)) + ext
	}
	return name
}

// shortened is the start of s, cut between characters.
func shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// slug is text as part of a name: letters and digits, a hyphen for whatever stands between them.
func slug(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) || r == utf8.RuneError {
			gap = b.Len() > 0
			continue
		}
		if b.Len() > 80 {
			break
		}
		if gap {
			b.WriteByte('-')
			gap = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// names are those that are taken, and how far each was counted.
type names map[string]int

// unique is a name that was not given before: the second of a name is "name (2).ext".
func (n names) unique(name string) string {
	if _, taken := n[name]; !taken {
		n[name] = 2
		return name
	}
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	if stem == "" {
		stem, ext = name, ""
	}
	for {
		other := fmt.Sprintf("%s (%d)%s", stem, n[name], ext)
		n[name]++
		if _, taken := n[other]; !taken {
			n[other] = 2
			return other
		}
	}
}
