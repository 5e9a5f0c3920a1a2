// Package keywords finds the words that tell what a piece of a document is about, in English, in Chinese and in text that mixes them.
//
// A word scores by how often its chunk has it and by how rare it is elsewhere. What the corpus holds has no part in that: the same
// document gives the same keywords, whatever else is indexed. Rarity comes from a background that is part of the program: the rank of the
// word among the tokens of o200k_base (OpenAI's tiktoken, MIT), whose byte-pair encoding gave frequent strings their tokens first
// (Sennrich et al. 2016), so that a word's rank falls with its frequency in text of the web; a word that is no token is rare.
//
// Chinese is cut into words without a dictionary of words: by what recurs in the document with cohesion (symmetric conditional probability,
// da Silva and Lopes 1999) and free neighbours (branching entropy, Jin and Tanaka-Ishii 2006), by the tokens of o200k_base that are
// Chinese words, and by the characters that stay between those. Function characters and words are no keywords.
//
// Two methods: tfidf, as above, and textrank, which ranks words by the company they keep in the chunk (Mihalcea and Tarau 2004), its
// random surfer starting at rare words rather than anywhere (the bias of Kazemi et al. 2020).
//
// All arithmetic is of whole numbers: no rounding of one processor differs from another's.
package keywords

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Version is raised whenever the same document may get other keywords.
const Version = 1

// The methods by which words are ranked.
const (
	TFIDF    = "tfidf"
	TextRank = "textrank"
)

// MaxTop is the most keywords that a chunk can be given.
const MaxTop = 50

// Extractor finds keywords. It is safe for concurrent use.
type Extractor struct {
	top     int
	method  string
	lexicon *lexicon
}

// New makes an extractor of the top keywords of each chunk. The background is loaded here, which takes a part of a second the first
// time. An unknown method, or a top outside of 1 to [MaxTop], is an error.
func New(top int, method string) (*Extractor, error) {
	if top < 1 || top > MaxTop {
		return nil, fmt.Errorf("keywords: top is %d: expected 1 to %d", top, MaxTop)
	}
	if method != TFIDF && method != TextRank {
		return nil, fmt.Errorf("keywords: unknown method %q: choose %s or %s", method, TFIDF, TextRank)
	}
	lex, err := newLexicon()
	if err != nil {
		return nil, err
	}
	return &Extractor{top: top, method: method, lexicon: lex}, nil
}

// Document learns what recurs in one document. It is used by one goroutine at a time.
type Document struct {
	e     *Extractor
	stats *hanStats
	known map[string]hanWord
	memo  map[string]memoEntry
}

// memoEntry is what the background and the document say of a string: as a word of a packed script, or of another.
type memoEntry struct {
	cost, weight int64
	ok           bool
}

// maxMemo bounds what a document remembers.
const maxMemo = 1 << 15

func (d *Document) remember(word string, m memoEntry) {
	if len(d.memo) >= maxMemo {
		clear(d.memo)
	}
	d.memo[strings.Clone(word)] = m
}

// Document begins a document: Add every chunk's text in order, then ask for each chunk's keywords.
func (e *Extractor) Document() *Document {
	return &Document{e: e, stats: newHanStats(), memo: map[string]memoEntry{}}
}

// Add learns from a chunk's text. What comes behind the first 512 KiB of Chinese teaches nothing more, so that memory is bounded.
func (d *Document) Add(text string) { d.stats.add(fold(text)) }

// Keywords are the best words of a chunk, the best first; headings are the titles that it stands under, whose words count as the
// chunk's own. Words are in lower case and in their most frequent form in the chunk.
func (d *Document) Keywords(text string, headings []string) []string {
	return d.best(text, headings, d.e.top)
}

// Of are up to n keywords of a text that stands alone: a question.
func (e *Extractor) Of(text string, n int) []string {
	d := e.Document()
	d.Add(text)
	return d.best(text, nil, n)
}

// candidate is a word of a chunk, in all its forms.
type candidate struct {
	key    string
	forms  map[string]int
	count  int
	first  int
	weight int64 // rarity, see lexicon
	score  int64
}

func (d *Document) best(text string, headings []string, n int) []string {
	if d.known == nil {
		d.known = d.stats.words(d.e.lexicon)
	}
	var list []*candidate
	byKey := map[string]*candidate{}
	var order []*candidate // the words in order, for textrank
	see := func(word string, weight int64) {
		key := Key(word)
		c := byKey[key]
		if c == nil {
			c = &candidate{key: key, forms: map[string]int{}, first: len(order), weight: weight}
			byKey[key] = c
			list = append(list, c)
		}
		c.forms[word]++
		c.count++
		order = append(order, c)
	}
	if len(headings) > 0 {
		d.scan(fold(strings.Join(headings, "\n")), see)
	}
	d.scan(fold(text), see)
	if d.e.method == TextRank {
		textRank(order, list)
	} else {
		for _, c := range list {
			c.score = (unit + log2(uint64(c.count))) * c.weight
		}
	}
	slices.SortStableFunc(list, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.first, b.first))
	})
	out := make([]string, 0, min(n, len(list)))
	for _, c := range list[:min(n, len(list))] {
		out = append(out, c.form())
	}
	return out
}

// form is how the chunk writes the word most often; the shorter, then the first in order, of several.
func (c *candidate) form() string {
	best, most := "", 0
	for f, n := range c.forms {
		if n > most || n == most && (len(f) < len(best) || len(f) == len(best) && f < best) {
			best, most = f, n
		}
	}
	return best
}

// Key is the form of a keyword under which an index keeps it: lower case, normalised, English plurals as singulars.
func Key(keyword string) string {
	k := fold(keyword)
	if len(k) < 4 || !ascii(k) {
		return k
	}
	return singular(k)
}

// singular is the S-stemmer of Harman (1991): How effective is suffixing?
func singular(w string) string {
	switch {
	case strings.HasSuffix(w, "ies") && !strings.HasSuffix(w, "eies") && !strings.HasSuffix(w, "aies"):
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "es") && !strings.HasSuffix(w, "aes") && !strings.HasSuffix(w, "ees") && !strings.HasSuffix(w, "oes"):
		return w[:len(w)-1]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "ss"):
		return w[:len(w)-1]
	}
	return w
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// fold makes spellings of the same word meet: compatibility forms, full width, capitals.
func fold(s string) string {
	if !norm.NFKC.IsNormalString(s) {
		s = norm.NFKC.String(s)
	}
	return strings.ToLower(s)
}
