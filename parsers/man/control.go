package man

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// settings are requests of roff and macros that change how a page looks, and hold no text.
var settings = words("ad af ag bd c2 cc ce cflags char chop close color cs cu ec eo ev evc fam fc fchar fcolor fp ft gcolor hc hcode hlm hpf hw hy hym hys in it kern lc lf lg linetabs " +
	"ll ls lt mk na ne nh nm nn nop nr nroff ns nx os pc pi pl pm po ps psbb rd rj rm rn rr rs rt schar shc shift sizes spreadwarn ss sty ta tag tc ti tkf tl tm tm1 tmc tr trf trin trnt uf ul unformat vpt vs warn wh write als aln asciify backtrace blm box boxa break composite " +
	"continue cp device devicem di da fschar hla hpfa hpfcode length open opena output pev pnr ptr pvs rchar recursionlimit return rfschar special stringdown stringup substring warnscale while writec writem " +
	"PD DT AT UC Bk Ek Bt Db Ud Tg Sm IX")

func words(s string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		out[w] = true
	}
	return out
}

// control obeys requests of roff itself. false: it is none of them.
func (p *page) control(name, rest string, conds int) bool {
	switch name {
	case "de", "de1", "am", "am1", "ig", "dei", "ami":
		end := ".."
		if args := arguments(rest); name == "ig" && len(args) > 0 {
			end = "." + args[0]
		} else if len(args) > 1 {
			end = "." + args[1]
		}
		p.skip(name+" "+rest, end)
	case "ds", "ds1", "as":
		p.define(name, rest)
		p.drop(connector.DropMarkup, "."+name+" "+rest)
	case "if", "ie":
		p.condition(name, rest, conds)
	case "el":
		taken := true
		if n := len(p.taken); n > 0 {
			taken, p.taken = p.taken[n-1], p.taken[:n-1]
		}
		p.branch(rest, !taken, conds)
	case "so", "mso", "soquiet":
		p.drop(connector.DropEmbedded, "the file "+strings.TrimSpace(rest))
	case "TS":
		p.table()
	case "EQ":
		p.equation()
	case "PS", "G1", "GS":
		p.skip(name+" "+rest, "."+map[string]string{"PS": "PE", "G1": "G2", "GS": "GE"}[name])
	case "br", "fi", "Ve":
		if p.br(); name != "br" {
			p.lit = max(p.lit-1, 0)
		}
	case "nf", "Vb":
		if p.lit == 0 {
			p.lit++
		}
	case "sp", "bp", "Sp":
		p.gap()
	default:
		if !settings[name] {
			return false
		}
		if wordy(rest) {
			p.drop(connector.DropMarkup, "."+name+" "+rest)
		}
	}
	return true
}

// define keeps a string of the page. What it holds is short, so that strings within strings do not grow.
func (p *page) define(name, rest string) {
	key, value, ok := strings.Cut(strings.TrimLeft(rest, " \t"), " ")
	if !ok || len(p.strings) >= maxStrings {
		return
	}
	text, _ := p.text(strings.TrimPrefix(strings.TrimLeft(value, " \t"), `"`))
	if strings.Contains(value, `\(*W-`) { // old pages let this letter stand for a dash
		text = strings.ReplaceAll(text, "Ω", "-")
	}
	if name == "as" {
		text = p.strings[key] + text
	}
	if len(text) <= maxString {
		p.strings[key] = text
	}
}

// skip passes over lines up to end, which are told as markup.
func (p *page) skip(what, end string) {
	var b strings.Builder
	b.WriteString("." + what)
	for p.next < len(p.lines) {
		line := p.lines[p.next]
		p.next++
		b.WriteString("\n" + line)
		if strings.TrimRight(line, " \t") == end || strings.HasPrefix(line, end+" ") {
			break
		}
	}
	p.drop(connector.DropMarkup, b.String())
}

// condition takes what a terminal would show: n, not t. What it cannot know is not so.
func (p *page) condition(name, rest string, conds int) {
	rest = strings.TrimLeft(rest, " ")
	so := true
	if after, ok := strings.CutPrefix(rest, "!"); ok {
		so, rest = false, after
	}
	cond, body := rest, ""
	if i := strings.IndexAny(rest, " \t"); i >= 0 {
		cond, body = rest[:i], strings.TrimLeft(rest[i:], " \t")
	}
	holds := cond == "n" || strings.HasPrefix(cond, `\n(.g`) || strings.HasPrefix(cond, `\n[.g]`)
	if name == "ie" {
		p.taken = append(p.taken, holds == so)
	}
	p.branch(body, holds == so, conds)
}

// branch takes the line behind a condition, or tells it, with all that stands between braces, as markup. The braces of what is taken are no
// text, so that its lines are read as any other.
func (p *page) branch(body string, so bool, conds int) {
	body = strings.TrimLeft(body, " \t")
	after, block := strings.CutPrefix(body, `\{`)
	if so && conds < maxConds {
		if after = strings.TrimSpace(after); after != "" {
			p.line(after, conds+1)
		}
		return
	}
	lines := []string{body}
	if block {
		for open := 1 + braces(after); open > 0 && p.next < len(p.lines); p.next++ {
			open += braces(p.lines[p.next])
			lines = append(lines, p.lines[p.next])
		}
	}
	p.drop(connector.DropMarkup, strings.Join(lines, "\n"))
}

func braces(line string) int { return strings.Count(line, `\{`) - strings.Count(line, `\}`) }

// wordy says that s holds what may be text: three letters in a row, or others than those of ASCII.
func wordy(s string) bool {
	run := 0
	for i := range len(s) {
		switch c := s[i] | 0x20; {
		case s[i] >= 0x80:
			return true
		case c >= 'a' && c <= 'z':
			run++
		default:
			run = 0
		}
		if run == 3 {
			return true
		}
	}
	return false
}
