package strategies

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// DialogueConfig configures the strategy dialogue.
type DialogueConfig struct {
	Sizing       `yaml:",inline"`
	OverlapTurns int `yaml:"overlap_turns" doc:"repeat this many whole turns of the chunk before, instead of overlap"`
}

func dialogueDefaults() DialogueConfig {
	return DialogueConfig{Sizing: Sizing{MinChars: 20}, OverlapTurns: 1}
}

// Validate reports what cannot work.
func (c DialogueConfig) Validate() error {
	if c.OverlapTurns < 0 {
		return fmt.Errorf("overlap_turns is %d: it must not be negative (0 leaves overlap in force)", c.OverlapTurns)
	}
	return c.Sizing.Validate()
}

type dialogue struct {
	b     *budget
	turns int
}

var _ connector.Strategy = (*dialogue)(nil)

// Dialogue is the strategy dialogue: whole utterances of a conversation, as many in a chunk as fit. A question stays with
// its answer while both fit, what one speaker says in a row stays together if that leaves no chunk small, and a sentence
// over several subtitles is cut between them only where nothing else helps. An utterance that does not fit is cut between sentences;
// the line that names its speaker stands in the context of every later piece. Overlap is whole turns, at most half a chunk, and
// gives way to a pair of question and answer. What is no conversation is cut as markdown does.
//
// Metadata: speakers, time_start and time_end where the text gives times, turn_start and turn_end (1-based numbers of turns in
// the conversation; a turn is what one speaker says in a row).
func Dialogue() connector.StrategyPlugin {
	return connector.Define("dialogue", "Whole turns of conversations and transcripts, questions with their answers",
		dialogueDefaults(),
		func(_ context.Context, c *DialogueConfig, env connector.StrategyEnv) (connector.Strategy, error) {
			if err := c.Validate(); err != nil {
				return nil, fmt.Errorf("dialogue: %w", err)
			}
			b, err := c.open(env, blockCaps)
			if err != nil {
				return nil, fmt.Errorf("dialogue: %w", err)
			}
			return &dialogue{b: b, turns: c.OverlapTurns}, nil
		})
}

// Info describes the strategy.
func (s *dialogue) Info() connector.StrategyInfo {
	return connector.StrategyInfo{Name: "dialogue", Parser: "dialogue", Version: 1, Caps: s.b.caps}
}

// Chunks cuts one document. Of a conversation it holds about three chunks at a time.
func (s *dialogue) Chunks(ctx context.Context, _ *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		cutBlocks(ctx, s.b, layout{prefix: true}, &turnWriter{s: s}, elements)(yield)
	}
}

// said is one utterance, or what is left of one.
type said struct {
	text                string
	size                int // in the primary unit
	x, seq              int
	speaker, start, end string
	span                connector.Span
	head                string // the line that names the speaker
	headSpan            connector.Span
	turn                int
	bond                bond // to the utterance behind it
	inner               bool // it starts within an utterance that was cut
}

// turnWriter gathers utterances until they make a chunk.
type turnWriter struct {
	s         *dialogue
	f         *flow
	open      bool
	id        int
	title     string
	titleSpan connector.Span
	queue     []said
	tail      []said // the last chunk's utterances, for the overlap
	last      said   // the last utterance taken
	turn      int
	x, seq    int
	a         anchorer
	found     map[int]bool // utterances at which packing starts afresh
	begun     bool         // a chunk of this conversation is out
	start     int          // where the last chunk starts
}

// turnColumns are the places of speaker, start, end and text among a record's columns, -1 where there are none.
func turnColumns(el *connector.Element) (speaker, start, end int, ok bool) {
	speaker, start, end = -1, -1, -1
	if el.Kind != connector.KindRecord || el.Table == nil || len(el.Table.Rows) != 1 || len(el.Table.Header) != 1 {
		return speaker, start, end, false
	}
	for i, name := range el.Table.Header[0] {
		if i >= len(el.Table.Rows[0].Cells) {
			break
		}
		switch name {
		case "speaker":
			speaker = i
		case "start":
			start = i
		case "end":
			end = i
		case "text":
			ok = true
		}
	}
	return speaker, start, end, ok && speaker >= 0
}

// owns tells utterances.
func (w *turnWriter) owns(el *connector.Element) bool {
	_, _, _, ok := turnColumns(el)
	return ok
}

// take adds an utterance.
func (w *turnWriter) take(f *flow, el connector.Element) bool {
	w.f = f
	speaker, start, end, _ := turnColumns(&el)
	cells := el.Table.Rows[0].Cells
	cell := func(i int) string {
		if i < 0 {
			return ""
		}
		return cells[i]
	}
	u := said{text: el.Text, span: el.Span, speaker: cell(speaker), start: cell(start), end: cell(end)}
	if len(el.Children) > 0 && el.Children[0].Span.Start == el.Span.Start {
		u.head, u.headSpan = el.Children[0].Text, el.Children[0].Span
	}
	if !w.open || w.id != el.Table.ID {
		w.close(f)
		w.begin(&el, &u)
	}
	w.add(u, len(el.Children) == 0 && u.speaker != "")
	w.drain(false)
	return true
}

// begin begins a conversation.
func (w *turnWriter) begin(el *connector.Element, u *said) {
	w.open, w.id, w.title, w.titleSpan = true, el.Table.ID, el.Table.Caption, connector.Span{}
	if w.title != "" && u.speaker == "" && strings.TrimSpace(el.Text) == w.title {
		lo, hi := trimSpan(el.Text, 0, len(el.Text))
		w.titleSpan = connector.Span{Start: el.Span.Start + lo, End: el.Span.Start + hi}
	}
	w.tail, w.last, w.turn, w.x, w.seq = nil, said{}, 0, 0, 0
	w.a, w.found, w.begun, w.start = anchorer{reach: w.s.b.anchorRadius()}, map[int]bool{}, false, -1
}

// add queues an utterance; goesOn tells that it has no speaker line of its own, as the later parts of a long one.
func (w *turnWriter) add(u said, goesOn bool) {
	u.size = w.s.b.caps[0].Counter.Count(u.text)
	w.x += u.size
	goesOn = goesOn && w.seq > 0 && u.speaker == w.last.speaker && w.last.span.End == u.span.Start && w.last.head != ""
	if n := len(w.queue); goesOn && n > 0 {
		last := &w.queue[n-1]
		last.text += u.text
		last.size += u.size
		last.span.End = u.span.End
		last.end = u.end
		last.x = w.x
		w.last.span = last.span
		return
	}
	if goesOn {
		u.head, u.headSpan, u.inner = w.last.head, w.last.headSpan, true
	}
	title := w.titleSpan.Len() > 0 && w.seq == 0
	if !title && !goesOn && (w.turn == 0 || u.speaker != w.last.speaker || u.speaker == "") {
		w.turn++
	}
	u.turn = w.turn
	if n := len(w.queue); n > 0 {
		w.queue[n-1].bond = bondOf(&w.queue[n-1], &u)
		if w.titleSpan.Len() > 0 && w.seq == 1 {
			w.queue[n-1].bond = bondPair
		}
	}
	if w.seq++; len(w.queue) > 0 && w.queue[len(w.queue)-1].bond == bondNone {
		w.a.add(candidate{at: w.seq, x: w.x - u.size, key: rowKey(u.text)})
	}
	u.seq, u.x = w.seq, w.x
	w.queue = append(w.queue, u)
	w.last = u
}

// close writes what is held back.
func (w *turnWriter) close(f *flow) bool {
	if w.open {
		w.f = f
		w.drain(true)
		w.open, w.queue, w.tail = false, nil, nil
	}
	return true
}
