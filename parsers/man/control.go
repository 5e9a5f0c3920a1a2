package man

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
)

// settings are requests of roff and macros that change how a page looks, and hold no text.
var settings = words("ad af ag bd bp c2 cc ce cflags char chop close color cs cu ec eo ev evc fam fc fchar fcolor fp ft gcolor hc hcode hlm hpf hw hy hym hys in it kern lc lf lg linetabs " +
	"ll ls lt mk na ne nh nm nn nop nr nroff ns nx os pc pi pl pm po ps psbb rd rj rm rn rr rs rt schar shc shift sizes spreadwarn ss sty ta tag tc ti tkf tl tm tm1 tmc tr trf trin trnt uf ul unformat vpt vs warn wh write als aln asciify backtrace blm box boxa break composite " +
	"continue cp device devicem di da fschar hla hpfa hpfcode length open opena output pev pnr ptr pvs rchar recursionlimit return rfschar special stringdown stringup substring warnscale while writec writem " +
	"PD DT AT UC Bk Ek Xo Xc Bt Db Ud Tg Sm")

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
		if key, value, ok := strings.Cut(strings.TrimLeft(rest, " "), " "); ok && len(p.strings) < 1000 {
			value = strings.TrimPrefix(strings.TrimLeft(value, " "), `"`)
			text, _ := p.text(value[:min(len(value), 200)])
			p.strings[key] = text
		}
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
		p.flush()
		p.table()
	case "EQ":
		p.equation()
	case "PS", "G1", "GS":
		p.skip(name+" "+rest, "."+map[string]string{"PS": "PE", "G1": "G2", "GS": "GE"}[name])
	case "br", "fi":
		if p.br(); name == "fi" {
			p.lit = max(p.lit-1, 0)
		}
	case "nf":
		if p.lit == 0 {
			p.lit++
		}
	case "sp", "bp":
		p.paragraph()
	default:
		if !settings[name] {
			return false
		}
		if rest = strings.TrimSpace(rest); strings.ContainsAny(rest, "\"") || len(rest) > 20 {
			p.drop(connector.DropMarkup, "."+name+" "+rest)
		}
	}
	return true
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

// equation writes eqn's text as it stands.
func (p *page) equation() {
	p.flush()
	var lines []string
	for p.next < len(p.lines) {
		line := p.lines[p.next]
		if p.next++; strings.HasPrefix(line, ".EN") {
			break
		}
		lines = append(lines, line)
	}
	p.w.Add(blocks.Block{Kind: connector.KindText, Text: strings.Join(lines, "\n")})
}

// table reads a table of tbl up to .TE.
func (p *page) table() {
	tab, bold := "\t", false
	var rows [][]string
	format, cell := true, []string(nil)
	for first := true; p.next < len(p.lines); first = false {
		line := p.lines[p.next]
		p.next++
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, ".TE"):
			p.rows(rows, bold)
			return
		case first && strings.HasSuffix(trimmed, ";"):
			if i := strings.Index(trimmed, "tab("); i >= 0 && i+4 < len(trimmed) {
				tab = string([]rune(trimmed[i+4:])[0])
			}
		case format:
			if len(rows) == 0 && strings.ContainsAny(strings.ToLower(strings.TrimRight(trimmed, ".")), "b") {
				bold = true
			}
			format = !strings.HasSuffix(trimmed, ".")
		case strings.HasPrefix(line, ".T&"):
			format = true
		case cell != nil && strings.HasPrefix(trimmed, "T}"):
			last := len(rows) - 1
			rows[last] = append(rows[last], strings.Join(cell, " "))
			if cell = nil; len(trimmed) > 2 {
				rows[last], cell = p.cells(rows[last], strings.TrimPrefix(trimmed[2:], tab), tab)
			}
		case cell != nil:
			if name, rest, ok := macro(line); ok {
				line = p.spoken(name, arguments(rest))
			}
			text, _ := p.text(line)
			cell = append(cell, strings.TrimSpace(text))
		case trimmed == "_" || trimmed == "=" || trimmed == "":
		case line[0] == '.' && line != "." && !strings.Contains(line, tab):
			if name, rest, ok := macro(line); ok && name != "" && !settings[name] {
				rows = append(rows, []string{p.spoken(name, arguments(rest))})
			}
		default:
			var row []string
			row, cell = p.cells(nil, line, tab)
			rows = append(rows, row)
		}
	}
	if cell != nil {
		rows[len(rows)-1] = append(rows[len(rows)-1], strings.Join(cell, " "))
	}
	p.rows(rows, bold)
}

// cells adds the cells of a line to a row. cell is not nil if the last one goes on over lines.
func (p *page) cells(row []string, line, tab string) (_, cell []string) {
	for part := range strings.SplitSeq(line, tab) {
		if strings.TrimSpace(part) == "T{" {
			return row, []string{}
		}
		text, _ := p.text(part)
		row = append(row, strings.TrimSpace(text))
	}
	return row, nil
}

// rows writes a table.
func (p *page) rows(rows [][]string, bold bool) {
	t := &blocks.Table{}
	for i, cells := range rows {
		row := blocks.Row{Head: bold && i == 0 && len(rows) > 1}
		for _, c := range cells {
			row.Cells = append(row.Cells, blocks.Cell{Blocks: []blocks.Block{{Kind: connector.KindText, Text: c}}, Across: 1})
		}
		t.Rows = append(t.Rows, row)
	}
	if len(rows) > 0 {
		p.w.Add(blocks.Block{Kind: connector.KindTable, Table: t})
	}
}
