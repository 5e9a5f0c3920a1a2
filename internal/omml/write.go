package omml

import "strings"

// write is the LaTeX of a structure.
func (p *part) write(name string) string {
	e := p.arg("e")
	switch name {
	case "f":
		return p.fraction()
	case "rad":
		if deg := p.arg("deg"); deg != "" && !on(p.props, "degHide") {
			return `\sqrt[` + deg + "]{" + e + "}"
		}
		return `\sqrt{` + e + "}"
	case "sSup", "sSub", "sSubSup":
		return base(e) + p.scripts()
	case "sPre":
		return "{}" + p.scripts() + e
	case "nary":
		return p.nary()
	case "d":
		return p.delimited()
	case "func":
		return function(p.arg("fName")) + argument(e)
	case "limLow":
		return limit(e, "_", p.arg("lim"))
	case "limUpp":
		return limit(e, "^", p.arg("lim"))
	case "acc":
		return accent(p.props) + "{" + e + "}"
	case "bar":
		if p.props["pos"] == "top" {
			return `\overline{` + e + "}"
		}
		return `\underline{` + e + "}"
	case "borderBox":
		return `\boxed{` + e + "}"
	case "groupChr":
		return group(p.props, e)
	case "m":
		return `\begin{matrix}` + strings.Join(p.args["mr"], ` \\ `) + `\end{matrix}`
	case "eqArr":
		if len(p.args["e"]) == 1 {
			return e
		}
		return `\begin{array}{l}` + strings.Join(p.args["e"], ` \\ `) + `\end{array}`
	}
	return e // box, phant
}

// scripts are the subscript and the superscript that are not empty.
func (p *part) scripts() string {
	out := ""
	if sub := p.arg("sub"); sub != "" {
		out = "_{" + sub + "}"
	}
	if sup := p.arg("sup"); sup != "" {
		out += "^{" + sup + "}"
	}
	return out
}

func on(props map[string]string, name string) bool {
	v, ok := props[name]
	return ok && v != "0" && v != "off" && v != "false"
}

// base is what carries scripts: more than one character is put in braces.
func base(e string) string {
	if len(e) <= 1 || len([]rune(e)) == 1 || strings.HasPrefix(e, `\`) && isCommand(e) {
		return e
	}
	return "{" + e + "}"
}

func isCommand(s string) bool {
	for i := 1; i < len(s); i++ {
		if !isLetter(s[i]) {
			return false
		}
	}
	return len(s) > 1
}

func (p *part) fraction() string {
	num, den := p.arg("num"), p.arg("den")
	switch p.props["type"] {
	case "noBar":
		return `\binom{` + num + "}{" + den + "}"
	case "lin":
		return num + "/" + den
	}
	return `\frac{` + num + "}{" + den + "}"
}

func (p *part) nary() string {
	op := `\int`
	if chr, ok := p.props["chr"]; ok {
		var b strings.Builder
		symbols(&b, chr)
		op = b.String()
	}
	if sub := p.arg("sub"); sub != "" && !on(p.props, "subHide") {
		op += "_{" + sub + "}"
	}
	if sup := p.arg("sup"); sup != "" && !on(p.props, "supHide") {
		op += "^{" + sup + "}"
	}
	return op + argument(p.arg("e"))
}

// argument is e behind a command.
func argument(e string) string {
	if e == "" {
		return ""
	}
	return " " + e
}

func (p *part) delimited() string {
	open, closing, sep := "(", ")", "|"
	for name, to := range map[string]*string{"begChr": &open, "endChr": &closing, "sepChr": &sep} {
		if v, ok := p.props[name]; ok {
			if v == "on" {
				v = ""
			}
			*to = v
		}
	}
	return `\left` + delimiter(open) + strings.Join(p.args["e"], sep) + `\right` + delimiter(closing)
}

func delimiter(s string) string {
	switch s {
	case "":
		return "."
	case "{", "}":
		return `\` + s
	case "⟨", "〈":
		return `\langle `
	case "⟩", "〉":
		return `\rangle `
	case "‖":
		return `\| `
	case "⌈":
		return `\lceil `
	case "⌉":
		return `\rceil `
	case "⌊":
		return `\lfloor `
	case "⌋":
		return `\rfloor `
	}
	return s
}

// function is the name of a function, a command where LaTeX has one.
func function(name string) string {
	word, rest := name, ""
	if i := strings.IndexAny(name, "_^{"); i > 0 {
		word, rest = name[:i], name[i:]
	}
	switch word {
	case "sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "coth", "arcsin", "arccos", "arctan", "log", "ln", "lg", "exp", "lim", "max", "min", "sup",
		"inf", "det", "dim", "gcd", "ker", "arg", "deg", "hom", "Pr":
		return `\` + word + rest
	}
	return name
}

func limit(e, sign, lim string) string {
	if f := function(e); f != e {
		return f + sign + "{" + lim + "}"
	}
	if strings.HasPrefix(e, `\lim`) {
		return e + sign + "{" + lim + "}"
	}
	if sign == "_" {
		return `\underset{` + lim + "}{" + e + "}"
	}
	return `\overset{` + lim + "}{" + e + "}"
}

func accent(props map[string]string) string {
	switch props["chr"] {
	case "\u0303", "~":
		return `\tilde`
	case "\u0304", "¯", "\u0305":
		return `\bar`
	case "\u0306", "˘":
		return `\breve`
	case "\u0307", "˙":
		return `\dot`
	case "\u0308", "¨":
		return `\ddot`
	case "\u030C", "ˇ":
		return `\check`
	case "\u0301", "´":
		return `\acute`
	case "\u0300", "`":
		return `\grave`
	case "\u20D7", "→":
		return `\vec`
	}
	return `\hat`
}

func group(props map[string]string, e string) string {
	over := props["pos"] == "top"
	switch chr := props["chr"]; chr {
	case "⏞", "︷":
		return `\overbrace{` + e + "}"
	case "", "⏟", "︸":
		if over {
			return `\overbrace{` + e + "}"
		}
		return `\underbrace{` + e + "}"
	default:
		var b strings.Builder
		symbols(&b, chr)
		if over {
			return `\overset{` + b.String() + "}{" + e + "}"
		}
		return `\underset{` + b.String() + "}{" + e + "}"
	}
}

// text writes ordinary words of an equation.
func text(b *strings.Builder, s string) {
	if strings.TrimSpace(s) == "" {
		b.WriteString(s)
		return
	}
	b.WriteString(`\text{`)
	for _, r := range s {
		switch r {
		case '{', '}', '#', '%', '&', '_', '$':
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	b.WriteByte('}')
}

// symbols writes the characters of an equation.
func symbols(b *strings.Builder, s string) {
	for _, r := range s {
		if r == '−' || r == '–' {
			r = '-'
		}
		switch {
		case r < 0x80:
			switch r {
			case '{', '}', '#', '%', '_', '$':
				b.WriteByte('\\')
			}
			join(b, string(r))
		default:
			if c := command(r); c != "" {
				join(b, `\`+c)
			} else {
				join(b, string(italic(r)))
			}
		}
	}
}

// italic is the letter that a mathematical italic letter is; other characters are what they are.
func italic(r rune) rune {
	switch {
	case r >= 0x1D434 && r <= 0x1D44D:
		return 'A' + r - 0x1D434
	case r >= 0x1D44E && r <= 0x1D467:
		return 'a' + r - 0x1D44E
	case r == 0x210E:
		return 'h'
	}
	return r
}
