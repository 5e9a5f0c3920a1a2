package strategies

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/internal/sentences"
)

// The kinds of default separators, in the order of priority of SPEC section 5. A kind groups the separators that end
// the same thing.
const (
	levelBlank      uint8 = iota // a blank line: \n\n
	levelLine                    // \n
	levelSentence                // 。！？
	levelSemi                    // ；
	levelStop                    // ". ", "! ", "? "
	levelLatinSemi               // "; "
	levelComma                   // ，
	levelLatinComma              // ", "
	levelSpace                   // any other blank space
	levelWord                    // between words written without space (Han, Hiragana)
	levelCount
	levelNone uint8 = 255
)

// separators finds the places where text may be cut, by priority.
type separators struct {
	first   [256]uint8        // the best level of the separators that start with a byte; levelNone if there are none
	rank    [levelCount]uint8 // the level of each default kind: priorities may differ from the order of kinds
	listing bool              // a line that starts a list item or a heading ends what stood before, as a blank line does
	custom  []string          // separators in order, for a list of the user's own; nil for the default ones
	stays   []int             // how much of each custom one stays with the text before it
	word    uint8             // the level of word boundaries: below all others
	prices  []int             // what a cut costs, by level
}

// defaultSeparators are those of SPEC section 5.
func defaultSeparators() *separators {
	return rankedSeparators([levelCount]uint8{levelBlank, levelLine, levelSentence, levelSemi, levelStop, levelLatinSemi, levelComma, levelLatinComma, levelSpace, levelWord})
}

// sentenceSeparators put the ends of sentences first, those of paragraphs and list items among them; a line end alone
// comes after them, for hard-wrapped text has one in mid-sentence.
func sentenceSeparators() *separators {
	s := rankedSeparators([levelCount]uint8{0, 1, 0, 2, 0, 2, 3, 3, 4, 5})
	s.listing = true
	s.first['\n'] = 0
	return s
}

// paragraphSeparators put blank lines first and sentences next.
func paragraphSeparators() *separators {
	s := rankedSeparators([levelCount]uint8{0, 2, 1, 3, 1, 3, 4, 4, 5, 6})
	s.first['\n'] = 0
	return s
}

// staying is how much of a separator belongs to the text before it: all of it, but of one such as "\nclass " only the line end,
// for the word behind it begins something.
func staying(sep string) int {
	if begin := strings.TrimLeft(sep, "\r\n"); begin != "" && len(begin) < len(sep) {
		return len(sep) - len(begin)
	}
	return len(sep)
}

func rankedSeparators(rank [levelCount]uint8) *separators {
	s := &separators{rank: rank, word: rank[levelWord]}
	s.prices = make([]int, s.word+1)
	for kind := levelCount; kind > 0; kind-- {
		s.prices[rank[kind-1]] = kindPrices()[kind-1]
	}
	for b := range s.first {
		s.first[b] = levelNone
	}
	s.first['\n'], s.first['\r'] = min(rank[levelBlank], rank[levelLine]), rank[levelLine]
	s.first[' '], s.first['\t'] = rank[levelSpace], rank[levelSpace]
	s.first['.'], s.first['!'], s.first['?'] = rank[levelStop], rank[levelStop], rank[levelStop]
	s.first[';'], s.first[','] = rank[levelLatinSemi], rank[levelLatinComma]
	s.first[0xE3] = rank[levelSentence]                                         // the lead byte of 。
	s.first[0xEF] = min(rank[levelSentence], rank[levelSemi], rank[levelComma]) // of ！？；，
	s.first[0xE2] = rank[levelSentence]                                         // of …
	return s
}

// customSeparators are a user's own, in order of priority. The empty one stands for graphemes and is implied.
func customSeparators(list []string) *separators {
	s := &separators{}
	for b := range s.first {
		s.first[b] = levelNone
	}
	for _, sep := range list {
		if sep == "" || len(s.custom) == int(levelNone)-2 {
			continue
		}
		level := uint8(len(s.custom))
		s.custom = append(s.custom, sep)
		s.stays = append(s.stays, staying(sep))
		s.first[sep[0]] = min(s.first[sep[0]], level)
	}
	s.word = uint8(len(s.custom))
	for l := range s.word + 1 {
		s.prices = append(s.prices, 1024*int(l)/int(s.word+1))
	}
	return s
}

// kindPrices are what cuts at the default kinds of separators cost.
func kindPrices() [levelCount]int {
	return [levelCount]int{0, 128, 128, 512, 128, 512, 2048, 2048, 4096, 4096}
}

// firstGood is the lowest level at which sentences end.
func (s *separators) firstGood() uint8 {
	if s.custom != nil {
		return 0
	}
	return s.rank[levelStop]
}

