package lexical

import (
	"math"
	"math/bits"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/ngrams"
)

// Weights of features in 1/16, chosen by recall on English and Chinese questions (see TestRetrieval).
const (
	weightWord   = 24
	weightStop   = 2 // a word that says little
	weightPiece  = 6 // part of a word
	weightBigram = 16
	weightSingle = 9
)

// Pieces of words have minPiece to maxPiece characters, the mark at either end of the word counted.
const (
	minPiece = 3
	maxPiece = 5
)

// Seeds keep kinds of features apart.
const (
	seedWord   uint64 = 0xA0761D6478BD642F
	seedPiece  uint64 = 0x8EBC6AF09C88C6E3
	seedBigram uint64 = 0x589965CC75374CC3
	seedSingle uint64 = 0x1D8E4E27C47D124F
	seedOther  uint64 = 0xEB44ACCAB455D165
)

// feature is something that a text holds count times.
type feature struct {
	hash   uint64
	count  uint32
	weight int32
	// The word's bytes in bag.words; empty for other features.
	start, end int32
}

// bag counts the features of a text and sums them up. Sums are of whole numbers, so that no machine rounds them
// otherwise than another. It is reused from text to text.
type bag struct {
	dims     int
	features []feature // in the order of first occurrence
	index    []int32   // open addressing: feature + 1, or 0
	words    []byte
	runes    []rune
	sums     []int64
}

func newBag(dims int) *bag {
	return &bag{dims: dims, index: make([]int32, 1024), sums: make([]int64, dims)}
}

// embed gives text its vector of length 1; an error of ClassInvalid if it has no character but white space.
func (b *bag) embed(text string) ([]float32, error) {
	b.reset()
	b.count(text)
	if len(b.features) == 0 { // neither word nor digit: hash the characters as they are
		for _, r := range text {
			if !unicode.IsSpace(r) {
				b.add(hash(seedOther, uint64(r)), weightSingle)
			}
		}
	}
	if len(b.features) == 0 {
		return nil, connector.Errorf(connector.ClassInvalid, "lexical: the text is blank")
	}
	for i := range b.features {
		b.spread(&b.features[i])
	}
	return b.vector(), nil
}

func (b *bag) reset() {
	b.features, b.words = b.features[:0], b.words[:0]
	if len(b.index) > 1<<16 {
		b.index = make([]int32, 1024) // do not clear a megabyte for each short text after one long one
	}
	clear(b.index)
	clear(b.sums)
}

func (b *bag) count(text string) {
	ngrams.Each(text, func(term []byte, kind ngrams.Kind) {
		switch kind {
		case ngrams.Word:
			h := hashBytes(seedWord, term)
			weight := int32(weightWord)
			if stopWord(term) {
				weight = weightStop
			}
			if f := b.add(h, weight); f.count == 1 {
				f.start = int32(len(b.words)) //nolint:gosec // texts are far below 2 GB
				b.words = append(b.words, term...)
				f.end = int32(len(b.words)) //nolint:gosec // as above
			}
		case ngrams.Bigram:
			first, n := utf8.DecodeRune(term)
			second, _ := utf8.DecodeRune(term[n:])
			weight := int32(weightBigram)
			if stopCharacter(first) || stopCharacter(second) {
				weight = weightStop
			}
			b.add(hashBytes(seedBigram, term), weight)
			b.single(first)
		case ngrams.Single:
			r, _ := utf8.DecodeRune(term)
			b.single(r)
		}
	})
}

func (b *bag) single(r rune) {
	if !stopCharacter(r) {
		b.add(hash(seedSingle, uint64(r)), weightSingle)
	}
}

// add counts a feature. The result is valid until the next call.
func (b *bag) add(h uint64, weight int32) *feature {
	mask := uint64(len(b.index) - 1)
	for at := h & mask; ; at = (at + 1) & mask {
		n := b.index[at]
		if n == 0 {
			b.features = append(b.features, feature{hash: h, count: 1, weight: weight})
			b.index[at] = int32(len(b.features)) //nolint:gosec // texts are far below 2 GB
			break
		}
		if f := &b.features[n-1]; f.hash == h {
			f.count++
			return f
		}
	}
	if 2*len(b.features) > len(b.index) {
		b.grow()
	}
	return &b.features[len(b.features)-1]
}

