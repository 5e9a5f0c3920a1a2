package strategies

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// crumb is a heading with those above it. Nil is the document before its first heading.
type crumb struct {
	parent *crumb
	level  int
	depth  int // 1 at the outermost
	title  string
	span   connector.Span // the heading in the parsed text, trimmed
	names  []string       // titles from the outermost

	line  string // the breadcrumb, shortened to the flow's limit, with its line end
	shown int    // how many of the innermost headings it names in full
	made  bool
	room  []int
}

func (c *crumb) levelOf() int {
	if c == nil {
		return 0
	}
	return c.level
}

func (c *crumb) parentOf() *crumb {
	if c == nil {
		return nil
	}
	return c.parent
}

// open is the crumb of a heading that follows.
func (c *crumb) open(el *connector.Element, base int, text string) *crumb {
	level := max(el.Level, 1)
	for c != nil && c.level >= level {
		c = c.parent
	}
	lo, hi := trimSpan(text, el.Span.Start-base, el.Span.End-base)
	next := &crumb{parent: c, level: level, depth: 1, title: oneLine(el.Title), span: connector.Span{Start: base + lo, End: base + hi}}
	if c != nil {
		next.depth = c.depth + 1
	}
	return next
}

// oneLine joins the words of a title that holds line ends or tabs.
func oneLine(title string) string {
	for i := range len(title) {
		if title[i] < ' ' {
			return strings.Join(strings.Fields(title), " ")
		}
	}
	return strings.TrimSpace(title)
}

// path lists the titles from the outermost heading. It is shared: callers do not change it.
func (c *crumb) path() []string {
	if c == nil {
		return nil
	}
	if c.names == nil {
		up := c.parent.path()
		c.names = append(up[:len(up):len(up)], c.title)
		if c.title == "" {
			c.names = up
		}
	}
	return c.names
}

// meet is the innermost heading above both.
func (c *crumb) meet(d *crumb) *crumb {
	for c != d {
		if c == nil || d == nil {
			return nil
		}
		if c.depth >= d.depth {
			c = c.parent
		} else {
			d = d.parent
		}
	}
	return c
}

// breadcrumbShare is the part of a cap that a breadcrumb may take, one in so many: long heading paths are shortened, so
// that most of a chunk is content.
const breadcrumbShare = 4

// share is one in n of every cap.
func (b *budget) share(n int) []int {
	out := make([]int, len(b.caps))
	for k, c := range b.caps {
		out[k] = c.Max / n
	}
	return out
}

// within tells whether text keeps the limits, counted by itself.
func (b *budget) within(text string, limit []int) bool {
	for k, c := range b.caps {
		if limit[k] <= 0 || !underByBytes(c, len(text), limit[k]) && c.Counter.Count(text) > limit[k] {
			return false
		}
	}
	return true
}

// breadcrumb is the context line of chunks below c.
func (f *flow) breadcrumb(c *crumb) (line string, shown int) {
	if c == nil || !f.lay.prefix {
		return "", 0
	}
	if !c.made {
		c.line, c.shown = f.b.breadcrumb(c.path(), f.limit)
		c.made = true
		c.room = f.b.room(c.line)
	}
	return c.line, c.shown
}

// room is what remains of the caps below the breadcrumb of c.
func (f *flow) room(c *crumb) []int {
	if line, _ := f.breadcrumb(c); line == "" {
		return nil
	}
	return c.room
}

// complete tells whether the breadcrumb of c names it and all above it in full.
func (f *flow) complete(c *crumb) bool {
	_, shown := f.breadcrumb(c)
	return f.lay.prefix && (c == nil || shown == c.depth) // a heading without text is never named
}

const (
	crumbSeparator = " > "
	ellipsis       = "…"
)

// breadcrumb joins titles to a line that keeps the limits: the outer ones go first, and of the innermost the end. It is
// empty if there is no room for anything. shown is how many of the last titles it holds in full.
func (b *budget) breadcrumb(titles []string, limit []int) (line string, shown int) {
	if len(titles) == 0 {
		return "", 0
	}
	if tooLong(titles, limit) {
		return b.shorten(titles[len(titles)-1], "", ellipsis+"\n", limit), 0
	}
	line = strings.Join(titles, crumbSeparator) + "\n"
	if b.within(line, limit) {
		return line, len(titles)
	}
	for k := 1; k < len(titles); k++ {
		line = ellipsis + crumbSeparator + strings.Join(titles[k:], crumbSeparator) + "\n"
		if b.within(line, limit) {
			return line, len(titles) - k
		}
	}
	return b.shorten(titles[len(titles)-1], "", ellipsis+"\n", limit), 0
}

// bytesPerUnit is more than a unit of ordinary text takes; longer titles are cut without being counted whole.
const bytesPerUnit = 64

// tooLong tells titles that are not worth counting, which keeps a huge heading above many sections cheap.
func tooLong(titles []string, limit []int) bool {
	n := 0
	for _, t := range titles {
		n += len(t)
	}
	return n > bytesPerUnit*slices.Max(limit)
}

// shorten cuts text at the end, between words if there are any, until prefix, text and suffix keep the limits; empty if
// nothing fits.
func (b *budget) shorten(text, prefix, suffix string, limit []int) string {
	text = text[:runeFloor(text, 0, min(len(text), bytesPerUnit*max(slices.Max(limit), 1)))]
	lo, hi := 0, len(text)+1 // text[:lo] fits, text[:hi] does not
	for hi-lo > 1 {
		mid := runeFloor(text, lo, (lo+hi)/2)
		if mid == lo {
			_, n := utf8.DecodeRuneInString(text[lo:])
			if mid = lo + n; mid >= hi {
				break
			}
		}
		if b.within(prefix+text[:mid]+suffix, limit) {
			lo = mid
		} else {
			hi = mid
		}
	}
	cut := lastWord(text, 0, lo)
	if cut < lo/2 {
		cut = graphemeFloor(text, 0, lo)
	}
	for cut > 0 {
		head := strings.TrimRight(text[:cut], " ")
		if line := prefix + head + suffix; head != "" && b.within(line, limit) {
			return line
		}
		cut = graphemeFloor(text, 0, cut-1)
	}
	return ""
}
