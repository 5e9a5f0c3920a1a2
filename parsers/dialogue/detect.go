package dialogue

import (
	"strings"
	"unicode/utf8"
)

// detectBytes is how much of a text Detect looks at.
const detectBytes = 64 << 10

// Evidence is what Detect has counted.
type Evidence struct {
	// Lines that are not blank, those of them that name a speaker, and those that give a time with it.
	Lines, Turns, Timed int
	// Speakers is the number of names, Regulars of those that speak more than once, Changes how often the speaker changes.
	Speakers, Regulars, Changes int
}

// Conversation tells whether the evidence is that of a conversation: at least four turns, two speakers who come back, a speaker who
// changes in a third of the turns, and names on most lines (on one in eight, where times stand beside them).
func (e Evidence) Conversation() bool {
	if e.Turns < 4 || e.Regulars < 2 || 3*e.Changes < e.Turns || 3*e.Speakers > 2*e.Turns {
		return false
	}
	if 10*e.Timed >= 8*e.Turns {
		return 8*e.Turns >= e.Lines
	}
	return 10*e.Turns >= 6*e.Lines && 2*e.Regulars >= e.Speakers
}

// Detect tells whether a plain text that starts with head reads like a conversation of "Name: text" lines or a chat export. Only the
// first 64 KiB count. It may be wrong: texts of "key: value" lines look alike, so ask it only of files that are expected to
// be conversations.
func Detect(head []byte) (Evidence, bool) {
	head = head[:min(len(head), detectBytes)]
	for len(head) > 0 && !utf8.Valid(head) && len(head) > detectBytes-utf8.UTFMax {
		head = head[:len(head)-1]
	}
	if !utf8.Valid(head) {
		return Evidence{}, false
	}
	g := newGrammar()
	var e Evidence
	names := map[string]int{}
	last := ""
	for line := range strings.Lines(string(head)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		e.Lines++
		h, ok := g.parse(line)
		if !ok {
			continue
		}
		e.Turns++
		if h.time != "" {
			e.Timed++
		}
		if names[h.speaker]++; names[h.speaker] == 2 {
			e.Regulars++
		}
		if h.speaker != last {
			e.Changes++
		}
		last = h.speaker
	}
	e.Speakers = len(names)
	return e, e.Conversation()
}
