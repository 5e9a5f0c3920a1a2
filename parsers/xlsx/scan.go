package xlsx

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/internal/sheets"
)

// maxMerged bounds the merged ranges of a sheet that are read.
const maxMerged = 10_000

// Bounds of what the library may be given: no real part comes near them.
const (
	maxDepth = 1000
	maxText  = 8 << 20
)

// facts are what a sheet's XML says beside its cells.
type facts struct {
	rows   int // the number of the last row; 0 if rows are not numbered
	merged []sheets.Merge

	depth int  // open elements
	run   int  // bytes since the last tag
	ended bool // the outermost element has been seen
}

// scan passes over the bytes of a part without parsing them, for the library would read a whole sheet into memory to tell its merged cells,
// and nested elements or one long text would cost it any amount.
func scan(part *zip.File) (facts, error) {
	var out facts
	r, err := part.Open()
	if err != nil {
		return out, err
	}
	defer func() { _ = r.Close() }()
	buf := make([]byte, 0, 256<<10)
	for err == nil {
		var n int
		n, err = r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err != nil && !errors.Is(err, io.EOF) {
			return out, err
		}
		used := out.take(buf)
		if used == 0 && len(buf) == cap(buf) {
			return out, errors.New("a tag of its XML is longer than any real one")
		}
		if out.depth > maxDepth || out.run > maxText {
			return out, errors.New("its XML is nested too deeply, or holds one text over 8 MiB")
		}
		buf = buf[:copy(buf, buf[used:])]
	}
	if out.depth != 0 || !out.ended {
		return out, errors.New("its XML is cut short")
	}
	return out, nil
}

// take looks at the tags in b and returns how much of it is dealt with.
func (f *facts) take(b []byte) int {
	at := 0
	for {
		i := bytes.IndexByte(b[at:], '<')
		if i < 0 {
			f.run += len(b) - at
			return len(b)
		}
		at += i
		end := bytes.IndexByte(b[at:], '>')
		if end < 0 {
			return at
		}
		f.run = 0
		f.tag(b[at+1 : at+end])
		at += end + 1
	}
}

func (f *facts) tag(tag []byte) {
	if len(tag) == 0 || tag[0] == '?' || tag[0] == '!' {
		return
	}
	switch {
	case tag[0] == '/':
		f.depth--
	case tag[len(tag)-1] != '/':
		f.depth++
	}
	f.ended = true
	name, rest, _ := bytes.Cut(tag, []byte{' '})
	name = name[bytes.LastIndexByte(name, ':')+1:]
	switch string(name) {
	case "row":
		if n, err := strconv.Atoi(attribute(rest, "r")); err == nil {
			f.rows = n
		}
	case "mergeCell":
		if m, ok := mergeRange(attribute(rest, "ref")); ok && len(f.merged) < maxMerged {
			f.merged = append(f.merged, m)
		}
	}
}

// attribute is the value of an attribute in the rest of a tag.
func attribute(tag []byte, name string) string {
	s := " " + string(tag)
	i := strings.Index(s, " "+name+"=")
	if i < 0 || i+len(name)+3 > len(s) {
		return ""
	}
	s = s[i+len(name)+2:]
	value, _, ok := strings.Cut(s[1:], s[:1])
	if !ok {
		return ""
	}
	return value
}

// mergeRange reads a range such as A1:C2.
func mergeRange(ref string) (sheets.Merge, bool) {
	from, to, ok := strings.Cut(ref, ":")
	c1, r1, ok1 := cellName(from)
	c2, r2, ok2 := cellName(to)
	return sheets.Merge{Row: r1, Col: c1, LastRow: r2, LastCol: c2}, ok && ok1 && ok2 && c1 <= c2 && r1 <= r2
}

// cellName reads a name such as AB12: the column from 0, the row from 1.
func cellName(s string) (col, row int, ok bool) {
	s = strings.ReplaceAll(s, "$", "")
	i := 0
	for i < len(s) && i < 3 && s[i] >= 'A' && s[i] <= 'Z' {
		col = col*26 + int(s[i]-'A') + 1
		i++
	}
	row, err := strconv.Atoi(s[i:])
	return col - 1, row, i > 0 && err == nil && row > 0 && row <= 1<<20 && col <= 1<<14
}

// annotations are the comments on a sheet's cells and the texts of its drawings.
func (p *pack) annotations(s *sheetPart) ([]string, error) {
	rels, err := p.relations(s.part)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range rels {
		var texts []string
		switch {
		case strings.HasSuffix(r.Type, "/comments"):
			texts, err = p.comments(r.Target)
		case strings.HasSuffix(r.Type, "/drawing"):
			texts, err = p.drawing(r.Target)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, texts...)
	}
	return out, nil
}

// comments are those of a part, each as a line with its cell and its author.
func (p *pack) comments(part string) ([]string, error) {
	type text struct {
		Text string   `xml:"t"`
		Runs []string `xml:"r>t"`
	}
	var doc struct {
		Authors []string `xml:"authors>author"`
		All     []struct {
			Ref    string `xml:"ref,attr"`
			Author int    `xml:"authorId,attr"`
			Text   text   `xml:"text"`
		} `xml:"commentList>comment"`
	}
	if _, err := p.decode(part, &doc); err != nil {
		return nil, err
	}
	var out []string
	for _, c := range doc.All {
		body := strings.TrimSpace(c.Text.Text + strings.Join(c.Text.Runs, ""))
		author := ""
		if c.Author >= 0 && c.Author < len(doc.Authors) && !strings.HasPrefix(doc.Authors[c.Author], "tc=") {
			author = doc.Authors[c.Author]
		}
		if author != "" && !strings.HasPrefix(body, author+":") {
			body = author + ": " + body
		}
		if body != "" {
			out = append(out, fmt.Sprintf("[%s] %s", c.Ref, body))
		}
	}
	return out, nil
}

// drawing are the paragraphs of a drawing's text boxes.
func (p *pack) drawing(part string) ([]string, error) {
	var doc struct {
		Inner []byte `xml:",innerxml"`
	}
	if _, err := p.decode(part, &doc); err != nil {
		return nil, err
	}
	var out []string
	var line strings.Builder
	d := xml.NewDecoder(bytes.NewReader(doc.Inner))
	inText := false
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part, err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			inText = t.Name.Local == "t"
		case xml.CharData:
			if inText {
				line.Write(t)
			}
		case xml.EndElement:
			inText = false
			if t.Name.Local == "p" && strings.TrimSpace(line.String()) != "" {
				out = append(out, strings.TrimSpace(line.String()))
				line.Reset()
			}
		}
	}
}
