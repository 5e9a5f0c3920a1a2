package rst

import (
	"strings"
	"unicode"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/lightmarkup"
)

// explicit reads what starts with "..": a note, a target, a directive, a substitution, or a comment, which is cut out.
func (b *builder) explicit(els []connector.Element, i, hi, indent int, at place) ([]connector.Element, int) {
	line := b.Line(i)
	if line == ".." && (i+1 >= hi || b.Blank(i+1)) { // it ends what is above, and takes nothing in
		b.Cut(i, i+1)
		return els, i + 1
	}
	end := b.Indented(i+1, hi, indent)
	rest := strings.TrimLeft(line[2:], " ")
	switch {
	case noteLabel(rest) > 0:
		el := b.Element(connector.KindFootnote, i, end)
		el.Children = b.entered(i, end, len(line)-len(rest)+noteLabel(rest), at.in())
		return append(els, el), end
	case strings.HasPrefix(rest, "_") && strings.Contains(rest, ":"):
		next := b.targetEnd(i, end)
		return append(els, b.Element(connector.KindText, i, next)), next
	case strings.HasPrefix(rest, "|") && strings.Contains(rest, "::"):
		return append(els, b.Element(connector.KindText, i, end)), end
	}
	if d, ok := b.directive(i, end, rest); ok {
		if d.name == "highlight" || d.name == "highlightlang" {
			b.highlight = lightmarkup.Language(d.arg)
		}
		return append(els, b.directed(d, at)), end
	}
	b.Cut(i, b.Trim(i, end))
	return els, end
}

// targetEnd is where a target ends that starts in line i: its address may go on in deeper lines, but not over a blank one.
func (b *builder) targetEnd(i, end int) int {
	for i++; i < end && !b.Blank(i); i++ {
	}
	return i
}

// noteLabel is the length of "[label]" at the start of a footnote or citation; 0 if there is none.
func noteLabel(s string) int {
	if !strings.HasPrefix(s, "[") {
		return 0
	}
	i := strings.IndexByte(s, ']')
	if i < 2 || i > 128 || i+1 < len(s) && s[i+1] != ' ' || strings.ContainsAny(s[1:i], " []|") {
		return 0
	}
	return i + 1
}

// directive is a directive in the lines lo to hi.
type directive struct {
	name    string
	arg     string
	options map[string]string
	places  map[string]int // the lines of the options
	lo, hi  int
	body    int // where its content starts; hi if it has none
}

// maxOptions bounds the options of a directive.
const maxOptions = 64

// directive reads the head of a directive.
func (b *builder) directive(lo, hi int, rest string) (*directive, bool) {
	i := strings.Index(rest, "::")
	if i < 1 || i > 64 || i+2 < len(rest) && rest[i+2] != ' ' && rest[i+2] != '\t' {
		return nil, false
	}
	name := strings.TrimSuffix(rest[:i], " ")
	for k, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && (k == 0 || !strings.ContainsRune("-_+.:", r)) {
			return nil, false
		}
	}
	d := &directive{name: strings.ToLower(name), arg: strings.TrimSpace(rest[i+2:]), lo: lo, hi: hi}
	if _, after, ok := strings.Cut(d.name, ":"); ok && strings.HasPrefix(d.name, "rst-") {
		d.name = after
	}
	at := lo + 1
	var arg []string
	for ; at < hi && !b.Blank(at); at++ {
		line := b.Line(at)
		n := 0
		if line[0] == ':' {
			n = fieldMark(line)
		}
		switch {
		case n > 0 && len(d.options) < maxOptions:
			if d.options == nil {
				d.options, d.places = map[string]string{}, map[string]int{}
			}
			key := strings.ToLower(line[1 : n-1])
			d.options[key], d.places[key] = strings.TrimSpace(line[n:]), at
		case d.options == nil && d.arg == "":
			d.body = at
			return d, true
		case d.options == nil:
			arg = append(arg, line)
		}
	}
	if len(arg) > 0 {
		d.arg = lightmarkup.Join(append([]string{d.arg}, arg...))
	}
	d.body = b.Skip(at, hi)
	return d, true
}

// directed makes the element of a directive.
func (b *builder) directed(d *directive, at place) connector.Element {
	el := b.Element(connector.KindText, d.lo, d.hi)
	switch d.name {
	case "code", "code-block", "sourcecode", "literalinclude", "parsed-literal", "prompt", "ipython", "doctest", "testcode", "testsetup", "testoutput",
		"code-cell", "jupyter-execute", "productionlist", "graphviz", "digraph", "graph", "mermaid", "uml", "plantuml", "terminal", "command-output":
		b.code(&el, d)
	case "math", "displaymath":
		el.Kind, el.Atom = connector.KindMath, true
	case "image":
		el.Kind, el.Title = connector.KindImage, d.options["alt"]
	case "figure":
		el.Kind, el.Title = connector.KindImage, b.caption(d)
	case "raw":
		if el.Kind, el.Atom = connector.KindCode, true; strings.Contains(d.arg, "html") {
			el.Kind, el.Atom = connector.KindHTML, false
		} else {
			el.Language = lightmarkup.Language(d.arg)
		}
	case "table":
		return b.tableIn(d, at)
	case "csv-table":
		return b.csvTable(d)
	case "list-table", "flat-table":
		return b.listTable(d, at)
	case "toctree", "include", "contents", "index", "meta", "autosummary", "sectnum", "role", "default-role":
	case "note", "warning", "tip", "hint", "important", "caution", "danger", "error", "attention", "admonition", "seealso", "todo", "epigraph",
		"highlights", "pull-quote", "topic", "sidebar", "deprecated", "versionadded", "versionchanged", "versionremoved", "compound", "rubric":
		el.Kind = connector.KindQuote
		el.Children = b.inner(d.body, d.hi, at.in())
	default:
		el.Children = b.inner(d.body, d.hi, at.in())
	}
	return el
}

// code sets what a directive says of its code.
func (b *builder) code(el *connector.Element, d *directive) {
	el.Kind, el.Atom = connector.KindCode, true
	el.Title = d.options["caption"]
	name := d.arg
	switch d.name {
	case "code", "code-block", "sourcecode":
		if name == "" {
			el.Language = b.highlight
			return
		}
	case "literalinclude":
		name = d.options["language"]
	case "doctest", "testcode", "testsetup", "ipython", "code-cell", "jupyter-execute":
		name = "python"
	default:
		return
	}
	el.Language = lightmarkup.Language(name)
}

// caption is the first paragraph below a figure, or what is said in place of the picture.
func (b *builder) caption(d *directive) string {
	var lines []string
	for i := d.body; i < d.hi && !b.Blank(i) && len(lines) < 16; i++ {
		lines = append(lines, b.Line(i))
	}
	if len(lines) > 0 && lines[0] != ".." {
		return plain(lightmarkup.Join(lines))
	}
	return d.options["alt"]
}
