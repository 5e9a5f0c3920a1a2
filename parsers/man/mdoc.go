package man

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
)

// call is a macro of mdoc(7) that takes a part of a line: what stands around it, before each argument, and in its place where it has none.
type call struct{ open, end, each, none string }

// calls are those that may stand within a line.
var calls = map[string]call{
	"Fl": {each: "-", none: "-"}, "Ar": {none: "file ..."}, "Cm": {}, "Ic": {}, "Li": {}, "Pa": {none: "~"}, "Em": {}, "Sy": {}, "Va": {}, "Vt": {}, "Ft": {}, "Fa": {}, "Dv": {}, "Ev": {}, "Er": {},
	"Nm": {}, "Tn": {}, "Ad": {}, "An": {}, "Lb": {}, "Lk": {}, "Mt": {}, "Ms": {}, "No": {}, "Cd": {}, "Fd": {}, "St": {}, "Xr": {}, "Fn": {}, "Sx": {}, "Fr": {}, "Hf": {}, "Nd": {}, "Rv": {}, "Ex": {},
	"Op": {open: "[", end: "]"}, "Oo": {open: "["}, "Oc": {end: "]"}, "Dq": {open: "“", end: "”"}, "Do": {open: "“"}, "Dc": {end: "”"}, "Sq": {open: "‘", end: "’"}, "So": {open: "‘"}, "Sc": {end: "’"},
	"Ql": {open: "‘", end: "’"}, "Qq": {open: `"`, end: `"`}, "Qo": {open: `"`}, "Qc": {end: `"`}, "Pq": {open: "(", end: ")"}, "Po": {open: "("}, "Pc": {end: ")"}, "Bq": {open: "[", end: "]"}, "Bo": {open: "["},
	"Bc": {end: "]"}, "Aq": {open: "<", end: ">"}, "Ao": {open: "<"}, "Ac": {end: ">"}, "Brq": {open: "{", end: "}"}, "Bro": {open: "{"}, "Brc": {end: "}"}, "Eo": {}, "Ec": {}, "En": {}, "In": {open: "<", end: ">"},
	"Ux": {none: "UNIX"}, "Bx": {none: "BSD"}, "At": {none: "AT&T UNIX"}, "Nx": {none: "NetBSD"}, "Fx": {none: "FreeBSD"}, "Ox": {none: "OpenBSD"}, "Dx": {none: "DragonFly"}, "Bsx": {none: "BSD/OS"}, "Ns": {}, "Ap": {}, "Pf": {}, "Fo": {}, "Fc": {open: ")"}, "Xo": {}, "Xc": {},
}

const (
	closing = ".,:;)]?!"
	opening = "(["
)

// calls is the text of a line of macros that call each other.
func (p *page) calls(args []string) string {
	var b strings.Builder
	var ends []string // of those that last to the end of the line
	tight := true     // nothing stands before the next word
	put := func(s string) {
		if s == "" {
			return
		}
		if !tight && !(len(s) == 1 && strings.Contains(closing, s)) {
			b.WriteByte(' ')
		}
		b.WriteString(s)
		tight = len(s) == 1 && strings.Contains(opening, s)
	}
	tail := len(args) // marks at the end of the line stand behind everything
	for tail > 0 && len(args[tail-1]) == 1 && strings.Contains(closing, args[tail-1]) {
		tail--
	}
	args, marks := args[:tail], args[tail:]
	for i := 0; i < len(args); {
		name := args[i]
		c, ok := calls[name]
		if !ok {
			text, _ := p.text(name)
			put(text)
			i++
			continue
		}
		i++
		start := i
		for i < len(args) && !callable(args[i]) {
			i++
		}
		own := args[start:i]
		n := len(own) // without the marks at the end
		for n > 0 && len(own[n-1]) == 1 && strings.Contains(closing, own[n-1]) {
			n--
		}
		put(c.open)
		tight = tight || c.open != ""
		switch name {
		case "Ns", "Ap", "Pf":
			if name == "Pf" && len(own) > 0 {
				put(p.joined(own[:1], ""))
				own, n = own[1:], max(n-1, 0)
			}
			if tight = true; name == "Ap" {
				b.WriteByte('\'')
			}
		case "Oc", "Dc", "Sc", "Qc", "Pc", "Bc", "Ac", "Brc":
			tight = true
			put(c.end)
			tight = false
		default:
			if special := p.special(name, own[:n]); special != "" {
				put(special)
				own, n = own[n:], 0
			} else if n == 0 && c.none != "" {
				put(c.none)
				tight = name == "Fl" && i < len(args) // as in .Fl Fl long
			}
		}
		for k, word := range own {
			text, _ := p.text(word)
			if k < n && word != "|" {
				text = c.each + text
			}
			put(text)
		}
		if c.open != "" && c.end != "" {
			ends = append(ends, c.end)
		}
	}
	for i := len(ends) - 1; i >= 0; i-- {
		b.WriteString(ends[i])
	}
	for _, m := range marks {
		b.WriteString(m)
	}
	return b.String()
}

func callable(name string) bool {
	_, ok := calls[name]
	return ok
}

