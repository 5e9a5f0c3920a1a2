package keywords

import "unicode/utf8"

// What a document's statistics look at: strings of up to gramMax characters, in the first statBytes of its text in packed scripts.
const (
	gramMax   = 5 // one more than the longest word that is found
	wordMax   = 4
	statBytes = 512 << 10
)

// hanStats counts the strings of characters of a document.
type hanStats struct {
	grams map[string]int32
	left  int // bytes that are still looked at
}

func newHanStats() *hanStats { return &hanStats{left: statBytes} }

func (s *hanStats) add(text string) {
	for i := 0; i < len(text) && s.left > 0; {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !isPacked(r) {
			i += n
			continue
		}
		j := runEnd(text, i, isPacked)
		s.run(text[i:j])
		i = j
	}
}

func (s *hanStats) run(run string) {
	if s.grams == nil {
		s.grams = map[string]int32{}
	}
	if len(run) > s.left {
		run = run[:boundary(run, s.left)]
	}
	s.left -= len(run)
	if run == "" {
		s.left = 0
	}
	var ends [gramMax]int
	for i := 0; i < len(run); {
		n, j := 0, i
		for n < gramMax && j < len(run) {
			_, size := utf8.DecodeRuneInString(run[j:])
			j += size
			ends[n] = j
			n++
		}
		for _, end := range ends[:n] {
			s.grams[run[i:end]]++
		}
		i = ends[0]
	}
}

func boundary(s string, at int) int {
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}

// hanWord is a word that the document taught.
type hanWord struct{ count int32 }

// freedom gathers the neighbours of a string on one side.
type freedom struct {
	seen    int64 // neighbours
	entropy int64 // sum of c·log2(c) over the distinct ones
}

func (f *freedom) add(c int32) {
	f.seen += int64(c)
	f.entropy += int64(c) * log2(uint64(c))
}

// isFree says that the neighbours are at least as uncertain as the toss of a coin; where the string ended a run, its neighbour was one of its own.
func (f freedom) isFree(count int32) bool {
	n := int64(count)
	return n*log2(uint64(n))-f.entropy >= n*unit*9/10
}

// words are the strings that recur, hold together and stand freely.
func (s *hanStats) words(lex *lexicon) map[string]hanWord {
	found := map[string]hanWord{}
	for g, c := range s.grams {
		if n := utf8.RuneCountInString(g); c >= 2 && n >= 2 && n <= wordMax && s.coheres(g, c) && standsAlone(g) && !lex.stop[g] && !isCount(g) {
			found[g] = hanWord{c}
		}
	}
	if len(found) == 0 {
		return found
	}
	before, after := make(map[string]freedom, len(found)), make(map[string]freedom, len(found))
	for g, c := range s.grams {
		if utf8.RuneCountInString(g) < 3 {
			continue
		}
		_, first := utf8.DecodeRuneInString(g)
		_, last := utf8.DecodeLastRuneInString(g)
		note(before, found, g[first:], c)
		note(after, found, g[:len(g)-last], c)
	}
	for g, w := range found {
		if !before[g].isFree(w.count) || !after[g].isFree(w.count) {
			delete(found, g)
		}
	}
	return found
}

func note(side map[string]freedom, found map[string]hanWord, word string, c int32) {
	if _, ok := found[word]; ok {
		f := side[word]
		f.add(c)
		side[word] = f
	}
}

// coheres says that at no place of the string its halves are met much more often than the whole.
func (s *hanStats) coheres(g string, c int32) bool {
	for i := range g {
		if i > 0 && int64(c)*int64(c)*100 < 15*int64(s.grams[g[:i]])*int64(s.grams[g[i:]]) {
			return false
		}
	}
	return true
}

func standsAlone(g string) bool {
	first, _ := utf8.DecodeRuneInString(g)
	last, _ := utf8.DecodeLastRuneInString(g)
	return !isFunction(first) && !isFunction(last)
}

// The costs by which a run is cut: few words, and those that are known.
const (
	costChar = 10 * unit // a character alone
	costWord = 8 * unit  // a word of the background, and its rarity
	costNew  = 8 * unit  // a word of the document
)

