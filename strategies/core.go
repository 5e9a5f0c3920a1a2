package strategies

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// How the parts of this package fit together.
//
//   - Sizing is the configuration that every strategy embeds (yaml inline); Sizing.open makes a budget of it.
//   - A budget holds the hard caps. caps[0] is in the primary unit, the one that overlap is given in.
//   - budget.measure makes one pass over a text and gives a measure: sizes of byte ranges, for every cap, without
//     encoding anything again. Room is a slice with what may be used of each cap; nil means whole caps.
//   - measure.next finds where the piece that starts at a place ends; pieces tile the text. Blank space at the ends of a piece
//     counts for nothing: what fits is the piece after trimSpan, and that is what becomes a chunk's text. A piece may
//     be blank altogether; callers skip it.
//   - the anchorer picks the places where packing starts afresh, so that an edit moves chunk ends nearby only.

// Sizing is the part of every strategy's configuration that bounds chunks.
type Sizing struct {
	MaxTokens int    `yaml:"max_tokens" doc:"hard cap of a chunk in tokens"`
	MaxChars  int    `yaml:"max_chars" doc:"hard cap of a chunk in characters (Unicode code points)"`
	Overlap   Amount `yaml:"overlap" doc:"text repeated from the chunk before, in the unit or as a percentage of the cap (64 or 10%)"`
	MinChars  int    `yaml:"min_chars" doc:"pieces shorter than this join a neighbour, if the cap allows"`
	Unit      string `yaml:"unit" enum:"tokens,chars" doc:"what overlap and the default cap are counted in"`
	Tokenizer string `yaml:"tokenizer" enum:"model,cl100k,o200k" doc:"which tokens are counted; model is the embedder's own"`
}

// The two units.
const (
	unitTokens = "tokens"
	unitChars  = "chars"
)

// Amount is a number of units or a percentage of the cap. In YAML it is written 64 or "10%".
type Amount struct {
	N       int
	Percent bool
}

// UnmarshalText reads "64" or "10%".
func (a *Amount) UnmarshalText(b []byte) error {
	s := strings.TrimSpace(string(b))
	digits, percent := strings.CutSuffix(s, "%")
	n, err := strconv.Atoi(strings.TrimSpace(digits))
	if err != nil {
		return fmt.Errorf("%q is no amount: write a whole number such as 64, or a percentage such as 10%%", s)
	}
	a.N, a.Percent = n, percent
	return nil
}

// MarshalText writes what UnmarshalText reads.
func (a Amount) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// MarshalYAML writes a number or a string with a percent sign.
func (a Amount) MarshalYAML() (any, error) {
	if a.Percent {
		return a.String(), nil
	}
	return a.N, nil
}

// String is "64" or "10%".
func (a Amount) String() string {
	if a.Percent {
		return strconv.Itoa(a.N) + "%"
	}
	return strconv.Itoa(a.N)
}

// of is the amount in units of a cap.
func (a Amount) of(size int) int {
	if a.Percent {
		return size * a.N / 100
	}
	return a.N
}

// Validate reports what can be told without knowing the embedder.
func (s Sizing) Validate() error {
	switch {
	case s.MaxTokens < 0:
		return fmt.Errorf("max_tokens is %d: it must be positive (leave it out for the default)", s.MaxTokens)
	case s.MaxChars < 0:
		return fmt.Errorf("max_chars is %d: it must be positive (leave it out for the default)", s.MaxChars)
	case s.MinChars < 0:
		return fmt.Errorf("min_chars is %d: it must not be negative (0 turns merging off)", s.MinChars)
	case s.Overlap.N < 0:
		return fmt.Errorf("overlap is %s: it must not be negative (0 turns it off)", s.Overlap)
	case s.Overlap.Percent && s.Overlap.N >= 100:
		return fmt.Errorf("overlap is %s of the cap, which leaves no room for new text: choose at most 99%%", s.Overlap)
	case s.Unit != "" && s.Unit != unitTokens && s.Unit != unitChars:
		return fmt.Errorf("unit is %q: choose tokens or chars", s.Unit)
	case s.Tokenizer != "" && s.Tokenizer != "model" && s.Tokenizer != "cl100k" && s.Tokenizer != "o200k":
		return fmt.Errorf("tokenizer is %q: choose model, cl100k or o200k", s.Tokenizer)
	case s.Unit == unitTokens && s.MaxTokens == 0 && s.MaxChars > 0:
		return errors.New("unit is tokens but only max_chars is set: set max_tokens too, or unit: chars")
	case s.Unit == unitChars && s.MaxChars == 0 && s.MaxTokens > 0:
		return errors.New("unit is chars but only max_tokens is set: set max_chars too, or unit: tokens")
	}
	if size := s.primary(defaults{}); size > 0 {
		return s.checkOverlap(size, "the cap")
	}
	return nil
}

