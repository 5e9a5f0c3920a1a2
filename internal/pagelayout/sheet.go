package pagelayout

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// maxRules is how many drawn lines of a page are looked at; a page with more is a drawing.
const maxRules = 20_000

// sheet is a page between its reading and its layout.
type sheet struct {
	number        int
	width, height float64
	segs          []segment // lines along the page
	down          []segment // columns of vertical writing, turned
	rules         []Rule
	frames        []*lattice // found on demand
	framed        bool
	images        []connector.Box
	runs          int
	drops         []drop
}

// drop is what is left out of a page.
type drop struct {
	reason connector.DropReason
	text   string
	box    *connector.Box // nil where it is at no one place
}

func (c *cleaner) sheet(p *Page) *sheet {
	across, down, repeated := c.page(p)
	s := &sheet{number: p.Number, width: p.Width, height: p.Height, runs: len(across) + len(down)}
	s.segs, s.down = segments(across), segments(down)
	if len(p.Rules) <= maxRules {
		s.rules = p.Rules
	}
	s.images = p.Images
	for _, d := range p.Dropped {
		s.drops = append(s.drops, drop{d.Reason, d.Text, nil})
	}
	s.drops = append(s.drops, repeated...)
	return s
}

// The margins in which running headers, footers and page numbers are looked for.
const (
	edgeRows  = 4   // rows from each edge
	edgeShare = 0.2 // of the page's height
	edgeNear  = 6.0 // points by which the place may differ from page to page
)

// edgeRow is one of the outermost rows of a page.
type edgeRow struct {
	row
	top      bool
	isolated bool       // stands apart from the rows further in
	keys     [][]string // of each of its segments, what may repeat on other pages
	y        float64    // its distance from the edge
}

// running counts the texts in the margins over the pages.
type running struct {
	pages int
	seen  map[edgeKey][]float64 // places of a text, by page
	body  float64               // the size of most text
	rows  map[*sheet][]edgeRow
}

type edgeKey struct {
	top bool
	key string
}

// maxSeen bounds the texts that are remembered from one window of pages to the next.
const maxSeen = 200_000

// count takes the margins of a window of pages in.
func (r *running) count(sheets []*sheet) {
	if len(r.seen) > maxSeen {
		r.seen, r.pages = nil, 0
	}
	if r.seen == nil {
		r.seen = map[edgeKey][]float64{}
	}
	r.rows = make(map[*sheet][]edgeRow, len(sheets))
	for _, s := range sheets {
		if len(s.segs) == 0 {
			continue
		}
		r.pages++
		rows := edges(s)
		r.rows[s] = rows
		for _, e := range rows {
			for _, keys := range e.keys {
				for _, key := range keys {
					k := edgeKey{e.top, key}
					r.seen[k] = append(r.seen[k], e.y)
				}
			}
		}
	}
	for _, ys := range r.seen {
		sort.Float64s(ys)
	}
}

// edges are the outermost rows of a page, from the outside in, those at the top first.
func edges(s *sheet) []edgeRow {
	all := make([]*segment, len(s.segs))
	for i := range s.segs {
		all[i] = &s.segs[i]
	}
	rows := rowsOf(all)
	var out []edgeRow
	tables := s.lattices()
	take := func(i, inner int, top bool) bool {
		if inLattice(tables, rows[i].box) {
			return false
		}
		e := edgeRow{row: rows[i], top: top, isolated: true, y: rows[i].core.Y1}
		if !top {
			e.y = s.height - rows[i].core.Y0
		}
		if e.y > edgeShare*s.height {
			return false
		}
		if inner >= 0 && inner < len(rows) {
			gap := rows[inner].box.Y0 - rows[i].box.Y1
			if !top {
				gap = rows[i].box.Y0 - rows[inner].box.Y1
			}
			e.isolated = gap > 0.6*min(rows[i].size, rows[inner].size) || ruled(s.rules, rows[i].box, top)
		}
		for _, g := range rows[i].segs {
			e.keys = append(e.keys, repeatKeys(g.text(), s.number))
		}
		out = append(out, e)
		return true
	}
	for i := 0; i < min(edgeRows, len(rows)) && take(i, i+1, true); i++ {
	}
	for i := len(rows) - 1; i >= max(len(rows)-edgeRows, 0) && take(i, i-1, false); i-- {
	}
	return out
}

// ruled tells whether a line is drawn right below (or above) a row of the margin.
func ruled(rules []Rule, b connector.Box, below bool) bool {
	for _, r := range rules {
		y := (r.Y0 + r.Y1) / 2
		if abs(r.Y1-r.Y0) > 2 || abs(r.X1-r.X0) < 100 {
			continue
		}
		if below && y > b.Y1-3 && y < b.Y1+12 || !below && y < b.Y0+3 && y > b.Y0-12 {
			return true
		}
	}
	return false
}

func abs(f float64) float64 {
	if f < 0 {
		return -f
	}
	return f
}

// repeatKeys are what two pages have in common that say text, once with its numbers masked and once for each number that grows with the
// pages. The first key is the mask.
func repeatKeys(text string, page int) []string {
	masked, numbers := mask(text)
	keys := []string{masked, "=" + text}
	for i, n := range numbers[:min(len(numbers), 3)] {
		keys = append(keys, fmt.Sprintf("%d%+d %s", i, n-page, masked))
	}
	return keys
}

// mask is text with its numbers masked and without spaces, and the numbers.
func mask(text string) (string, []int) {
	var b strings.Builder
	var numbers []int
	text = strings.ToLower(strings.TrimSpace(text))
	if roman(text) {
		return "#", nil
	}
	digits := false
	for _, r := range text {
		switch {
		case r == ' ':
		case r >= '0' && r <= '9' || r >= '０' && r <= '９':
			if !digits {
				b.WriteByte('#')
				numbers = append(numbers, 0)
			}
			if last := &numbers[len(numbers)-1]; *last < 1e6 {
				*last = *last*10 + int(r&0xF)
			}
			digits = true
			continue
		default:
			b.WriteRune(r)
		}
		digits = false
	}
	return b.String(), numbers
}

// roman tells page numbers in small Roman numerals.
func roman(s string) bool {
	return s != "" && len(s) <= 6 && strings.Trim(s, "ivxl") == ""
}

// pageNumber tells masked texts that are page numbers and nothing else.
func pageNumber(mask string) bool {
	mask = strings.Trim(mask, "-–—·.|[]()~*•")
	switch mask {
	case "#", "page#", "page#of#", "#of#", "#/#", "第#页", "第#页共#页", "第#页,共#页", "第#页，共#页", "第#页/共#页", "共#页第#页", "第#頁", "第#頁共#頁", "p#", "p.#", "pg.#", "page#/#", "seite#", "#页", "#頁", "seite#von#", "—#—":
		return utf8.RuneCountInString(mask) > 0
	}
	return false
}

// near counts the places of ys that are about y.
func near(ys []float64, y float64) int {
	lo := sort.SearchFloat64s(ys, y-edgeNear)
	return sort.Search(len(ys)-lo, func(i int) bool { return ys[lo+i] > y+edgeNear })
}
