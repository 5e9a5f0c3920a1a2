// Package omml writes the equations of Office documents (Office Math Markup, ISO/IEC 29500-1 §22.1) as LaTeX.
//
// It covers fractions, radicals, scripts, n-ary operators, delimiters, functions, limits, accents, bars, boxes, groups, matrices and arrays
// of equations. Letters of mathematical alphabets stay the characters they are; Greek letters and common operators become commands.
package omml

import (
	"strings"

	"github.com/kbsync/kbsync/internal/xmlscan"
)

// maxDepth is how deep what is written nests; deeper parts are written as their text.
const maxDepth = 100

// Read writes the equation whose Start (m:oMath, or m:oMathPara) is the scanner's current event, and goes to its End. The equations of a
// paragraph are separated by spaces.
func Read(s *xmlscan.Scanner) (string, error) {
	r := reader{s: s}
	out, err := r.children(0)
	return strings.TrimSpace(out), err
}

type reader struct{ s *xmlscan.Scanner }

// part is what a structure is made of: its arguments by name, in order, and its properties.
type part struct {
	args  map[string][]string
	props map[string]string
}

func (p *part) arg(name string) string { return strings.Join(p.args[name], "") }

// children writes what the current element holds.
func (r *reader) children(depth int) (string, error) {
	var b strings.Builder
	for open := r.s.Depth(); ; {
		k, err := r.s.Next()
		if err != nil {
			return "", err
		}
		if r.s.Depth() < open {
			return b.String(), nil
		}
		if k != xmlscan.Start {
			continue
		}
		text, err := r.element(depth + 1)
		if err != nil {
			return "", err
		}
		join(&b, text)
	}
}

// join appends text so that no command runs into a letter.
func join(b *strings.Builder, text string) {
	if text == "" {
		return
	}
	if b.Len() > 0 && isLetter(text[0]) && endsInCommand(b.String()) {
		b.WriteByte(' ')
	}
	b.WriteString(text)
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// longestCommand bounds how far back a command is looked for.
const longestCommand = 24

func endsInCommand(s string) bool {
	for i := len(s) - 1; i >= 0 && i > len(s)-longestCommand; i-- {
		if s[i] == '\\' {
			return i < len(s)-1
		}
		if !isLetter(s[i]) {
			return false
		}
	}
	return false
}

// element writes the element whose Start is the current event, and goes to its End.
func (r *reader) element(depth int) (string, error) {
	name := string(r.s.Name())
	if depth >= maxDepth {
		return r.run()
	}
	switch name {
	case "r":
		return r.run()
	case "ctrlPr", "rPr", "oMathParaPr", "del", "moveFrom":
		return "", r.s.Skip()
	case "oMath":
		out, err := r.children(depth)
		if out != "" {
			out += " "
		}
		return out, err
	case "f", "rad", "sSup", "sSub", "sSubSup", "sPre", "nary", "d", "func", "limLow", "limUpp", "acc", "bar", "box", "borderBox", "groupChr", "m", "eqArr", "phant":
		p, err := r.part(depth + 1)
		if err != nil {
			return "", err
		}
		return p.write(name), nil
	}
	return r.children(depth)
}

// part reads a structure.
func (r *reader) part(depth int) (*part, error) {
	p := &part{args: map[string][]string{}, props: map[string]string{}}
	for open := r.s.Depth(); ; {
		k, err := r.s.Next()
		if err != nil {
			return nil, err
		}
		if r.s.Depth() < open {
			return p, nil
		}
		if k != xmlscan.Start {
			continue
		}
		name := string(r.s.Name())
		if strings.HasSuffix(name, "Pr") {
			if err := r.properties(p); err != nil {
				return nil, err
			}
			continue
		}
		var text string
		if name == "mr" {
			text, err = r.matrixRow(depth)
		} else {
			text, err = r.children(depth)
		}
		if err != nil {
			return nil, err
		}
		p.args[name] = append(p.args[name], strings.TrimSpace(text))
	}
}

// matrixRow writes the cells of one row.
func (r *reader) matrixRow(depth int) (string, error) {
	var cells []string
	for open := r.s.Depth(); ; {
		k, err := r.s.Next()
		if err != nil {
			return "", err
		}
		if r.s.Depth() < open {
			return strings.Join(cells, " & "), nil
		}
		if k == xmlscan.Start {
			cell, err := r.children(depth)
			if err != nil {
				return "", err
			}
			cells = append(cells, strings.TrimSpace(cell))
		}
	}
}

// properties reads the properties of a structure.
func (r *reader) properties(p *part) error {
	for open := r.s.Depth(); r.s.Depth() >= open; {
		k, err := r.s.Next()
		if err != nil {
			return err
		}
		if k != xmlscan.Start {
			continue
		}
		if v, ok := r.s.Attr("val"); ok {
			p.props[string(r.s.Name())] = string(v)
		} else {
			p.props[string(r.s.Name())] = "on"
		}
	}
	return nil
}

// run writes the text of a run, or of whatever is in the current element.
func (r *reader) run() (string, error) {
	var b strings.Builder
	plain, in := false, false
	for open := r.s.Depth(); r.s.Depth() >= open; {
		k, err := r.s.Next()
		if err != nil {
			return "", err
		}
		switch name := string(r.s.Name()); {
		case k == xmlscan.Text && in:
			if plain {
				text(&b, string(r.s.Text()))
			} else {
				symbols(&b, string(r.s.Text()))
			}
		case k == xmlscan.Text:
		case name == "t":
			in = k == xmlscan.Start
		case k == xmlscan.Start && name == "nor":
			v, _ := r.s.Attr("val")
			plain = string(v) != "0" && string(v) != "off"
		case k == xmlscan.Start && (name == "instrText" || name == "delText"):
			if err := r.s.Skip(); err != nil {
				return "", err
			}
		}
	}
	return b.String(), nil
}
