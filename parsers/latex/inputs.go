package latex

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// maxInputDepth bounds how deep files take in files.
const maxInputDepth = 10

// input is a command that takes in a file.
type input struct {
	lo, hi int
	name   string // of the command
	dir    string // of \import and \subimport
	file   string
}

func takesIn(name string) bool {
	return name == "input" || name == "include" || name == "import" || name == "subimport"
}

// input notes \input{file}, \include{file}, \import{dir}{file} and \subimport{dir}{file}; what is written otherwise is text.
func (s *scanner) input(lo, after int, name string) {
	in := input{lo: lo, name: name}
	hi := after
	if name == "import" || name == "subimport" {
		dir, end, ok := s.fileName(hi)
		if !ok {
			return
		}
		in.dir, hi = dir, end
	}
	file, end, ok := s.fileName(hi)
	if !ok || file == "" {
		return
	}
	in.file, in.hi = file, end
	s.inputs = append(s.inputs, in)
}

// fileName reads {name} at a place; a name holds no command and no line end.
func (s *scanner) fileName(at int) (name string, end int, ok bool) {
	rest := strings.TrimLeft(s.text[at:], " ")
	start := len(s.text) - len(rest)
	if !strings.HasPrefix(rest, "{") {
		return "", 0, false
	}
	name, _, ok = strings.Cut(rest[1:min(len(rest), 4096)], "}")
	if !ok || strings.ContainsAny(name, "\\{%#\n\x00") {
		return "", 0, false
	}
	return strings.TrimSpace(name), start + len(name) + 2, true
}

// expansion reads the files of a document in the place of the commands that name them.
type expansion struct {
	doc   *connector.Document
	left  int              // bytes that may still be taken in
	open  []string         // the files that are being read
	parts []*decode.Reader // of what was taken in, for what they dropped
}

// expand gives the text of a file with what it takes in.
func (x *expansion) expand(ctx context.Context, text, file string, depth int) (string, error) {
	if depth >= maxInputDepth {
		return text, nil
	}
	x.open = append(x.open, file)
	defer func() { x.open = x.open[:len(x.open)-1] }()
	var b strings.Builder
	at := 0
	for _, in := range scan(text).inputs {
		if in.lo < at {
			continue
		}
		part, name, err := x.find(ctx, &in, file)
		if err != nil {
			return "", err
		}
		if name == "" {
			continue
		}
		if part, err = x.expand(ctx, part, name, depth+1); err != nil {
			return "", err
		}
		b.WriteString(text[at:in.lo])
		b.WriteString(part)
		if at = in.hi; !strings.HasSuffix(part, "\n") && !strings.HasPrefix(text[at:], "\n") { // the end of a file ends its last line
			b.WriteByte('\n')
		}
	}
	if at == 0 {
		return text, nil
	}
	b.WriteString(text[at:])
	return b.String(), nil
}

// find reads the file that a command names; name is empty where there is none that can be taken in.
func (x *expansion) find(ctx context.Context, in *input, from string) (text, name string, err error) {
	for _, candidate := range x.candidates(in, from) {
		if slices.Contains(x.open, candidate) {
			return "", "", nil // it takes itself in
		}
		doc, err := x.doc.Sibling(ctx, candidate)
		switch class := connector.ClassOf(err); {
		case class == connector.ClassNotFound, class == connector.ClassInvalid:
			continue
		case err != nil:
			return "", "", fmt.Errorf("%s: %w", candidate, err)
		}
		text, ok, err := x.read(ctx, doc)
		if err != nil {
			return "", "", fmt.Errorf("%s: %w", candidate, err)
		}
		if !ok {
			return "", "", nil
		}
		return text, candidate, nil
	}
	return "", "", nil
}

// candidates are the paths that a command may mean, as TeX looks for them: from the folder of the whole document, then from that of the file that
// has the command; with .tex first.
func (x *expansion) candidates(in *input, from string) []string {
	dirs := []string{path.Dir(x.doc.Path), path.Dir(from)}
	if in.name == "subimport" {
		dirs = dirs[1:]
	}
	names := []string{in.file + ".tex"}
	if in.name != "include" {
		names = append(names, in.file)
	}
	if strings.HasSuffix(in.file, ".tex") {
		names = []string{in.file}
	}
	var out []string
	for _, dir := range dirs {
		for _, name := range names {
			if path.IsAbs(name) || path.IsAbs(in.dir) {
				continue
			}
			p := path.Join(dir, in.dir, name)
			if p != ".." && !strings.HasPrefix(p, "../") && !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// read reads a file; ok is false for one that is too large to be taken in.
func (x *expansion) read(ctx context.Context, doc *connector.Document) (text string, ok bool, err error) {
	if doc.Size > int64(x.left) {
		return "", false, nil
	}
	rc, err := doc.Open(ctx)
	if err != nil {
		return "", false, err
	}
	src := decode.NewReader(rc, decode.Options{})
	text, whole, err := src.ReadUpTo(x.left)
	if err == nil && !whole {
		_, err = io.Copy(io.Discard, rc)
	}
	if cerr := rc.Close(); err == nil {
		err = cerr
	}
	if err != nil || !whole || len(text) > x.left {
		return "", false, err
	}
	x.left -= len(text)
	x.parts = append(x.parts, src)
	return text, true, nil
}
