package dialogue

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// cues reads WebVTT (W3C, 4 April 2019) and SubRip. Both are read leniently: a timing line begins a cue wherever it stands, and a
// number or an identifier belongs to it only if it stands right above it.
type cues struct {
	src *source
	out *output
	vtt bool

	g       *grammar
	u       utterance
	payload []string
	size    int
	held    string // a line that may be the next cue's number
	top     bool   // held began a block
	voice   string // the voice that an unfinished cue's tag named
	begun   bool
}

// line kinds inside blocks that are no cues.
const (
	inCue     = ""
	inComment = connector.DropComment
	inStyle   = connector.DropScript
	inHeader  = connector.DropMarkup
)

func (c *cues) read() error {
	c.g = newGrammar()
	var block connector.DropReason = inCue
	blank, fresh := true, true
	first := true
	for {
		line, whole, err := c.src.line()
		if err != nil {
			return err
		}
		if line == "" {
			if err := c.release(); err != nil {
				return err
			}
			return c.emit(true)
		}
		text := strings.TrimSpace(line)
		starts := fresh
		fresh = whole
		switch {
		case block == inComment || block == inStyle || block == inHeader:
			if text != "" || !whole {
				if block != inComment && starts && isTiming(text) { // the blank line is missing
					block = inCue
					err = c.timing(text)
					break
				}
				err = c.out.drop(block, text)
				break
			}
			block, blank = inCue, true
		case first && c.vtt && strings.HasPrefix(text, "WEBVTT"):
			block = inHeader
			err = c.out.drop(inHeader, text)
		case starts && isTiming(text):
			err = c.timing(text)
			blank = false
		case text == "" && starts:
			err = c.release()
			blank = true
		case c.vtt && blank && starts && blockKind(text) != inCue:
			if err = c.release(); err == nil {
				block = blockKind(text)
				err = c.out.drop(block, text)
			}
		default:
			if err = c.release(); err == nil {
				c.held, c.top = line, blank
				if !starts || !whole {
					c.top = false
					err = c.release()
				}
			}
			blank = false
		}
		if first = first && text == ""; err != nil {
			return err
		}
	}
}

// blockKind tells the blocks of WebVTT that are no cues.
func blockKind(line string) connector.DropReason {
	switch {
	case line == "NOTE" || strings.HasPrefix(line, "NOTE ") || strings.HasPrefix(line, "NOTE\t"):
		return inComment
	case line == "STYLE" || line == "REGION":
		return inStyle
	}
	return inCue
}

// release makes the line held back part of the cue.
func (c *cues) release() error {
	if c.held == "" {
		return nil
	}
	c.payload, c.size = append(c.payload, c.held), c.size+len(c.held)
	c.held = ""
	if c.size > maxPiece/2 {
		return c.emit(false)
	}
	return nil
}

// timing begins a cue.
func (c *cues) timing(line string) error {
	if c.held != "" && (c.top || counter(c.held)) {
		if err := c.out.drop(connector.DropMarkup, c.held); err != nil {
			return err
		}
		c.held = ""
	}
	if err := c.release(); err != nil {
		return err
	}
	if err := c.emit(true); err != nil {
		return err
	}
	start, end, _ := cueTimes(line)
	c.u = utterance{start: start, end: end}
	c.begun = true
	return c.out.drop(connector.DropMarkup, line)
}

// emit yields what the cue holds, voice by voice; done ends the cue.
func (c *cues) emit(done bool) error {
	text := strings.TrimRight(strings.Join(c.payload, ""), " \t\n")
	clear(c.payload)
	c.payload, c.size = c.payload[:0], 0
	defer func() {
		if done {
			c.voice = ""
		}
	}()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if !c.begun {
		return c.out.text(c.out.clean(text) + "\n")
	}
	for text != "" {
		piece := text
		next, tag := voiceTag(text, 1)
		if tag != "" {
			piece = text[:next]
		}
		text = text[len(piece):]
		if err := c.piece(piece); err != nil {
			return err
		}
	}
	return nil
}

// piece yields what one voice says.
func (c *cues) piece(piece string) error {
	u := c.u
	if at, name := voiceTag(piece, 0); at == 0 && name != "" {
		c.voice, u.goesOn = name, false
		c.u.goesOn = false
	}
	plain, tags := stripTags(piece)
	if err := c.out.drop(connector.DropMarkup, tags); err != nil {
		return err
	}
	plain = strings.TrimSpace(c.out.clean(plain))
	if plain == "" {
		return nil
	}
	u.speaker = c.voice
	switch {
	case u.goesOn:
		u.speaker = c.u.speaker
	case u.speaker != "":
		head := strings.TrimSpace(c.out.clean(u.speaker)) + ": "
		u.head, u.speaker = len(head), head[:len(head)-2]
		plain = head + plain
	default:
		if h, ok := c.g.parse(plain); ok && h.time == "" && !h.alone {
			u.speaker, u.head = h.speaker, h.n
		}
	}
	c.u.speaker, c.u.goesOn = u.speaker, u.head > 0 || u.goesOn
	return c.out.say(u, plain+"\n")
}
