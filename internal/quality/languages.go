package quality

import (
	"strings"
	"unicode"

	"github.com/kbsync/kbsync/connector"
)

// scripts are told apart by their letters.
func scriptOf(r rune) string {
	switch {
	case r < 0x250 || r >= 0x1E00 && r < 0x1F00:
		return "Latin"
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
		return "Chinese or Japanese"
	case unicode.Is(unicode.Cyrillic, r):
		return "Cyrillic"
	case unicode.Is(unicode.Hangul, r):
		return "Korean"
	case unicode.Is(unicode.Arabic, r):
		return "Arabic"
	case unicode.Is(unicode.Greek, r):
		return "Greek"
	}
	return ""
}

const (
	strangerLetters = 40 // of a chunk, for its script to count
	strangerShare   = 15 // per cent of its document's letters, beyond which a script is at home in it
)

// note counts a chunk's letters, and remembers the chunk where one script is most of it. Latin letters are at home in code and in names: only prose of
// them counts.
func (c *Collector) note(r *connector.Record, it *Item) {
	counts := map[string]int{}
	letters := 0
	for _, ch := range r.Content {
		if !unicode.IsLetter(ch) {
			continue
		}
		if s := scriptOf(ch); s != "" {
			counts[s]++
			letters++
		}
	}
	for s, n := range counts {
		c.doc.scripts[s] += n
		if letters >= strangerLetters && n*10 >= letters*8 && len(c.doc.strangers[s]) < maxStrangers && (s != "Latin" || englishProse(r.Content)) {
			c.doc.strangers[s] = append(c.doc.strangers[s], it)
		}
	}
}

// foreign flags the chunks in another script than the rest of their document.
func (c *Collector) foreign() {
	all := 0
	for _, n := range c.doc.scripts {
		all += n
	}
	for s, items := range c.doc.strangers {
		if c.doc.scripts[s]*100 >= all*strangerShare {
			continue
		}
		for _, it := range items {
			it.flag(LanguageMix, s+" in a document that is not")
		}
	}
}

// englishProse says that text has the words by which English sentences hang together.
func englishProse(text string) bool {
	words, function := 0, 0
	for w := range strings.FieldsSeq(text) {
		words++
		switch strings.ToLower(w) {
		case "the", "a", "an", "of", "to", "in", "and", "is", "are", "for", "that", "with", "on", "as", "be", "it", "this", "or", "by", "you":
			function++
		}
	}
	return words >= 12 && function*100 >= words*15
}

// mixedWord names a word whose letters are of two alphabets that look alike.
func mixedWord(text string) string {
	start, latin, cyrillic := -1, false, false
	for i, r := range text {
		if unicode.IsLetter(r) {
			if start < 0 {
				start, latin, cyrillic = i, false, false
			}
			latin = latin || r < 0x250
			cyrillic = cyrillic || unicode.Is(unicode.Cyrillic, r)
			continue
		}
		if start >= 0 && latin && cyrillic {
			return "Latin and Cyrillic letters in one word: " + clip(text[start:i], 40)
		}
		start = -1
	}
	if start >= 0 && latin && cyrillic {
		return "Latin and Cyrillic letters in one word: " + clip(text[start:], 40)
	}
	return ""
}