func (s Sizing) checkOverlap(size int, what string) error {
	if s.Overlap.of(size) >= size {
		return fmt.Errorf("overlap is %s but %s is %d: overlap must be smaller; lower it or raise the cap", s.Overlap, what, size)
	}
	return nil
}

// unit is the primary unit.
func (s Sizing) unit() string {
	switch {
	case s.Unit != "":
		return s.Unit
	case s.MaxChars > 0 && s.MaxTokens == 0:
		return unitChars
	}
	return unitTokens
}

// primary is the cap in the primary unit.
func (s Sizing) primary(d defaults) int {
	if s.unit() == unitChars {
		return orDefault(s.MaxChars, d.chars)
	}
	return orDefault(s.MaxTokens, d.tokens)
}

func orDefault(n, fallback int) int {
	if n > 0 {
		return n
	}
	return fallback
}

// defaults are the caps of a strategy for which neither max_tokens nor max_chars is set.
type defaults struct{ tokens, chars int }

// budget is an opened Sizing: the caps that hold for every chunk.
type budget struct {
	caps     []connector.Cap // caps[0] is in the primary unit
	overlap  int             // in the primary unit, smaller than caps[0].Max
	minChars int
}

// open resolves counters and joins the rule's caps with the model's: of two caps with one counter the smaller holds.
func (s Sizing) open(env connector.StrategyEnv, fallback defaults) (*budget, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	b := &budget{minChars: s.MinChars}
	add := func(unit string, size int) error {
		if size == 0 {
			return nil
		}
		name := unitChars
		if unit == unitTokens {
			if name = s.Tokenizer; name == "" {
				name = "model"
			}
		}
		c, err := env.Counter(name)
		if err != nil {
			return fmt.Errorf("counting %s: %w", unit, err)
		}
		b.caps = append(b.caps, connector.Cap{Max: size, Counter: c})
		return nil
	}
	first, second := unitTokens, unitChars
	other := s.MaxChars
	if s.unit() == unitChars {
		first, second, other = unitChars, unitTokens, s.MaxTokens
	}
	if err := errors.Join(add(first, s.primary(fallback)), add(second, other)); err != nil {
		return nil, err
	}
	if len(b.caps) == 0 {
		return nil, errors.New("no size: set max_tokens or max_chars")
	}
	b.addModelCap(env.ModelCap)
	size := b.caps[0].Max
	if err := s.checkOverlap(size, "the cap (the smaller of the rule's and the embedder's)"); err != nil {
		return nil, err
	}
	b.overlap = s.Overlap.of(size)
	return b, nil
}

func (b *budget) addModelCap(c connector.Cap) {
	if c.Max <= 0 || c.Counter == nil {
		return
	}
	for k := range b.caps {
		if b.caps[k].Counter.Name() == c.Counter.Name() {
			b.caps[k].Max = min(b.caps[k].Max, c.Max)
			return
		}
	}
	b.caps = append(b.caps, c)
}

// room is what remains of each cap for text below a context that ends in a line end, given that the text starts
// neither with a line end nor with blank space. It is nil for no context, and holds values < 1 where nothing remains.
//
// Byte-pair encodings split text before they merge: a run of line ends never joins the letters, digits or marks after
// it, so the counts of context and text add up. o200k alone lets a slash join the line end before it, and other
// tokenizers are unknown: there one unit is held back for the join.
func (b *budget) room(context string) []int {
	if context == "" {
		return nil
	}
	room := make([]int, len(b.caps))
	for k, c := range b.caps {
		room[k] = c.Max - c.Counter.Count(context)
		if name := c.Counter.Name(); name != unitChars && name != "cl100k" {
			room[k]--
		}
	}
	return room
}

// fitsWhole tells whether a chunk with a context keeps every cap, counted afresh. It is for the few joins for which
// the sums of room may be wrong.
func (b *budget) fitsWhole(embedText string) bool {
	for _, c := range b.caps {
		if !underByBytes(c, len(embedText), c.Max) && c.Counter.Count(embedText) > c.Max {
			return false
		}
	}
	return true
}

// underByBytes tells that n bytes keep a limit without counting: no character and no byte-pair token is shorter than a byte.
func underByBytes(c connector.Cap, n, limit int) bool {
	if n > limit {
		return false
	}
	switch c.Counter.Name() {
	case unitChars, "cl100k", "o200k":
		return true
	}
	return false
}