// special is what some macros make of their arguments; empty: nothing special.
func (p *page) special(name string, args []string) string {
	switch {
	case name == "Nm" && len(args) == 0:
		return p.name
	case name == "Nd":
		return "— " + p.joined(args, " ")
	case name == "Xr" && len(args) > 1:
		return p.joined([]string{args[0], "(", args[1], ")"}, "")
	case name == "Fo" && len(args) > 0:
		return p.joined(args, " ") + "("
	case name == "In" && len(args) > 0 && p.proto:
		return "#include "
	case name == "An" && len(args) > 0 && strings.HasSuffix(args[0], "split"):
		return " "
	case name == "Fn" && len(args) > 0:
		return p.joined(args[:1], "") + "(" + p.joined(args[1:], ", ") + ")"
	case name == "Bx" && len(args) > 0:
		return p.joined(args, "") + "BSD"
	case name == "Ex" && len(args) > 0 && args[0] == "-std":
		return fmt.Sprintf("The %s utility exits 0 on success, and >0 if an error occurs.", p.std(args))
	case name == "Rv" && len(args) > 0 && args[0] == "-std":
		return fmt.Sprintf("The %s function returns the value 0 if successful; otherwise the value -1 is returned and errno is set.", p.std(args))
	}
	return ""
}

func (p *page) std(args []string) string {
	if len(args) > 1 {
		return p.joined(args[1:], ", ")
	}
	return p.name
}

// mdocBlock obeys the macros of mdoc(7) that make blocks. false: it is none of them.
func (p *page) mdocBlock(name string, args []string) bool {
	switch name {
	case "Dd", "Os":
	case "Dt":
		p.title(args)
	case "Sh", "Ss":
		p.heading(map[string]int{"Sh": 2, "Ss": 3}[name], p.calls(args))
		p.proto = name == "Sh" && len(args) > 0 && args[0] == "SYNOPSIS"
	case "Pp", "Lp":
		p.paragraph()
	case "Bl":
		p.openList(args)
	case "It":
		p.listItem(args)
	case "El":
		p.closeList()
	case "Bd":
		lit := len(args) > 0 && (args[0] == "-literal" || args[0] == "-unfilled")
		if p.flush(); lit {
			p.lit++
		}
		p.lists = append(p.lists, list{kind: "display", lit: lit})
	case "Ed":
		p.closeList()
	case "D1", "Dl":
		p.flush()
		p.w.Add(blocks.Block{Kind: connector.KindCode, Text: p.calls(args)})
	case "Nm", "In", "Ft", "Vt", "Fd", "Fn", "Fo", "Fa", "Fc":
		p.function(name, args)
	case "Xo":
		p.add(p.calls(args), false)
	case "Xc":
		p.xo = false
		p.add(p.calls(args), false)
		if p.tag {
			p.tag = false
			p.br()
		}
	case "Ta":
		if n := len(p.lists); n > 0 && len(p.lists[n-1].rows) > 0 {
			rows := p.lists[n-1].rows
			rows[len(rows)-1] = append(rows[len(rows)-1], p.calls(args))
			break
		}
		p.add(p.calls(args), false)
	case "Rs", "Re":
		p.flush()
	default:
		if strings.HasPrefix(name, "%") {
			p.add(p.calls(args)+",", false)
			return true
		}
		return false
	}
	return true
}

// function takes what names a program, a function or its parameters. In the part that shows how to call it, each is a line.
func (p *page) function(name string, args []string) {
	if name == "Nm" && len(args) > 0 && !p.named {
		p.name, p.named = p.joined(args[:1], ""), true
	}
	breaks := p.proto && p.params == 0 && !p.item && (name != "Fn" && name != "Fo" || !p.typed)
	if p.typed = name == "Ft"; breaks {
		p.br()
	}
	switch text := p.calls(append([]string{name}, args...)); {
	case name == "Fa" && p.params > 0:
		if p.params > 1 {
			p.glue = true
			p.add(",", false)
		}
		p.params++
		p.add(text, false)
	case name == "Fo":
		p.params = 1
		p.add(text, true)
	default:
		if name == "Fc" {
			p.params = 0
		}
		p.add(text, false)
	}
}

func (p *page) openList(args []string) {
	p.flush()
	kind := "item"
	for _, a := range args {
		switch a {
		case "-bullet", "-dash", "-hyphen", "-enum", "-column", "-tag", "-diag", "-hang", "-ohang", "-inset", "-item":
			kind = strings.TrimPrefix(a, "-")
		}
	}
	if len(p.lists) < 1000 {
		p.lists = append(p.lists, list{kind: kind})
	}
	p.part++
}

func (p *page) listItem(args []string) {
	if len(p.lists) == 0 {
		p.flush()
		p.add(p.calls(args), false)
		return
	}
	l := &p.lists[len(p.lists)-1]
	switch l.kind {
	case "column":
		p.flush()
		var row []string
		start := 0
		for i := 0; i <= len(args); i++ {
			if i == len(args) || args[i] == "Ta" {
				row = append(row, p.calls(args[start:i]))
				start = i + 1
			}
		}
		l.rows = append(l.rows, row)
	case "enum":
		l.count++
		p.begin(fmt.Sprintf("%d.", l.count))
		p.add(p.calls(args), false)
	case "bullet", "dash", "hyphen", "item":
		p.begin("-")
		p.add(p.calls(args), false)
	default:
		p.begin("-")
		p.tag, p.xo = true, slices.Contains(args, "Xo")
		p.add(p.calls(args), false)
		if !p.xo && len(args) == 0 {
			p.tag = false
		}
	}
}

func (p *page) closeList() {
	p.flush()
	if len(p.lists) == 0 {
		return
	}
	l := p.lists[len(p.lists)-1]
	p.lists = p.lists[:len(p.lists)-1]
	if l.lit {
		p.lit = max(p.lit-1, 0)
	}
	p.rows(l.rows, false)
	p.part++
}

// closeLists closes lists until so many are left.
func (p *page) closeLists(n int) {
	for len(p.lists) > n {
		p.closeList()
	}
}
