package docx

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/xmlscan"
)

// picture is what is known of a drawing that has no text.
type picture struct {
	alt   string
	names []string
	shown bool // it has text, or is no picture
}

// drawing reads a drawing of a run: the texts of its boxes, charts and diagrams, and what stands in for its pictures.
func (r *reader) drawing(p *paragraph) error {
	var pic picture
	for depth := r.s.Depth(); r.s.Depth() >= depth; {
		k, err := r.s.Next()
		if err != nil {
			return err
		}
		if k == xmlscan.Start {
			if err := r.drawn(p, &pic); err != nil {
				return err
			}
		}
	}
	if r.gone > 0 || pic.shown {
		return nil
	}
	if pic.alt != "" {
		p.boxes = append(p.boxes, blocks.Block{Kind: connector.KindImage, Text: pic.alt, Page: r.page})
		return nil
	}
	for _, name := range pic.names {
		r.embedded(name)
	}
	return nil
}

// drawn deals with the start of an element of a drawing.
func (r *reader) drawn(p *paragraph, pic *picture) error {
	switch string(r.s.Name()) {
	case "docPr":
		if alt := r.alt("descr", "title"); alt != "" {
			pic.alt = alt
		}
	case "cNvPr": // of pictures in groups
		if alt := r.alt("descr"); alt != "" && !strings.Contains(pic.alt, alt) {
			pic.alt = strings.TrimSpace(pic.alt + "\n" + alt)
		}
	case "shape", "rect", "image":
		if alt := r.alt("alt"); alt != "" {
			pic.alt = alt
		}
	case "blip", "imagedata":
		pic.names = append(pic.names, r.target("picture"))
	case "OLEObject":
		pic.names = append(pic.names, strings.TrimSpace("object "+r.s.String("ProgID")))
	case "Fallback":
		return r.s.Skip()
	case "chart":
		return r.shown(p, pic, r.d.pkg.Chart(r.target("")))
	case "relIds":
		rel := r.d.rels[r.relation("dm")]
		r.d.lists++
		return r.shown(p, pic, r.d.pkg.Diagram(rel.Target, r.d.lists))
	case "txbxContent":
		if r.nested >= maxNested {
			r.out(blocks.Block{Kind: connector.KindDropped, Reason: connector.DropLimit, Text: "a text box inside of many others"})
			return nil
		}
		inner, err := r.inner()
		if err != nil {
			return err
		}
		if r.gone > 0 {
			var text strings.Builder
			for _, b := range inner {
				plain(&text, b)
			}
			p.deleted = append(p.deleted, text.String()...)
			return nil
		}
		return r.shown(p, pic, inner)
	}
	return nil
}

// shown adds the blocks of a drawing behind the paragraph.
func (r *reader) shown(p *paragraph, pic *picture, inner []blocks.Block) error {
	for _, b := range inner {
		pic.shown = pic.shown || b.Kind != connector.KindDropped
		if b.Page == 0 {
			b.Page = r.page
		}
		p.boxes = append(p.boxes, b)
	}
	return nil
}

// alt is the first attribute of those names that has a text.
func (r *reader) alt(names ...string) string {
	for _, name := range names {
		if v := strings.TrimSpace(r.s.String(name)); v != "" {
			return v
		}
	}
	return ""
}