func (b *bag) grow() {
	b.index = make([]int32, 4*len(b.index))
	mask := uint64(len(b.index) - 1)
	for i := range b.features {
		at := b.features[i].hash & mask
		for b.index[at] != 0 {
			at = (at + 1) & mask
		}
		b.index[at] = int32(i + 1) //nolint:gosec // texts are far below 2 GB
	}
}

// spread adds a feature to the sums, and with a word its pieces.
func (b *bag) spread(f *feature) {
	times := damped(f.count)
	b.put(f.hash, int64(f.weight)*times)
	if f.start == f.end || f.weight == weightStop {
		return
	}
	b.runes = append(b.runes[:0], '^')
	for _, r := range string(b.words[f.start:f.end]) {
		b.runes = append(b.runes, r)
	}
	b.runes = append(b.runes, '$')
	for i := range b.runes {
		h := seedPiece
		for j, r := range b.runes[i:min(i+maxPiece, len(b.runes))] {
			h = (h ^ uint64(r)) * 0x9FB21C651E98DF25
			h ^= h >> 29
			if j+1 >= minPiece {
				b.put(hash(h, uint64(j)), weightPiece*times)
			}
		}
	}
}

// put adds to one component, by 31 bits of the hash, with the sign that another one gives.
func (b *bag) put(h uint64, amount int64) {
	if h&1 == 0 {
		amount = -amount
	}
	b.sums[(h>>33)*uint64(b.dims)>>31] += amount
}

// damped is 16 · (1 + ln n) in whole numbers, the logarithm interpolated between powers of two.
func damped(n uint32) int64 {
	log := bits.Len32(n) - 1
	part := (int64(n)<<8>>log - 256) // of the way to the next power, in 1/256
	return 16 + (int64(log)*256+part)*11/256
}

func (b *bag) vector() []float32 {
	square := 0.0
	for _, s := range b.sums {
		x := float64(s)
		square += float64(x * x) // the conversion forbids fusing, which would round differently on some machines
	}
	v := make([]float32, b.dims)
	if square == 0 { // all features cancelled out
		v[b.features[0].hash%uint64(b.dims)] = 1 //nolint:gosec // dims is positive
		return v
	}
	length := math.Sqrt(square)
	for i, s := range b.sums {
		v[i] = float32(float64(s) / length)
	}
	return v
}

// hash mixes two numbers (the multiply-and-fold step of wyhash).
func hash(seed, x uint64) uint64 {
	hi, lo := bits.Mul64(x^seed, 0x9E3779B97F4A7C15^seed>>7)
	h := hi ^ lo
	h = (h ^ h>>32) * 0xD6E8FEB86659FD93
	return h ^ h>>29
}

// hashBytes hashes at most a term's bytes, eight at a time.
func hashBytes(seed uint64, p []byte) uint64 {
	h := seed ^ uint64(len(p))*0x9E3779B97F4A7C15
	for ; len(p) >= 8; p = p[8:] {
		h = hash(h, uint64(p[0])|uint64(p[1])<<8|uint64(p[2])<<16|uint64(p[3])<<24|uint64(p[4])<<32|uint64(p[5])<<40|uint64(p[6])<<48|uint64(p[7])<<56)
	}
	var tail uint64
	for i, c := range p {
		tail |= uint64(c) << (8 * i)
	}
	return hash(h, tail)
}

// stopWord tells the words that nearly every English text holds.
func stopWord(term []byte) bool {
	if len(term) > 5 {
		return false
	}
	switch string(term) {
	case "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do", "does",
		"for", "from", "had", "has", "have", "he", "her", "his", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "no", "not", "of", "on", "one",
		"or", "our", "s", "she", "so", "some", "such", "t", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to",
		"us", "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will", "with", "would", "you", "your":
		return true
	}
	return false
}

// stopCharacter tells the characters that nearly every Chinese text holds and that make no topic.
func stopCharacter(r rune) bool {
	switch r {
	case '的', '是', '在', '了', '和', '有', '与', '为', '于', '及', '等', '也', '而', '以', '之', '其', '这', '那', '个', '一', '不', '他', '她', '它', '我', '你', '们', '被',
		'从', '到', '对', '将', '由', '并', '但', '或', '就', '都', '又', '所', '么', '什', '哪', '谁', '何', '吗', '呢', '吧', '几', '多', '少', '怎', '样', '如', '因', '此', '该', '者', '把', '让', '还', '很', '会', '可', '能', '要', '曾', '里', '些', '着':
		return true
	}
	return false
}
