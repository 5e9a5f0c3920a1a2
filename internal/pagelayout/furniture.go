package pagelayout

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// strip takes running headers, footers and page numbers off the pages: what repeats at the same place, its numbers masked, from the
// outside in.
func (r *running) strip(sheets []*sheet) {
	bands := r.bands(sheets)
	for _, s := range sheets {
		gone := map[*segment]bool{}
		for _, top := range []bool{true, false} {
			r.stripEdge(s, top, bands, gone)
		}
		if len(gone) == 0 {
			continue
		}
		kept := s.segs[:0:0]
		for i := range s.segs {
			if !gone[&s.segs[i]] {
				kept = append(kept, s.segs[i])
			}
		}
		s.segs = kept
	}
	r.rows = nil
}

// stripEdge marks what goes at one edge of a page.
func (r *running) stripEdge(s *sheet, top bool, bands map[band]int, gone map[*segment]bool) {
	var rows []edgeRow
	for _, e := range r.rows[s] {
		if e.top == top {
			rows = append(rows, e)
		}
	}
	n := 0 // rows from the edge that repeat
	for n < len(rows) && (r.repeats(s, &rows[n]) || n == 0 && (r.likeOthers(s, &rows[n], bands) || r.numberedTitle(s, &rows[n]))) {
		n++
	}
	for n > 0 && !rows[n-1].isolated { // what repeats goes on into the text: rather a table's header
		n--
	}
	for _, e := range rows[:n] {
		var texts []string
		for _, g := range e.segs {
			gone[g] = true
			texts = append(texts, g.text())
		}
		if text := strings.Join(texts, " "); text != "" {
			box := e.box
			s.drops = append(s.drops, drop{connector.DropFurniture, text, &box})
		}
	}
}

// repeats tells whether some of a row stands at the same place of other pages, and the rest of it may.
func (r *running) repeats(s *sheet, e *edgeRow) bool {
	found := false
	for i, keys := range e.keys {
		m := keys[0]
		if m == "" {
			continue
		}
		n := near(r.seen[edgeKey{e.top, m}], e.y)
		if !pageNumber(m) { // numbers have to be the same, or to grow with the pages
			n = 0
			for _, key := range keys[1:] {
				n = max(n, near(r.seen[edgeKey{e.top, key}], e.y))
			}
		}
		switch share := float64(n) / float64(max(r.pages, 1)); {
		case pageNumber(m) && (n >= 2 && e.isolated || n >= 3 && e.y < 0.14*s.height || e.isolated && (e.y < 0.09*s.height || e.y < 0.13*s.height && pageOf(e.segs[i].text(), s.number))):
			found = true
		case e.segs[i].size > 1.3*r.body && share < 0.6: // titles of slides may repeat
			return false
		case n >= 3 && e.y < 0.16*s.height, n == 2 && (r.pages <= 6 && e.isolated && e.y < 0.12*s.height):
			found = true
		case len(m) > 150:
			return false
		}
	}
	return found
}

// pageOf tells whether text has the page's own number.
func pageOf(text string, page int) bool {
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' }), strconv.Itoa(page))
}

// band is a place at the edge, for rows whose text changes from page to page.
type band struct {
	top     bool
	y, size int
}

func bandOf(e *edgeRow) band {
	return band{e.top, int(math.Round(e.y / 4)), int(math.Round(e.size * 2))}
}

// bands counts the outermost rows that repeat, by their place and size.
func (r *running) bands(sheets []*sheet) map[band]int {
	out := map[band]int{}
	for _, s := range sheets {
		first := map[bool]bool{}
		for i := range r.rows[s] {
			e := &r.rows[s][i]
			if first[e.top] {
				continue
			}
			first[e.top] = true
			if e.isolated && r.repeats(s, e) {
				out[bandOf(e)]++
			}
		}
	}
	return out
}

// likeOthers tells whether an outermost row stands where most pages have one that repeats: the running title of a short chapter.
func (r *running) likeOthers(s *sheet, e *edgeRow, bands map[band]int) bool {
	return r.pages >= 5 && e.isolated && e.size <= 1.1*r.body && float64(bands[bandOf(e)]) >= 0.5*float64(r.pages) && e.y < 0.12*s.height
}

// numberedTitle tells the outermost row of a page that has a number at its outer end beside other text, smaller than the text of the page
// and apart from it: the running title of a document of which no further page has it.
func (r *running) numberedTitle(s *sheet, e *edgeRow) bool {
	if !e.isolated || e.size > 0.95*r.body || e.y > 0.16*s.height || e.box.Y1-e.box.Y0 > 2*e.size {
		return false
	}
	texts := make([]string, len(e.segs))
	for i, g := range e.segs {
		texts[i] = g.text()
	}
	text := strings.Join(texts, " ")
	words := strings.Fields(text)
	if len(words) < 2 || len(words) > 16 || captionText.MatchString(text) {
		return false
	}
	number := func(w string) bool { return len(w) <= 4 && strings.Trim(w, "0123456789") == "" }
	first, last := number(words[0]), number(words[len(words)-1])
	return first != last && (e.top || last) // a number first, at the foot, is that of a note
}
