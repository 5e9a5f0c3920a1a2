package pdf

import (
	"bytes"
	"iter"
	"strings"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/pagelayout"
)

// Bounds of what is read of a document.
const (
	maxPages     = 100_000
	maxBadPages  = 1000 // pages that cannot be read, after which the rest is given up
	maxBookmarks = 100_000
	maxDepth     = 64 // of bookmarks and of forms in forms
	maxTextBytes = 64 << 10
	pageTime     = 50 * time.Millisecond
	headerWithin = 1024 // bytes at the start of a file in which its header must stand
)

// The errors of FPDF_GetLastError.
const (
	errPassword = 4
	errSecurity = 5
)

// document is an open file.
type document struct {
	s     *sandbox
	doc   uint64
	count int
	fonts map[uint64]font

	ocr      *OCR
	unplaced map[int]bool // pages whose text has no known place
}

// openDocument opens data in a sandbox, which it does not close when that fails.
func openDocument(s *sandbox, data []byte, password connector.Secret) (*document, error) {
	if !bytes.Contains(data[:min(len(data), headerWithin)], []byte("%PDF-")) {
		return nil, connector.Errorf(connector.ClassInvalid, "this is no PDF file: it does not start with %%PDF-")
	}
	s.alive()
	at, _ := s.place(data) // belongs to the document
	var secret uint64
	if password != "" {
		p, free := s.place(append([]byte(password.Reveal()), 0))
		defer free()
		secret = p
	}
	d := &document{s: s, fonts: map[uint64]font{}, ocr: &OCR{}, unplaced: map[int]bool{}}
	d.doc = s.call("FPDF_LoadMemDocument", at, uint64(len(data)), secret)
	if s.err != nil {
		return nil, s.err
	}
	if d.doc == 0 {
		return nil, refused(s.call("FPDF_GetLastError"), password != "")
	}
	d.count = int(int32(uint32(s.call("FPDF_GetPageCount", d.doc))))
	switch {
	case s.err != nil:
		return nil, s.err
	case d.count > maxPages:
		return nil, connector.Errorf(connector.ClassInvalid, "the file claims to have %d pages; at most %d are read: split it", d.count, maxPages)
	}
	s.pause()
	s.left += time.Duration(max(d.count, 0)) * pageTime
	s.alive()
	return d, nil
}

// refused says why PDFium did not open a file.
func refused(code uint64, password bool) error {
	switch {
	case code == errPassword && password:
		return connector.Errorf(connector.ClassInvalid, "the file is encrypted and the password does not open it: check password of parser pdf")
	case code == errPassword:
		return connector.Errorf(connector.ClassInvalid, "the file is encrypted: give its password (parser: { pdf: { password: … } })")
	case code == errSecurity:
		return connector.Errorf(connector.ClassInvalid, "the file is encrypted in a way that cannot be read: save it without encryption")
	}
	return connector.Errorf(connector.ClassInvalid, "the file is damaged or cut short: PDFium finds no document in it; try to open and save it with a PDF reader")
}

func (d *document) close() { d.s.close() }

// about gives the bookmarks and what the file says of itself.
func (d *document) about() ([]pagelayout.Entry, map[string]any, error) {
	props := map[string]any{}
	for _, p := range [...][2]string{{"Title", "title"}, {"Author", "author"}, {"Subject", "subject"}, {"Keywords", "keywords"}, {"CreationDate", "created"}, {"ModDate", "modified"}} {
		tag, free := d.s.place(append([]byte(p[0]), 0))
		value := clean(wide(d.s.text(maxTextBytes, "FPDF_GetMetaText", d.doc, tag)))
		free()
		if p[1] == "created" || p[1] == "modified" {
			value = date(value)
		}
		if value != "" {
			props[p[1]] = value
		}
	}
	if lang := clean(wide(d.s.text(maxTextBytes, "FPDFCatalog_GetLanguage", d.doc))); lang != "" {
		props["language"] = lang
	}
	if len(props) == 0 {
		props = nil
	}
	w := bookmarks{d: d, seen: map[uint64]bool{}}
	w.walk(0, 1)
	d.s.pause()
	return w.entries, props, d.s.err
}

// clean makes one line of a property.
func clean(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool { return r <= ' ' || r == 0x7F || r == '\u00A0' || r == '\uFEFF' }), " ")
}

// date makes D:20240102030405+08'00' a date of RFC 3339, as far as it goes; empty where it is none.
func date(s string) string {
	s = strings.TrimPrefix(s, "D:")
	zone := "Z"
	if i := strings.IndexAny(s, "Zz+-"); i >= 0 {
		if z := strings.ReplaceAll(s[i:], "'", ""); len(z) >= 5 && (z[0] == '+' || z[0] == '-') {
			zone = z[:3] + ":" + z[3:5]
		}
		s = s[:i]
	}
	const layout = "20060102150405"
	for _, n := range [...]int{14, 12, 8} {
		if len(s) < n {
			continue
		}
		t, err := time.Parse(layout[:n]+"Z07:00", s[:n]+zone)
		if err != nil {
			continue
		}
		if n == 8 {
			return t.Format(time.DateOnly)
		}
		return t.Format(time.RFC3339)
	}
	return ""
}

// bookmarks walks the outline.
type bookmarks struct {
	d       *document
	seen    map[uint64]bool
	entries []pagelayout.Entry
}

func (w *bookmarks) walk(parent uint64, level int) {
	s, doc := w.d.s, w.d.doc
	for b := s.call("FPDFBookmark_GetFirstChild", doc, parent); b != 0 && !w.seen[b]; b = s.call("FPDFBookmark_GetNextSibling", doc, b) {
		if level > maxDepth || len(w.entries) >= maxBookmarks || len(w.seen)%256 == 0 && !s.alive() {
			return
		}
		w.seen[b] = true
		title := clean(wide(s.text(maxTextBytes, "FPDFBookmark_GetTitle", b)))
		if title != "" {
			w.entries = append(w.entries, pagelayout.Entry{Title: title, Level: level, Page: w.page(b)})
		}
		w.walk(b, level+1)
	}
}

// page is where a bookmark leads.
func (w *bookmarks) page(b uint64) int {
	s, doc := w.d.s, w.d.doc
	dest := s.call("FPDFBookmark_GetDest", doc, b)
	if dest == 0 {
		if action := s.call("FPDFBookmark_GetAction", b); action != 0 {
			dest = s.call("FPDFAction_GetDest", doc, action)
		}
	}
	if dest == 0 {
		return 0
	}
	return max(int(int32(uint32(s.call("FPDFDest_GetDestPageIndex", doc, dest))))+1, 0)
}

// pages reads one page after the other, and closes the document after the last.
func (d *document) pages() iter.Seq2[pagelayout.Page, error] {
	return func(yield func(pagelayout.Page, error) bool) {
		bad := 0
		for i := range d.count {
			page, ok := d.read(i, true)
			if d.s.err != nil {
				yield(pagelayout.Page{}, d.s.err)
				return
			}
			if !ok {
				if bad++; bad > maxBadPages {
					yield(pagelayout.Page{}, connector.Errorf(connector.ClassInvalid, "the file is damaged: %d of its %d pages cannot be read", bad, d.count))
					return
				}
			}
			if i+1 == d.count {
				d.close()
			}
			if !yield(page, nil) {
				return
			}
		}
	}
}
