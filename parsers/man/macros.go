package man

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// manBlock obeys the macros of man(7) that make blocks. false: it is none of them.
func (p *page) manBlock(name string, args []string) bool {
	switch name {
	case "TH":
		p.title(args)
	case "SH", "SS", "Sh": // .Sh is a subheading of old pages
		level := 3
		if name == "SH" {
			level = 2
		}
		if len(args) == 0 { // the next line is the heading
			for p.next < len(p.lines) && strings.TrimSpace(p.lines[p.next]) == "" {
				p.next++
			}
			if p.next < len(p.lines) {
				line, said := comment(p.lines[p.next])
				p.next++
				if macroName, rest, ok := macro(line); ok {
					line = p.spoken(macroName, arguments(rest))
				} else {
					line, _ = p.text(line)
				}
				p.drop(connector.DropComment, said)
				p.heading(level, line)
				return true
			}
		}
		p.heading(level, p.joined(args, " "))
	case "PP", "LP", "P":
		if p.lit > 0 {
			p.code("")
		}
		p.flush()
	case "TQ":
		if !p.item {
			p.begin("-")
		}
		p.br()
		p.tag = true
	case "TP":
		p.begin("-")
		p.tag = true
	case "HP":
		p.flush()
	case "IP":
		p.indented(args)
	case "RS":
		p.flush()
		p.offset = min(p.offset+1, maxDepth)
	case "RE":
		p.flush()
		p.offset = max(p.offset-1, 0)
	case "EX":
		p.lit++
	case "EE":
		p.lit = max(p.lit-1, 0)
	case "SY":
		p.flush()
		p.add(p.joined(args, " "), false)
	case "YS":
		p.flush()
	case "UE", "ME":
		if text := p.joined(args, ""); text != "" {
			p.glue = true
			p.add(text, false)
		}
	default:
		return false
	}
	return true
}

// title is the heading of the page: name(section).
func (p *page) title(args []string) {
	if len(args) == 0 {
		return
	}
	text := p.joined(args[:1], "")
	if len(args) > 1 && args[1] != "" {
		text += "(" + p.joined(args[1:2], "") + ")"
	}
	p.heading(1, text)
}

// indented starts an item with the mark that .IP names, or a paragraph that belongs to the item before.
func (p *page) indented(args []string) {
	if len(args) == 0 || strings.TrimSpace(args[0]) == "" {
		p.paragraph()
		return
	}
	mark, _ := p.text(args[0])
	mark = strings.TrimSpace(mark)
	switch {
	case mark == "" || strings.Trim(mark, "•-*o·–—○□+") == "":
		p.begin("-")
	case ordinal(mark):
		p.begin(mark)
	default:
		p.begin("-")
		p.words = append(p.words, mark, "\n")
	}
}

// ordinal tells numbers as lists have them: 1. 2) (3) a. iv)
func ordinal(s string) bool {
	s = strings.Trim(s, "()[].:")
	return s != "" && len(s) <= 3 && (strings.Trim(s, "0123456789") == "" || len(s) == 1 && s[0] >= 'a' && s[0] <= 'z')
}

// inline takes a macro that makes text of its arguments.
func (p *page) inline(name string, args []string) {
	if len(args) == 0 && fonts[name] { // the next line is set so
		return
	}
	if !known[name] && !(p.mdoc && callable(name)) {
		p.drop(connector.DropMarkup, "."+name)
	}
	p.add(p.spoken(name, args), false)
}

// fonts are the macros of man that set what they are given in some font, or the next line. known are all that make text of it.
var (
	fonts = words("B I SM SB R CW")
	known = words("B I SM SB R CW BI BR IB IR RB RI OP UR MT MR SY")
)

// spoken is the text of a macro in a line.
func (p *page) spoken(name string, args []string) string {
	if p.mdoc {
		if _, callable := calls[name]; callable {
			return p.calls(append([]string{name}, args...))
		}
	}
	switch name {
	case "BI", "BR", "IB", "IR", "RB", "RI", "SB":
		return p.joined(args, "")
	case "OP":
		return "[" + p.joined(args, " ") + "]"
	case "UR", "MT":
		return p.joined(args, " ")
	case "MR":
		if len(args) > 1 {
			return p.joined([]string{args[0], "(", args[1], ")"}, "") + p.joined(args[2:], "")
		}
	}
	return p.joined(args, " ")
}

// joined is arguments as text.
func (p *page) joined(args []string, between string) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteString(between)
		}
		text, _ := p.text(a)
		b.WriteString(text)
	}
	return b.String()
}