// hanPart is a part of a run on the cheapest way to its end.
type hanPart struct {
	cost   int64
	from   int
	weight int64 // rarity; 0: it is no keyword; -1: a character that may be part of an unknown word
}

// hanCost is what a string costs as one word, from memory where it can be.
func (d *Document) hanCost(word string) (cost, weight int64, ok bool) {
	if m, seen := d.memo[word]; seen {
		return m.cost, m.weight, m.ok
	}
	cost, weight, ok = d.e.hanCost(word, d.known)
	d.remember(word, memoEntry{cost, weight, ok})
	return cost, weight, ok
}

// segment cuts a run of a packed script into words on the cheapest way (dynamic programming), and gives those that may be keywords.
func (d *Document) segment(run string, see func(string, int64)) {
	at := make([]int, 0, len(run)/3+1)
	for i := range run {
		at = append(at, i)
	}
	at = append(at, len(run))
	best := make([]hanPart, len(at))
	for j := 1; j < len(at); j++ {
		best[j] = hanPart{cost: best[j-1].cost + costChar, from: j - 1, weight: -1}
		if r, _ := utf8.DecodeRuneInString(run[at[j-1]:]); isFunction(r) {
			best[j].weight = 0
		}
		for n := 2; n <= wordMax && n <= j; n++ {
			cost, weight, ok := d.hanCost(run[at[j-n]:at[j]])
			if cost += best[j-n].cost; ok && cost < best[j].cost {
				best[j] = hanPart{cost, j - n, weight}
			}
		}
	}
	var parts []int
	for j := len(at) - 1; j > 0; j = best[j].from {
		parts = append(parts, j)
	}
	loose := -1 // where characters that belong to no known word begin
	flush := func(end int) {
		if loose >= 0 {
			looseWords(run, at[loose:end+1], see)
		}
		loose = -1
	}
	for k := len(parts) - 1; k >= 0; k-- {
		j := parts[k]
		p := best[j]
		if p.weight < 0 {
			if loose < 0 {
				loose = p.from
			}
			continue
		}
		flush(p.from)
		if p.weight > 0 {
			see(run[at[p.from]:at[j]], p.weight)
		}
	}
	flush(len(at) - 1)
}

// looseWords gives what stands between known words: the whole of it where it is short, its pairs of characters where it is long. It weighs less
// than a word that something speaks for.
func looseWords(run string, at []int, see func(string, int64)) {
	for len(at) > 1 && isPlace(run[at[0]:at[1]]) {
		at = at[1:]
	}
	for len(at) > 1 && isPlace(run[at[len(at)-2]:at[len(at)-1]]) {
		at = at[:len(at)-1]
	}
	n := len(at) - 1
	switch {
	case n < 2:
	case n <= 3:
		see(run[at[0]:at[n]], unit*3/4)
	default:
		for i := 0; i+2 <= n; i++ {
			see(run[at[i]:at[i+2]], unit/2)
		}
	}
}

// isPlace says of a character that it tells where: it stands beside words, and is rarely a part of one that nothing else speaks for.
func isPlace(char string) bool {
	switch char {
	case "中", "上", "下", "内", "外", "里", "前", "后", "時", "时":
		return true
	}
	return false
}

// hanCost is what a string costs as one word; ok is false where it is none.
func (e *Extractor) hanCost(word string, known map[string]hanWord) (cost, weight int64, ok bool) {
	if e.lexicon.stop[word] {
		return costWord, 0, true
	}
	weight = unit
	rank, token := e.lexicon.rank(word)
	if token {
		weight = rarity(rank, commonHan)
	}
	if _, ok := known[word]; ok {
		return costNew, weight, true
	}
	if !token {
		return 0, 0, false
	}
	first, _ := utf8.DecodeRuneInString(word)
	last, _ := utf8.DecodeLastRuneInString(word)
	if bindsWords(first) || bindsWords(last) || isFunction(first) && isFunction(last) || isCount(word) {
		return costWord + weight, 0, true
	}
	return costWord + weight, max(weight, 1), true
}