// lastSpace is the last cut in (lo, hi] at blank space.
func (s *separators) lastSpace(text string, lo, hi int) (int, uint8) {
	if s.custom != nil {
		at, level := s.last(text, lo, lo, hi)
		if level == levelNone {
			return 0, level
		}
		return at, level
	}
	worst := s.rank[levelSpace]
	for p := hi - 1; p >= lo; p-- {
		if s.first[text[p]] > worst {
			continue
		}
		if l, end := s.at(text, p, worst+1); l <= worst && end <= hi {
			return end, l
		}
	}
	return 0, levelNone
}

// at tells whether a separator of a level better than best starts at p, and where the text after it starts. None ends before a mark that
// joins it: a blank or a stop with an accent is one character to a reader.
func (s *separators) at(text string, p int, best uint8) (level uint8, end int) {
	level, end = s.find(text, p, best)
	if level == levelNone || end == len(text) || text[end-1] == '\n' || text[end-1] == '\r' {
		return level, end
	}
	q := end
	if text[q] == ' ' { // blanks are one word, with the mark on the last
		for q < len(text) && q < end+wordSight && text[q] == ' ' {
			q++
		}
	}
	if markAt(text, q) {
		return levelNone, p
	}
	return level, end
}

// find is at before any mark.
func (s *separators) find(text string, p int, best uint8) (level uint8, end int) {
	if s.custom != nil {
		for l, sep := range s.custom[:min(int(best), len(s.custom))] {
			if strings.HasPrefix(text[p:], sep) {
				return uint8(l), p + s.stays[l]
			}
		}
		return levelNone, p
	}
	switch c := text[p]; c {
	case '\n':
		if q := blankLine(text, p+1); q > 0 {
			return s.rank[levelBlank], q
		}
		if s.listing && startsBlock(text, p+1) {
			return s.rank[levelBlank], p + 1
		}
		return s.rank[levelLine], p + 1
	case '\r':
		if p+1 < len(text) && text[p+1] == '\n' {
			return levelNone, p // the line feed decides
		}
		return s.rank[levelLine], p + 1
	case ' ', '\t':
		return s.rank[levelSpace], p + 1
	case '.', '!', '?':
		if end := sentences.LatinStop(text, p); end > 0 {
			return s.rank[levelStop], end
		}
	case ';', ',':
		if p+1 < len(text) && (text[p+1] == ' ' || text[p+1] == '\n' || text[p+1] == '\t') {
			return s.first[c], p + 2
		}
	default:
		return s.wideAt(text, p)
	}
	return levelNone, p
}

// wideAt is at for the full-width marks.
func (s *separators) wideAt(text string, p int) (level uint8, end int) {
	if p+3 > len(text) {
		return levelNone, p
	}
	switch text[p : p+3] {
	case "。", "！", "？", "…":
		if end := sentences.WideStop(text, p); end > 0 {
			return s.rank[levelSentence], end
		}
	case "；":
		if !inNumber(text, p+3) {
			return s.rank[levelSemi], p + 3
		}
	case "，":
		if !inNumber(text, p+3) {
			return s.rank[levelComma], p + 3
		}
	}
	return levelNone, p
}

// startsBlock tells whether the line at p starts a list item, a heading, a quote or a table row: such a line never goes
// on with the sentence above.
func startsBlock(text string, p int) bool { return sentences.StartsBlock(text, p) }

// blankLine returns the start of the line after the blank one that starts at p, or 0 if that line is not blank.
func blankLine(text string, p int) int {
	for ; p < len(text); p++ {
		switch text[p] {
		case ' ', '\t', '\r':
		case '\n':
			return p + 1
		default:
			return 0
		}
	}
	return 0
}

// last finds the last cut of the best level: a position c with lo < c <= hi where a separator ends. Cuts at or before
// floor count only if there is none behind it, so that a heading or a label does not stand alone above its text.
// level is levelNone if there is none.
func (s *separators) last(text string, lo, floor, hi int) (cut int, level uint8) {
	best := levelNone
	for p := hi - 1; p >= lo; p-- {
		if s.first[text[p]] >= best {
			continue
		}
		if p < floor && best != levelNone {
			break
		}
		if l, end := s.at(text, p, best); l < best && end <= hi {
			if end <= floor && best != levelNone {
				continue
			}
			best, cut = l, end
			if best == 0 {
				break
			}
		}
	}
	return cut, best
}

// earliest finds the first cut c with lo <= c < hi of a level at most worst.
func (s *separators) earliest(text string, lo, hi int, worst uint8) (cut int, ok bool) {
	for p := max(lo-8, 0); p < hi; p++ {
		if s.first[text[p]] > worst {
			continue
		}
		if l, end := s.at(text, p, worst+1); l <= worst && end >= lo && end < hi {
			return end, true
		}
	}
	return 0, false
}

