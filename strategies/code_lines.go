package strategies

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// lineFill is the percentage of what fits that a piece of code takes before a better line may end it early.
const lineFill = 40

// linePiece is a piece of code. The marks say that its start or end lies inside a word.
type linePiece struct {
	connector.Span
	forcedLo, forcedHi bool
}

// splitLines cuts code between lines: pieces tile text[lo:hi), each fits room once trimmed, and starts, within what the
// cap leaves open, at the line with the least indentation, best after a blank line. A line that does not fit is cut as
// text.
func (m *measure) splitLines(lo, hi int, room []int) []linePiece {
	var out []linePiece
	var seps *separators
	for lo < hi {
		start, end := trimSpan(m.text, lo, hi)
		if start == end || m.fits(start, end, room) {
			return append(out, linePiece{Span: connector.Span{Start: lo, End: hi}})
		}
		reach := m.furthest(start, end, room)
		cut := m.lineCut(lo, start, reach, room)
		if cut > lo {
			out = append(out, linePiece{Span: connector.Span{Start: lo, End: cut}})
			lo = cut
			continue
		}
		if seps == nil {
			seps = defaultSeparators()
		}
		next := lineEnd(m.text, start, hi)
		for open := false; lo < next; {
			got := m.next(lo, next, room, cutting{seps: seps, fill: minFill})
			out = append(out, linePiece{Span: connector.Span{Start: lo, End: got.at}, forcedLo: open, forcedHi: got.forced})
			lo, open = got.at, got.forced
		}
	}
	return out
}

// lineCut is the best start of a line in (lo, reach], or lo if there is none before which the text fits.
func (m *measure) lineCut(lo, start, reach int, room []int) int {
	floor := start + (reach-start)*lineFill/100
	best, bestRank := lo, 0
	latest := lo
	blank := false
	for p := lineEnd(m.text, start, len(m.text)); p <= reach && p < len(m.text); {
		next := lineEnd(m.text, p, len(m.text))
		rank, empty := lineRank(m.text[p:next])
		if empty {
			blank = true
		} else {
			if blank {
				rank--
			}
			if p > floor && (best == lo || rank <= bestRank) {
				best, bestRank = p, rank
			}
			latest, blank = p, false
		}
		p = next
	}
	for _, cut := range []int{best, latest} {
		if cut == lo {
			continue
		}
		if from, to := trimSpan(m.text, lo, cut); from == to || m.fits(from, to, room) {
			return cut
		}
	}
	// A token reached over the cut: the line before it.
	for cut := latest; cut > start; {
		cut = lineStart(m.text, start, cut-1)
		if from, to := trimSpan(m.text, lo, cut); cut > start && (from == to || m.fits(from, to, room)) {
			return cut
		}
	}
	return lo
}

// lineRank orders lines as starts of a piece: twice the indentation, and worst those that only close what is open.
func lineRank(line string) (rank int, blank bool) {
	width := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			width++
		case '\t':
			width += 4
		case '\r', '\n':
			return 0, true
		case '}', ')', ']':
			return 1 << 20, false
		default:
			if rest := strings.TrimSpace(line[i:]); rest == "end" || strings.HasPrefix(rest, "else") || strings.HasPrefix(rest, "</") {
				return 1 << 20, false
			}
			return 2 * width, false
		}
	}
	return 0, true
}

// lineEnd is the start of the line after the one that holds p, at most hi. A lone carriage return ends a line too.
func lineEnd(text string, p, hi int) int {
	i := strings.IndexAny(text[p:hi], "\r\n")
	if i < 0 {
		return hi
	}
	p += i + 1
	if text[p-1] == '\r' && p < hi && text[p] == '\n' {
		p++
	}
	return p
}

// lineStart is the start of the line that holds p, at least lo.
func lineStart(text string, lo, p int) int {
	for p > lo && text[p-1] != '\n' && (text[p-1] != '\r' || p < len(text) && text[p] == '\n') {
		p--
	}
	return p
}
