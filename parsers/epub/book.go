package epub

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// Bounds.
const (
	maxParts = 50_000
	maxLeft  = 64 // names of pictures that are told
	maxXML   = 16 << 20
)

// book is an open book.
type book struct {
	parts      map[string]*zip.File
	spine      []item
	properties map[string]any
	pictures   []string
}

// item is one document of the spine.
type item struct {
	name string
	nav  bool // a table of contents
}

// packageDoc is what matters of an OPF file.
type packageDoc struct {
	Meta struct {
		Titles      []string `xml:"title"`
		Creators    []string `xml:"creator"`
		Languages   []string `xml:"language"`
		Publisher   string   `xml:"publisher"`
		Dates       []string `xml:"date"`
		Subjects    []string `xml:"subject"`
		Description string   `xml:"description"`
	} `xml:"metadata"`
	Items []struct {
		ID         string `xml:"id,attr"`
		Href       string `xml:"href,attr"`
		Type       string `xml:"media-type,attr"`
		Properties string `xml:"properties,attr"`
	} `xml:"manifest>item"`
	Spine []struct {
		Ref string `xml:"idref,attr"`
	} `xml:"spine>itemref"`
	Guide []struct {
		Type string `xml:"type,attr"`
		Href string `xml:"href,attr"`
	} `xml:"guide>reference"`
}

// open opens a book and checks its sizes before anything is unpacked.
func open(data []byte, limit int64) (*book, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "this is no book, or one that is cut short: %w", err)
	}
	if len(z.File) > maxParts {
		return nil, connector.Errorf(connector.ClassInvalid, "the book has %d files, over %d", len(z.File), maxParts)
	}
	b := &book{parts: map[string]*zip.File{}}
	for _, f := range z.File {
		b.parts[f.Name] = f
	}
	var container struct {
		Roots []struct {
			Path string `xml:"full-path,attr"`
		} `xml:"rootfiles>rootfile"`
	}
	if err := b.decode("META-INF/container.xml", &container); err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "it is no book: %w", err)
	}
	if len(container.Roots) == 0 {
		return nil, connector.Errorf(connector.ClassInvalid, "it is no book: META-INF/container.xml names no package document")
	}
	root := container.Roots[0].Path
	var doc packageDoc
	if err := b.decode(root, &doc); err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "%w", err)
	}
	b.arrange(path.Dir(root), &doc)
	return b, b.check(limit)
}

// arrange puts the documents in reading order, each once.
func (b *book) arrange(dir string, doc *packageDoc) {
	contents := map[string]bool{}
	for _, g := range doc.Guide {
		if g.Type == "toc" {
			contents[resolve(dir, g.Href)] = true
		}
	}
	byID := map[string]item{}
	for _, i := range doc.Items {
		name := resolve(dir, i.Href)
		switch {
		case strings.HasPrefix(i.Type, "image/") && len(b.pictures) < maxLeft && name != "":
			b.pictures = append(b.pictures, decode.Clip(strings.ToValidUTF8(name, "\uFFFD")))
		case i.Type == "application/xhtml+xml", i.Type == "text/html", i.Type == "text/x-oeb1-document":
			byID[i.ID] = item{name: name, nav: contents[name] || strings.Contains(" "+i.Properties+" ", " nav ")}
		}
	}
	for _, s := range doc.Spine {
		if i, ok := byID[s.Ref]; ok {
			b.spine = append(b.spine, i)
			delete(byID, s.Ref) // a chapter that is named twice is read once
		}
	}
	m := doc.Meta
	props := map[string]any{}
	for _, f := range [...][2]string{{"title", first(m.Titles)}, {"author", strings.Join(m.Creators, ", ")}, {"language", first(m.Languages)},
		{"publisher", m.Publisher}, {"created", first(m.Dates)}, {"subject", strings.Join(m.Subjects, ", ")}, {"description", m.Description}} {
		if v := strings.Join(strings.Fields(strings.ToValidUTF8(f[1], "")), " "); v != "" {
			props[f[0]] = v
		}
	}
	if len(props) > 0 {
		b.properties = props
	}
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}

// check refuses what is encrypted or unpacks to too much. Fonts may be obfuscated; nobody reads them.
func (b *book) check(limit int64) error {
	if len(b.spine) == 0 {
		return connector.Errorf(connector.ClassInvalid, "the book has no chapters: its spine names none that is there")
	}
	var encryption struct {
		Data []struct {
			Ref struct {
				URI string `xml:"URI,attr"`
			} `xml:"CipherData>CipherReference"`
		} `xml:"EncryptedData"`
	}
	locked := map[string]bool{}
	if b.parts["META-INF/encryption.xml"] != nil {
		if err := b.decode("META-INF/encryption.xml", &encryption); err != nil {
			return connector.Errorf(connector.ClassInvalid, "%w", err)
		}
		for _, d := range encryption.Data {
			locked[resolve(".", d.Ref.URI)] = true
		}
	}
	total := uint64(0)
	for _, i := range b.spine {
		if locked[i.name] {
			return connector.Errorf(connector.ClassInvalid, "the book is encrypted (digital rights management): it can only be read by the program that has its key")
		}
		f := b.parts[i.name]
		if f == nil {
			return connector.Errorf(connector.ClassInvalid, "chapter %s is missing", i.name)
		}
		if total += f.UncompressedSize64; total > uint64(limit) || f.UncompressedSize64 > maxChapter {
			return connector.Errorf(connector.ClassInvalid, "chapter %s unpacks to %d bytes, over the limit: raise max_unpacked if the book is sound", i.name, f.UncompressedSize64)
		}
	}
	return nil
}

// resolve is the file that a reference in dir names.
func resolve(dir, href string) string {
	href, _, _ = strings.Cut(href, "#")
	if plain, err := url.PathUnescape(href); err == nil {
		href = plain
	}
	return strings.TrimPrefix(path.Join("/", dir, href), "/")
}

// read unpacks a file.
func (b *book) read(name string, limit int64) ([]byte, error) {
	f := b.parts[name]
	if f == nil {
		return nil, fmt.Errorf("%s is missing", name)
	}
	if f.UncompressedSize64 > uint64(limit) {
		return nil, fmt.Errorf("%s unpacks to %d bytes, over %d", name, f.UncompressedSize64, limit)
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return io.ReadAll(io.LimitReader(r, limit+1))
}

// decode reads a file of XML.
func (b *book) decode(name string, into any) error {
	data, err := b.read(name, maxXML)
	if err != nil {
		return err
	}
	d := xml.NewDecoder(bytes.NewReader(data))
	d.Strict = false
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // names and references are ASCII or UTF-8
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
