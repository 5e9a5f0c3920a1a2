package pptx

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/ooxml"
	"github.com/kbsync/kbsync/internal/xmlscan"
)

// sorted are relationships in an order that does not change.
func sorted(rels map[string]ooxml.Rel) []ooxml.Rel {
	out := make([]ooxml.Rel, 0, len(rels))
	for _, rel := range rels {
		if !rel.External {
			out = append(out, rel)
		}
	}
	slices.SortFunc(out, func(a, b ooxml.Rel) int { return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Target, b.Target)) })
	return slices.Compact(out)
}

// notes are the speaker notes of a slide, as quotes of which the first says what they are.
func (d *deck) notes(part string, page int) ([]blocks.Block, error) {
	if d.shown[part] {
		return nil, nil
	}
	d.shown[part] = true
	rels, err := d.pkg.Rels(part)
	if err != nil {
		return nil, err
	}
	r := &reader{d: d, rels: rels, page: page, layout: &layout{}}
	var all []blocks.Block
	err = d.optional(part, func(s *xmlscan.Scanner) error {
		r.s = s
		all, err = r.tree()
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []blocks.Block
	marker := "Notes:"
	for _, b := range all {
		b.Box = nil // that of the notes' page
		if b.Kind == connector.KindDropped || b.Kind == connector.KindTable {
			out = append(out, b)
			continue
		}
		if b.Text = strings.TrimSpace(b.Text); b.Text == "" {
			continue
		}
		if b.Kind == connector.KindMath {
			b.Text = "$" + b.Text + "$"
		}
		if !d.cfg.Notes {
			out = append(out, blocks.Block{Kind: connector.KindDropped, Reason: connector.DropHidden, Text: "notes: " + b.Text})
			continue
		}
		b.Kind, b.Marker = connector.KindQuote, strings.TrimSpace(marker+" "+b.Marker)
		out = append(out, b)
		marker = ""
	}
	return out, nil
}

// comments are those of reviewers, of the old kind and of the one with answers.
func (d *deck) comments(part string, page int) ([]blocks.Block, error) {
	if d.shown[part] {
		return nil, nil
	}
	d.shown[part] = true
	var out []blocks.Block
	author := ""
	add := func(text string) {
		if text = strings.TrimSpace(text); text == "" {
			return
		}
		if !d.cfg.Comments {
			out = append(out, blocks.Block{Kind: connector.KindDropped, Reason: connector.DropComment, Text: text})
			return
		}
		marker := ""
		if author != "" {
			marker = author + ":"
		}
		out = append(out, blocks.Block{Kind: connector.KindQuote, Marker: marker, Text: text, Page: page})
	}
	err := d.optional(part, func(s *xmlscan.Scanner) error {
		for depth := s.Depth(); s.Depth() >= depth; {
			k, err := s.Next()
			if err != nil {
				return err
			}
			if k != xmlscan.Start {
				continue
			}
			switch string(s.Name()) {
			case "cm", "reply":
				author = d.authors[s.String("authorId")]
			case "text":
				text, err := ooxml.Content(s)
				if err != nil {
					return err
				}
				add(text)
			case "txBody":
				r := &reader{d: d, s: s, page: page, layout: &layout{}}
				body, err := r.body(nil)
				if err != nil {
					return err
				}
				var text strings.Builder
				for _, b := range body {
					text.WriteString(strings.TrimSpace(b.Marker+" "+b.Text) + "\n")
				}
				add(text.String())
			}
		}
		return nil
	})
	return out, err
}