// lastWord finds the last boundary c, lo < c <= hi, between words that no space parts: beside a Han or Hiragana
// character, though never before a mark that closes or after one that opens. It returns 0 if there is none.
func lastWord(text string, lo, hi int) int {
	if hi < len(text) {
		for hi > lo && !utf8.RuneStart(text[hi]) {
			hi--
		}
	}
	for c := hi; c > lo; {
		before, n := utf8.DecodeLastRuneInString(text[lo:c])
		if c == len(text) {
			return c
		}
		if before < utf8.RuneSelf && text[c] < utf8.RuneSelf {
			if asciiSpace(text[c]) || asciiSpace(text[c-1]) {
				return c
			}
			c--
			continue
		}
		after, _ := utf8.DecodeRuneInString(text[c:])
		if wordBoundary(before, after) && !(n == 3 && inNumber(text, c)) {
			return c
		}
		c -= n
	}
	return 0
}

// inNumber tells that the character of three bytes before p is a full-width comma or semicolon between two digits, which is
// part of a number (UAX #29, WB11 and WB12).
func inNumber(text string, p int) bool {
	if p >= len(text) || p < 4 {
		return false
	}
	if mark := text[p-3 : p]; mark != "，" && mark != "；" {
		return false
	}
	after, _ := utf8.DecodeRuneInString(text[p:])
	if !unicode.IsDigit(after) {
		return false
	}
	for q := p - 3; q > 0; {
		before, n := utf8.DecodeLastRuneInString(text[:q])
		if q -= n; joins(before) || unicode.Is(unicode.Cf, before) {
			continue
		}
		return unicode.IsDigit(before)
	}
	return false
}

func asciiSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// wordBoundary tells whether text written without spaces may be cut between two characters.
func wordBoundary(before, after rune) bool {
	if blank(before) || blank(after) {
		return !(before == '\r' && after == '\n') && !joins(after)
	}
	wideBefore, wideAfter := wide(before), wide(after)
	switch {
	case !wideBefore && !wideAfter:
		return false
	case joins(after) || closes(after) || opens(before):
		return false
	case wideBefore && wideAfter:
		return !(katakana(before) && katakana(after))
	case wideBefore: // 中A
		return true
	default: // A中
		return before != 0x200D
	}
}

// wide tells the characters beside which a line may break in Chinese and Japanese (UAX #14, class ID and the
// ideographic marks). Letters by UAX #29 are none: Bopomofo, Hangul, full-width letters, the iteration mark.
func wide(r rune) bool {
	switch {
	case r < 0x2E80 || r >= 0x302A && r <= 0x302F || r == 0x3099 || r == 0x309A || r == 0x3005 || r == 0x303B || r == 0x303C:
		return false
	case r <= 0x30FF, r >= 0x31C0 && r <= 0x9FFF, r >= 0xF900 && r <= 0xFAFF, r >= 0x20000 && r <= 0x3FFFF:
		return true
	}
	return r >= 0xFF00 && r <= 0xFF0F && r != 0xFF07 && r != 0xFF0E || r >= 0xFF1B && r <= 0xFF20 || r >= 0xFF3B && r <= 0xFF3E ||
		r >= 0xFF5B && r <= 0xFF9F
}

func katakana(r rune) bool {
	return r >= 0x30A0 && r <= 0x30FF && r != 0x30FB || r >= 0x31F0 && r <= 0x31FF || r >= 0xFF66 && r <= 0xFF9F || r >= 0x3031 && r <= 0x3035 ||
		r == 0x309B || r == 0x309C || r >= 0x32D0 && r <= 0x32FE || r >= 0x3300 && r <= 0x3357
}

// joins tells the characters that belong to the one before: marks, joiners, variation selectors, iteration marks.
func joins(r rune) bool {
	return r == 0x200D || r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF || r == 0x3005 || r == 0x303B ||
		r == 0x30FC || r == 0x3099 || r == 0x309A || r > 0x2FF && unicode.In(r, unicode.Mn, unicode.Mc, unicode.Me)
}

// markAt tells that a mark, a joiner or a variation selector at p makes one cluster with the character before it (UAX #29, GB9).
func markAt(text string, p int) bool {
	if p >= len(text) || text[p] < 0xCC { // the first combining mark is U+0300
		return false
	}
	r, _ := utf8.DecodeRuneInString(text[p:])
	return joins(r) && r != 0x3005 && r != 0x303B && r != 0x30FC
}

// blank tells the white space that parts words. The narrow no-break space joins the parts of one word (UAX #29, ExtendNumLet).
func blank(r rune) bool { return r != 0x202F && unicode.IsSpace(r) }

func closes(r rune) bool {
	switch r {
	case '。', '，', '、', '；', '：', '！', '？', '”', '’', '」', '』', '）', '】', '》', '〉', '〕', '．', '…', '—', ',', '.', ';', ':', '!', '?', ')', ']', '}', '"', '\'', '%', '％', '〗', '〙', '〛', '］', '｝', '｡', '､', '｣', '·', '・':
		return true
	}
	return false
}

func opens(r rune) bool {
	switch r {
	case '“', '‘', '「', '『', '（', '【', '《', '〈', '〔', '〖', '〘', '〚', '［', '｛', '｢', '(', '[', '{', '$', '¥', '￥', '#', '@':
		return true
	}
	return false
}
