// Package ooxml reads what the documents of Office Open XML have in common: relationships, properties, charts and diagrams. Elements are
// known by their local names, so that transitional and strict documents read alike.
package ooxml

import (
	"errors"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/xmlscan"
	"github.com/kbsync/kbsync/internal/zipdoc"
)

// Rel is a relationship: what a part refers to.
type Rel struct {
	Type     string // the last part of the type's address: "image", "styles"
	Target   string // the part's name, or an address
	External bool
}

// Document is an open package.
type Document struct {
	*zipdoc.Package
	Main string // the part that holds the document
}

// Open reads a package whose main part stands at usual, if the package does not say otherwise. what names the format in errors.
func Open(r io.Reader, limits zipdoc.Limits, usual, what string) (*Document, error) {
	z, err := zipdoc.Read(r, limits)
	if err != nil {
		return nil, err
	}
	d := &Document{Package: z, Main: usual}
	rels, err := d.Rels("")
	if err != nil {
		return nil, err
	}
	folder, _, _ := strings.Cut(usual, "/")
	for _, rel := range rels {
		if rel.Type == "officeDocument" && strings.HasPrefix(rel.Target, folder+"/") && z.Has(rel.Target) {
			d.Main = rel.Target
		}
	}
	if !z.Has(d.Main) {
		return nil, connector.Errorf(connector.ClassInvalid, "it has no part %s, so it is no %s: its extension may be wrong", usual, what)
	}
	return d, nil
}

// Rels are the relationships of a part by their ids; those of the package for an empty name. A part without any has none.
func (d *Document) Rels(part string) (map[string]Rel, error) {
	dir, file := path.Split(part)
	name := dir + "_rels/" + file + ".rels"
	out := map[string]Rel{}
	if !d.Has(name) {
		return out, nil
	}
	err := d.Scan(name, func(s *xmlscan.Scanner) error {
		return Each(s, func([]byte) error {
			kind, target := s.String("Type"), s.String("Target")
			rel := Rel{Type: kind[strings.LastIndexByte(kind, '/')+1:], Target: target, External: s.String("TargetMode") == "External"}
			if !rel.External {
				rel.Target = Resolve(dir, target)
			}
			out[s.String("Id")] = rel
			return nil
		})
	})
	return out, err
}

// Resolve is the part that a reference in a folder names.
func Resolve(dir, target string) string {
	target, _, _ = strings.Cut(target, "#")
	if plain, err := url.PathUnescape(target); err == nil {
		target = plain
	}
	target = strings.ReplaceAll(target, `\`, "/")
	if !strings.HasPrefix(target, "/") {
		target = path.Join("/", dir, target)
	}
	return strings.TrimPrefix(path.Clean(target), "/")
}

// Scan reads a part: visit gets a scanner whose current event is the Start of the root. A part that is not there is an error.
func (d *Document) Scan(part string, visit func(s *xmlscan.Scanner) error) error {
	data, err := d.Bytes(part)
	if err != nil {
		return err
	}
	if err := ScanBytes(data, visit); err != nil {
		return connector.Errorf(connector.ClassOf(err), "part %s: %w", part, err)
	}
	return nil
}

// ScanBytes is Scan for a part in memory.
func ScanBytes(data []byte, visit func(s *xmlscan.Scanner) error) error {
	s, err := xmlscan.New(data)
	if err != nil {
		return err
	}
	if _, err := s.Next(); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	return visit(s)
}

// Each calls visit with the local name of each child of the element whose Start is the current event, and goes to its End. What visit leaves
// unread of a child is skipped.
func Each(s *xmlscan.Scanner, visit func(name []byte) error) error {
	depth := s.Depth()
	for {
		k, err := s.Next()
		if err != nil {
			return err
		}
		switch {
		case s.Depth() < depth:
			return nil
		case k == xmlscan.Start:
			if err := visit(s.Name()); err != nil {
				return err
			}
			for s.Depth() > depth {
				if _, err := s.Next(); err != nil {
					return err
				}
			}
		}
	}
}

// Content is the text inside of the element whose Start is the current event; it goes to its End.
func Content(s *xmlscan.Scanner) (string, error) {
	var b []byte
	for depth := s.Depth(); s.Depth() >= depth; {
		k, err := s.Next()
		if err != nil {
			return "", err
		}
		if k == xmlscan.Text {
			b = append(b, s.Text()...)
		}
	}
	return string(b), nil
}

// Properties are what the package says about itself. Damage in them is no error of the document.
func (d *Document) Properties() map[string]any {
	rels, err := d.Rels("")
	if err != nil {
		return nil
	}
	part := "docProps/core.xml"
	for _, rel := range rels {
		if rel.Type == "core-properties" {
			part = rel.Target
		}
	}
	out := map[string]any{}
	_ = d.Scan(part, func(s *xmlscan.Scanner) error {
		return Each(s, func(name []byte) error {
			key := propertyKey(string(name))
			if key == "" {
				return nil
			}
			text, err := Content(s)
			if text = strings.Join(strings.Fields(text), " "); text != "" {
				out[key] = text
			}
			return err
		})
	})
	if len(out) == 0 {
		return nil
	}
	return out
}

func propertyKey(name string) string {
	switch name {
	case "creator":
		return "author"
	case "title", "subject", "description", "keywords", "category", "language", "created", "modified":
		return name
	}
	return ""
}
