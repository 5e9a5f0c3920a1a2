package decode

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// Bounds of what a Reader remembers about what it left out.
const (
	dropsPerReason = 64
	dropTextMax    = 4 << 10
)

// Drop is something that was left out of the text.
type Drop struct {
	// Pos is the byte offset in the decoded text before which it stood.
	Pos    int
	Reason connector.DropReason
	// Text is what was left out, or its first 4 KiB; bytes that are no characters are written \xNN.
	Text string
	// Count is the number of characters (or undecodable bytes). From the 65th place of one reason on, one last
	// Drop stands for all further places; its Pos is the first of them.
	Count int
}

// Element is the drop as a parser yields it.
func (d Drop) Element() connector.Element {
	return connector.Element{Kind: connector.KindDropped, Text: d.Text, Reason: d.Reason, Span: connector.Span{Start: d.Pos, End: d.Pos}}
}

// dropLog keeps the first places of each reason and gathers the rest.
type dropLog struct {
	list    []Drop
	texts   []strings.Builder // the texts of list, while they grow
	places  map[connector.DropReason]int
	rest    map[connector.DropReason]*Drop
	drained int
	endDone bool
}

func (l *dropLog) add(pos int, reason connector.DropReason, text string) {
	if n := len(l.list); n > 0 && l.list[n-1].Pos == pos && l.list[n-1].Reason == reason && l.drained < n {
		l.list[n-1].Count++
		if l.texts[n-1].Len()+len(text) <= dropTextMax {
			l.texts[n-1].WriteString(text)
		}
		return
	}
	if l.places == nil {
		l.places = map[connector.DropReason]int{}
		l.rest = map[connector.DropReason]*Drop{}
	}
	if l.places[reason] < dropsPerReason {
		l.places[reason]++
		l.list = append(l.list, Drop{Pos: pos, Reason: reason, Count: 1})
		l.texts = append(l.texts, strings.Builder{})
		l.texts[len(l.texts)-1].WriteString(text)
		return
	}
	d := l.rest[reason]
	if d == nil {
		d = &Drop{Pos: pos, Reason: reason}
		l.rest[reason] = d
	}
	d.Count++
	if len(d.Text)+len(text) <= dropTextMax {
		d.Text += text
	}
}

func (l *dropLog) all() []Drop {
	out := make([]Drop, 0, len(l.list)+len(l.rest))
	for i, d := range l.list {
		d.Text = l.texts[i].String()
		out = append(out, d)
	}
	return append(out, l.overflow()...)
}

func (l *dropLog) overflow() []Drop {
	out := make([]Drop, 0, len(l.rest))
	for _, d := range l.rest {
		out = append(out, *d)
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].Pos < out[j].Pos || out[i].Pos == out[j].Pos && out[i].Reason < out[j].Reason
	})
	return out
}

func (l *dropLog) drain(pos int, end bool) []Drop {
	var out []Drop
	for l.drained < len(l.list) && (end || l.list[l.drained].Pos <= pos) {
		d := l.list[l.drained]
		d.Text = l.texts[l.drained].String()
		out = append(out, d)
		l.drained++
	}
	if end && !l.endDone {
		l.endDone = true
		out = append(out, l.overflow()...)
	}
	return out
}

// Clip is s cut to the 4 KiB that a dropped element may hold, at a character boundary.
func Clip(s string) string {
	if len(s) <= dropTextMax {
		return s
	}
	n := dropTextMax
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
