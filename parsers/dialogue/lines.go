package dialogue

import (
	"errors"
	"io"
	"strings"
)

// turns gathers the lines of one utterance.
type turns struct {
	g     *grammar
	known roster
	out   *output
	open  bool // an utterance has begun
	u     utterance
	parts []string
	size  int
}

// readTurns reads lines that name their speaker and those that follow them.
func readTurns(src *source, out *output) error {
	sample, err := src.r.Peek(maxPiece)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	t := &turns{g: newGrammar(), out: out}
	t.known = t.g.roster(string(sample))
	fresh := true
	for {
		line, whole, err := src.line()
		if err != nil {
			return err
		}
		if line == "" {
			return t.flush(true)
		}
		if fresh {
			if err := t.begin(line); err != nil {
				return err
			}
		}
		t.parts, t.size = append(t.parts, line), t.size+len(line)
		fresh = whole
		if t.size > maxPiece/2 {
			if err := t.flush(false); err != nil {
				return err
			}
		}
	}
}

// begin starts an utterance if the line names a speaker.
func (t *turns) begin(line string) error {
	if strings.TrimSpace(line) == "" {
		return nil
	}
	h, ok := t.g.parse(line)
	if !ok || !t.known.speaks(h) {
		return nil
	}
	if err := t.flush(true); err != nil {
		return err
	}
	if h.alone {
		h.n = len(line) // with its line end
	}
	t.open, t.u = true, utterance{speaker: h.speaker, start: h.time, head: h.n}
	return nil
}

// flush yields what was gathered; done ends the utterance.
func (t *turns) flush(done bool) error {
	text := strings.Join(t.parts, "")
	clear(t.parts)
	t.parts, t.size = t.parts[:0], 0
	if text == "" {
		return nil
	}
	var err error
	if t.open {
		err = t.out.say(t.u, text)
	} else {
		err = t.out.text(text)
	}
	t.u.goesOn = true
	if done {
		t.open = false
	}
	return err
}