// ranger is a Ruler with the two questions that packing asks. Rulers may answer them faster than by counting.
type ranger interface {
	connector.Ruler
	// Fits tells whether Count(i, j) <= max.
	Fits(i, j, max int) bool
	// Furthest is a position j in [i, hi] for which [i, j) fits, about the largest.
	Furthest(i, hi, max int) int
}

// rearward is a Ruler that also measures from the end.
type rearward interface {
	// Rearmost is the smallest i in [lo, j] for which Count(i, j) <= max.
	Rearmost(lo, j, max int) int
}

// measure sizes byte ranges of one text. It is for one goroutine.
type measure struct {
	text   string
	b      *budget
	rulers []ranger // nil until needed
	// additive: sizes add up, so what lies within something that fits fits too. That holds for characters alone.
	additive bool
}

// measure prepares one text. Counting happens when it is first asked for.
func (b *budget) measure(text string) *measure {
	m := &measure{text: text, b: b, rulers: make([]ranger, len(b.caps)), additive: true}
	for k := range b.caps {
		m.additive = m.additive && b.caps[k].Counter.Name() == unitChars
	}
	return m
}

func (m *measure) ruler(k int) ranger {
	if m.rulers[k] == nil {
		r := m.b.caps[k].Counter.Ruler(m.text)
		if fast, ok := r.(ranger); ok {
			m.rulers[k] = fast
		} else {
			m.rulers[k] = slowRanger{r}
		}
	}
	return m.rulers[k]
}

// size is the size of text[i:j] in the primary unit.
func (m *measure) size(i, j int) int { return m.ruler(0).Count(i, j) }

// tokens is the exact size of text[i:j] in tokens, and their name, below a context that leaves room; 0 if no ruler for tokens has
// been made, or if the sizes of context and text may not add up (see budget.room).
func (m *measure) tokens(i, j int, room []int) (n int, unit string) {
	for k := len(m.rulers) - 1; k >= 0; k-- { // the model's own cap is the last
		c := m.b.caps[k]
		name := c.Counter.Name()
		if m.rulers[k] == nil || name == unitChars {
			continue
		}
		used := 0
		if room != nil {
			switch first := m.text[i]; {
			case first <= ' ', first >= utf8.RuneSelf && spaceStart(m.text[i:j]), name == "o200k" && first == '/':
				return 0, ""
			case name == "cl100k":
				used = c.Max - room[k]
			case name == "o200k":
				used = c.Max - room[k] - 1
			default:
				return 0, ""
			}
		}
		return used + m.rulers[k].Count(i, j), name
	}
	return 0, ""
}

// limit is what may be used of cap k.
func (m *measure) limit(k int, room []int) int {
	if room == nil {
		return m.b.caps[k].Max
	}
	return room[k]
}

// fits tells whether text[i:j] keeps every cap, with room left of them.
func (m *measure) fits(i, j int, room []int) bool {
	for k, c := range m.b.caps {
		limit := m.limit(k, room)
		if limit < 0 || !underByBytes(c, j-i, limit) && !m.ruler(k).Fits(i, j, limit) {
			return false
		}
	}
	return true
}

// furthest is a position j in [i, hi] for which text[i:j] fits, about the largest. It need not be a character's start.
func (m *measure) furthest(i, hi int, room []int) int {
	for k, c := range m.b.caps {
		limit := m.limit(k, room)
		if limit <= 0 {
			return i
		}
		if !underByBytes(c, hi-i, limit) {
			hi = m.ruler(k).Furthest(i, hi, limit)
		}
	}
	return hi
}

// slowRanger answers a ranger's questions by counting.
type slowRanger struct{ connector.Ruler }

// Fits counts.
func (r slowRanger) Fits(i, j, limit int) bool { return r.Count(i, j) <= limit }

// Furthest doubles its stride and then bisects, so its cost depends on the answer and not on hi.
func (r slowRanger) Furthest(i, hi, limit int) int {
	lo, step := i, max(limit, 16)
	for lo < hi && lo+step < hi && r.Count(i, lo+step) <= limit {
		lo += step
		step *= 2
	}
	over := min(lo+step, hi)
	if over == hi && r.Count(i, hi) <= limit {
		return hi
	}
	for over-lo > 1 {
		mid := int(uint(lo+over) / 2)
		if r.Count(i, mid) <= limit {
			lo = mid
		} else {
			over = mid
		}
	}
	return lo
}
