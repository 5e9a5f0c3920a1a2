// Package features measures what a document is like, from its elements and their text, without a model: what it is made of (code, tables,
// lists, headings), how its language is (words, numbers, terms, narration, Chinese), and how much there is of it. The strategies that choose,
// auto, agentic and adaptive, decide by these figures, and `kbsync chunk --explain` shows them.
//
// Everything is counted in whole numbers in one pass over at most [Window] bytes, so the same elements have the same figures on any
// machine, and memory does not grow with the document.
package features

import (
	"math"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/sentences"
)

// Window is how many bytes of a document's text are measured: its beginning tells what the rest is like.
const Window = 256 << 10

// Features are figures of a document. Shares are between 0 and 1.
type Features struct {
	// Bytes, Characters and Elements are what was measured; Complete says that there is no more.
	Bytes      int  `json:"bytes"`
	Characters int  `json:"characters"`
	Elements   int  `json:"elements"`
	Complete   bool `json:"complete"`

	// Shares of the text, in bytes, that are of a kind: code blocks and declarations of source files together, declarations alone, tables and
	// records together, utterances of conversations, lists, running text.
	Code         float64 `json:"code"`
	Declarations float64 `json:"declarations"`
	Tables       float64 `json:"tables"`
	Turns        float64 `json:"turns"`
	Lists        float64 `json:"lists"`
	Prose        float64 `json:"prose"`

	Headings int `json:"headings"`
	// HeadingDensity is headings in 1,000 characters, HeadingDepth their deepest level.
	HeadingDensity float64 `json:"heading_density"`
	HeadingDepth   int     `json:"heading_depth"`
	// Paragraph is the mean length of a block of running text in characters.
	Paragraph float64 `json:"paragraph"`

	// Words counts words and, of scripts without spaces, characters: the units of what follows.
	Words int `json:"words"`
	// Terms and Numbers are shares of the units that look technical, or are numbers.
	Terms   float64 `json:"terms"`
	Numbers float64 `json:"numbers"`
	// Entropy of the units is in bits a unit; TypeToken is Herdan's C, log(types)/log(tokens), which depends little on length.
	Entropy   float64 `json:"entropy"`
	TypeToken float64 `json:"type_token"`
	// Sentence is the mean length of a sentence of the running text in units.
	Sentence float64 `json:"sentence"`
	// Narration is the share of units that tell a story (he, said, 他, 说).
	Narration float64 `json:"narration"`
	// Dialogue is the share of lines of the running text that begin with the name of a speaker who speaks more than once.
	Dialogue float64 `json:"dialogue"`
	// Chinese is the share of the units that are ideographs.
	Chinese float64 `json:"chinese"`
}

// elementCost is what an element costs the window beside its text, so that many empty ones fill it too.
const elementCost = 16

// Meter measures elements in order. The zero Meter is ready; it is for one goroutine.
type Meter struct {
	used                                        int
	bytes, chars, elements                      int
	code, declared, tables, turns, lists, prose int
	headings, depth                             int
	blocks, blockChars                          int
	sentences, sentenceUnits                    int
	bag                                         Bag
	lines                                       int
	speakers                                    map[string]int
	full                                        bool
}

// Full says that the window is used up: what else is added is not measured.
func (m *Meter) Full() bool { return m.used >= Window }

// Add measures the next element.
func (m *Meter) Add(el *connector.Element) {
	if m.Full() {
		m.full = m.full || el.Text != ""
		return
	}
	text := el.Text
	if left := Window - m.used; len(text) > left {
		text, m.full = strings.ToValidUTF8(text[:left], ""), true
	}
	m.used += len(text) + elementCost
	if el.Kind == connector.KindDropped {
		return
	}
	m.elements++
	n := len(text)
	m.bytes += n
	chars := 0
	for range text {
		chars++
	}
	m.chars += chars
	switch el.Kind {
	case connector.KindCode:
		m.code += n
	case connector.KindSymbol:
		m.code += n
		m.declared += n
	case connector.KindTable, connector.KindRecord:
		m.tables += n
		if Utterance(el) {
			m.turns += n
		}
	case connector.KindList, connector.KindItem:
		m.lists += n
		m.saidBy(text)
	case connector.KindHeading:
		m.headings++
		m.depth = max(m.depth, el.Level)
	case connector.KindText, connector.KindQuote, connector.KindFootnote, connector.KindDefinition:
		m.running(text, chars)
	}
	Units(text, m.bag.Add)
}

// running measures a block of running text.
func (m *Meter) running(text string, chars int) {
	m.prose += len(text)
	if strings.TrimSpace(text) == "" {
		return
	}
	m.blocks++
	m.blockChars += chars
	for start, end := range sentences.All(text) {
		units := 0
		Units(text[start:end], func(Unit) { units++ })
		if units > 0 {
			m.sentences++
			m.sentenceUnits += units
		}
	}
	m.saidBy(text)
}

// Utterance tells whether an element is what somebody says in a conversation: a record with a speaker and a text.
func Utterance(el *connector.Element) bool {
	if el.Kind != connector.KindRecord || el.Table == nil || len(el.Table.Header) != 1 {
		return false
	}
	who, what := false, false
	for _, name := range el.Table.Header[0] {
		who = who || name == "speaker" || name == "role"
		what = what || name == "text" || name == "content"
	}
	return who && what
}

// Features are the figures of what was added. complete says that it was the whole document.
func (m *Meter) Features(complete bool) Features {
	f := Features{
		Bytes: m.bytes, Characters: m.chars, Elements: m.elements, Complete: complete && !m.full,
		Code: share(m.code, m.bytes), Declarations: share(m.declared, m.bytes), Tables: share(m.tables, m.bytes), Turns: share(m.turns, m.bytes),
		Lists: share(m.lists, m.bytes), Prose: share(m.prose, m.bytes),
		Headings: m.headings, HeadingDensity: share(1000*m.headings, m.chars), HeadingDepth: m.depth,
		Paragraph: share(m.blockChars, m.blocks), Sentence: share(m.sentenceUnits, m.sentences),
		Words: m.bag.Size(), Terms: m.bag.Terms(), Numbers: m.bag.Numbers(), Entropy: m.bag.Entropy(), TypeToken: m.bag.TypeToken(),
		Narration: m.bag.Narration(), Chinese: m.bag.Chinese(),
	}
	repeated := 0
	for _, n := range m.speakers {
		if n > 1 {
			repeated += n
		}
	}
	f.Dialogue = share(repeated, m.lines)
	return f
}

// share is a part of a whole, to four decimals; 0 of nothing.
func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return round(float64(part) / float64(whole))
}

func round(x float64) float64 { return math.Round(x*1e4) / 1e4 }
