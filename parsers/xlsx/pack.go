package xlsx

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// Bounds of the parts of a workbook.
const (
	maxPart  = 32 << 20 // unpacked, of any part but sheets and shared strings
	maxParts = 10_000
	maxLeft  = 64 // names of parts left out that are told
)

// pack is a workbook's package: the parts that matter.
type pack struct {
	parts  map[string]*zip.File // by name in lower case
	slim   []byte               // the package without parts that nobody reads
	limit  int64
	sheets []sheetPart
	left   []string // names of pictures and the like
}

// sheetPart is a sheet of the workbook, in order.
type sheetPart struct {
	name   string
	part   string
	hidden bool
}

// unpack opens a package and checks its sizes before anything is unpacked.
func unpack(data []byte, limit int64) (*pack, error) {
	z, err := zipReader(data)
	if err != nil {
		return nil, err
	}
	if len(z.File) > maxParts {
		return nil, connector.Errorf(connector.ClassInvalid, "the workbook has %d parts, over %d", len(z.File), maxParts)
	}
	p := &pack{parts: map[string]*zip.File{}, limit: limit}
	var slim bytes.Buffer
	out := zip.NewWriter(&slim)
	total, rest := uint64(0), uint64(0)
	for _, f := range z.File {
		name := strings.ToLower(strings.ReplaceAll(f.Name, "\\", "/"))
		if p.parts[name] != nil || strings.HasSuffix(name, "/") {
			continue
		}
		p.parts[name] = f
		size := f.UncompressedSize64
		keep := library(name)
		switch {
		case !keep:
			if strings.HasPrefix(name, "xl/media/") || strings.HasPrefix(name, "xl/charts/chart") || strings.HasPrefix(name, "xl/embeddings/") || name == "xl/vbaproject.bin" {
				if len(p.left) < maxLeft {
					p.left = append(p.left, f.Name)
				}
			}
			continue
		case strings.HasPrefix(name, "xl/worksheets/"), name == "xl/sharedstrings.xml":
		default:
			rest += size
		}
		if total += size; size > uint64(limit) || total > uint64(limit) || rest > maxPart {
			return nil, connector.Errorf(connector.ClassInvalid, "%s unpacks to %d bytes, over the limit: raise max_unpacked if the workbook is sound", f.Name, size)
		}
		if err := out.Copy(f); err != nil {
			return nil, connector.Errorf(connector.ClassInvalid, "%s: %w", f.Name, err)
		}
	}
	if err := out.Close(); err != nil {
		return nil, err
	}
	p.slim = slim.Bytes()
	if err := p.findSheets(); err != nil {
		return nil, err
	}
	if f := p.parts["xl/sharedstrings.xml"]; f != nil {
		if _, err := scan(f); err != nil {
			return nil, connector.Errorf(connector.ClassInvalid, "%s: %w", f.Name, err)
		}
	}
	return p, nil
}

// library says that the library needs the part.
func library(name string) bool {
	switch {
	case name == "[content_types].xml", strings.HasPrefix(name, "_rels/"), strings.HasPrefix(name, "xl/workbook"), strings.HasPrefix(name, "xl/_rels/"),
		name == "xl/styles.xml", name == "xl/sharedstrings.xml", strings.HasPrefix(name, "xl/theme/"), strings.HasPrefix(name, "docprops/"):
		return true
	}
	return strings.HasPrefix(name, "xl/worksheets/") && strings.HasSuffix(name, ".xml")
}

// relation is one entry of a part's relations.
type relation struct {
	ID     string `xml:"Id,attr"`
	Type   string `xml:"Type,attr"`
	Target string `xml:"Target,attr"`
	Mode   string `xml:"TargetMode,attr"`
}

// relations are those of a part, their targets as names of parts.
func (p *pack) relations(part string) ([]relation, error) {
	var doc struct {
		All []relation `xml:"Relationship"`
	}
	dir, base := path.Split(part)
	if _, err := p.decode(dir+"_rels/"+base+".rels", &doc); err != nil {
		return nil, err
	}
	for i, r := range doc.All {
		target := strings.ReplaceAll(r.Target, "\\", "/")
		if !strings.HasPrefix(target, "/") {
			target = path.Join("/", dir, target)
		}
		doc.All[i].Target = strings.ToLower(strings.TrimPrefix(path.Clean(target), "/"))
	}
	return doc.All, nil
}

// decode reads a part of XML; found is false where there is no such part.
func (p *pack) decode(name string, into any) (found bool, err error) {
	f := p.parts[strings.ToLower(name)]
	if f == nil {
		return false, nil
	}
	if f.UncompressedSize64 > maxPart {
		return true, fmt.Errorf("%s unpacks to %d bytes, over %d", f.Name, f.UncompressedSize64, maxPart)
	}
	r, err := f.Open()
	if err != nil {
		return true, fmt.Errorf("%s: %w", f.Name, err)
	}
	defer func() { _ = r.Close() }()
	d := xml.NewDecoder(io.LimitReader(r, maxPart))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // all that matters here is ASCII or UTF-8
	if err := d.Decode(into); err != nil {
		return true, fmt.Errorf("%s: %w", f.Name, err)
	}
	return true, nil
}

// findSheets reads the list of sheets.
func (p *pack) findSheets() error {
	var book struct {
		Sheets []struct {
			Name  string     `xml:"name,attr"`
			State string     `xml:"state,attr"`
			Attrs []xml.Attr `xml:",any,attr"`
		} `xml:"sheets>sheet"`
	}
	rels, err := p.relations("")
	if err != nil {
		return connector.Errorf(connector.ClassInvalid, "%w", err)
	}
	part := ""
	for _, r := range rels {
		if strings.HasSuffix(r.Type, "/officeDocument") {
			part = r.Target
		}
	}
	found, err := p.decode(part, &book)
	if err == nil && !found {
		err = errors.New("it has no part for the workbook, so it is no workbook")
	}
	if err != nil {
		return connector.Errorf(connector.ClassInvalid, "%w", err)
	}
	rels, err = p.relations(part)
	if err != nil {
		return connector.Errorf(connector.ClassInvalid, "%w", err)
	}
	target := map[string]string{}
	for _, r := range rels {
		target[r.ID] = r.Target
	}
	for _, s := range book.Sheets {
		part := ""
		for _, a := range s.Attrs {
			if a.Name.Local == "id" {
				part = target[a.Value]
			}
		}
		if !strings.HasPrefix(part, "xl/worksheets/") || p.parts[part] == nil { // a sheet that is a chart, or a macro
			if len(p.left) < maxLeft {
				p.left = append(p.left, "sheet without cells: "+s.Name)
			}
			continue
		}
		p.sheets = append(p.sheets, sheetPart{name: s.Name, part: part, hidden: s.State == "hidden" || s.State == "veryHidden"})
	}
	return nil
}
