package quality

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Report says how chunks came out. Flags and Flagged are of the sample; all else is of all chunks that are embedded.
type Report struct {
	Documents int `json:"documents"`
	Chunks    int `json:"chunks"`
	// Parents are chunks that are only stored: they are counted here alone.
	Parents int `json:"parents,omitempty"`
	// LeftOut is how many chunks others stand for, by the configured dedup. The collector does not see them: its user says so.
	LeftOut int `json:"left_out,omitempty"`
	Sampled int `json:"sampled"`
	// Unit is how tokens are counted.
	Unit      string   `json:"unit,omitempty"`
	Tokens    Sizes    `json:"tokens"`
	Histogram []Bucket `json:"histogram"`
	// Western and Eastern count the chunks of prose that end in the middle of a sentence: Eastern those in scripts without spaces.
	Western Ends           `json:"mid_sentence"`
	Eastern Ends           `json:"mid_sentence_cjk"`
	Flags   map[string]int `json:"flags"`
	// Flagged are the chunks of the sample that have a flag, by source, path and position.
	Flagged    []*Item `json:"flagged"`
	Strategies []*Row  `json:"strategies"`
	Files      []*Row  `json:"files"`
}

func (r *Report) ends(eastern bool) *Ends {
	if eastern {
		return &r.Eastern
	}
	return &r.Western
}

// Sizes summarises the chunks' tokens; the percentiles are sizes that occur (nearest rank).
type Sizes struct {
	Total  int     `json:"total"`
	Mean   float64 `json:"mean"`
	Min    int     `json:"min"`
	P5     int     `json:"p5"`
	Median int     `json:"median"`
	P95    int     `json:"p95"`
	Max    int     `json:"max"`
}

// Bucket is the number of chunks of From to To tokens, both included.
type Bucket struct {
	From   int `json:"from"`
	To     int `json:"to"`
	Chunks int `json:"chunks"`
}

// Ends counts chunks of prose and those of them that end in the middle of a sentence.
type Ends struct {
	Chunks int     `json:"chunks"`
	Mid    int     `json:"mid"`
	Share  float64 `json:"share"`
}

func (e *Ends) add(mid bool) {
	e.Chunks++
	if mid {
		e.Mid++
	}
	e.Share = math.Round(float64(e.Mid)/float64(e.Chunks)*1e4) / 1e4
}

// Item is a chunk with its flags.
type Item struct {
	ChunkID  string `json:"chunk_id"`
	Source   string `json:"source"`
	Path     string `json:"path"`
	Index    int    `json:"chunk_index"`
	Line     int    `json:"line_start"`
	Tokens   int    `json:"tokens"`
	Strategy string `json:"strategy"`
	Flags    []Flag `json:"flags"`
	Excerpt  string `json:"excerpt"`

	hash string
}

// Flag is what is worth a look at a chunk, and why.
type Flag struct {
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

// flag notes a finding; an empty detail is none.
func (it *Item) flag(kind, detail string) {
	if detail != "" {
		it.Flags = append(it.Flags, Flag{kind, detail})
	}
}

func (it *Item) unflag(kind string) {
	it.Flags = slices.DeleteFunc(it.Flags, func(f Flag) bool { return f.Kind == kind })
}

func (it *Item) clone() *Item {
	c := *it
	c.Flags = slices.Clone(it.Flags)
	return &c
}

func (it *Item) sort() {
	kinds := Kinds()
	slices.SortStableFunc(it.Flags, func(a, b Flag) int { return slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind) })
	it.Flags = slices.CompactFunc(it.Flags, func(a, b Flag) bool { return a.Kind == b.Kind })
}

// Row sums up the chunks of one strategy or file. Flags are those of the sample.
type Row struct {
	Name   string         `json:"name"`
	Chunks int            `json:"chunks"`
	Mean   float64        `json:"mean_tokens"`
	Ends   Ends           `json:"mid_sentence"`
	Flags  map[string]int `json:"flags"`

	tokens int
}

func (r *Row) add(tokens int) {
	r.Chunks++
	r.tokens += tokens
	r.Mean = round1(float64(r.tokens) / float64(r.Chunks))
}

// Flagged is the number of the row's flags.
func (r *Row) Flagged() (n int) {
	for _, k := range r.Flags {
		n += k
	}
	return n
}

func cloneRows(rows map[string]*Row) map[string]*Row {
	out := make(map[string]*Row, len(rows))
	for k, r := range rows {
		c := *r
		c.Flags = map[string]int{}
		out[k] = &c
	}
	return out
}

func sortedRows(rows map[string]*Row) []*Row {
	out := make([]*Row, 0, len(rows))
	for _, r := range rows {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *Row) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// sizes counts chunks by tokens.
type sizes map[int]int

func (s sizes) add(tokens int) { s[tokens]++ }

func (s sizes) sorted() (list []int, n int) {
	for size, k := range s {
		list = append(list, size)
		n += k
	}
	slices.Sort(list)
	return list, n
}

func (s sizes) summary() (out Sizes) {
	list, n := s.sorted()
	if n == 0 {
		return out
	}
	out.Min, out.Max = list[0], list[len(list)-1]
	rank := func(share float64) int {
		at := max(int(math.Ceil(share*float64(n))), 1)
		for _, size := range list {
			if at -= s[size]; at <= 0 {
				return size
			}
		}
		return out.Max
	}
	out.P5, out.Median, out.P95 = rank(0.05), rank(0.5), rank(0.95)
	for _, size := range list {
		out.Total += size * s[size]
	}
	out.Mean = round1(float64(out.Total) / float64(n))
	return out
}

// histogram has buckets that double in width, the first of up to 15 tokens.
func (s sizes) histogram() []Bucket {
	list, n := s.sorted()
	if n == 0 {
		return []Bucket{}
	}
	out := []Bucket{}
	from, to := 0, 15
	for _, size := range list {
		for size > to {
			if len(out) > 0 && out[len(out)-1].From != from {
				out = append(out, Bucket{from, to, 0})
			}
			from, to = to+1, 2*to+1
		}
		if len(out) == 0 || out[len(out)-1].From != from {
			out = append(out, Bucket{from, to, 0})
		}
		out[len(out)-1].Chunks += s[size]
	}
	return out
}

// A chunk is an outlier when it is this many times smaller or larger than the median; ones of few tokens are too small and ones of many
// too large in any case.
const (
	outlierFactor = 10
	tinyTokens    = 16
	hugeTokens    = 256
)

// outlier says how a size stands out, if it does.
func (s sizes) outlier(tokens int) string {
	median := s.summary().Median
	switch {
	case tokens < tinyTokens && tokens*outlierFactor < median:
		return itoa(tokens) + " tokens, where the median is " + itoa(median)
	case tokens > hugeTokens && tokens > median*outlierFactor:
		return itoa(tokens) + " tokens, where the median is " + itoa(median)
	}
	return ""
}

func round1(f float64) float64 { return math.Round(f*10) / 10 }

func itoa(n int) string { return strconv.Itoa(n) }

// number reads a whole number of metadata, from memory or from JSON.
func number(v any) int {
	switch n := v.(type) {
	case int:
		return n
	case int64:
		return int(n)
	case float64:
		return int(n)
	}
	return 0
}

// clip shortens text to n characters.
func clip(text string, n int) string {
	for i := range text {
		if n == 0 {
			return strings.TrimRight(text[:i], " ") + "…"
		}
		n--
	}
	return text
}
