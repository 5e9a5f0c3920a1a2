package keywords

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/internal/tokens"
)

// lexicon tells how rare words are elsewhere.
type lexicon struct {
	enc  *tokens.Encoding
	stop map[string]bool
}

func newLexicon() (*lexicon, error) {
	enc, err := tokens.Get("o200k")
	if err != nil {
		return nil, err
	}
	return &lexicon{enc: enc, stop: stopWords()}, nil
}

// The ranks below which words are common, in the two halves of the vocabulary: Chinese words have their tokens later than English ones
// of the same frequency, for the text that the encoding was learned from has less of them.
const (
	commonLatin = 256
	commonHan   = 4096
	tokensAll   = 200_000
)

// rank is the number of the token that is exactly text; ok is false where there is none.
func (l *lexicon) rank(text string) (rank uint64, ok bool) {
	ids := l.enc.Encode(make([]int, 0, 8), text)
	if len(ids) != 1 {
		return 0, false
	}
	return uint64(ids[0]), true
}

// rarity of a rank, in units: 0 for the most common, 1 for a word that is no token.
func rarity(rank, common uint64) int64 {
	return log2(1+rank/common) * unit / log2(1+tokensAll/common)
}

// word is the rarity of a word of a script that separates words; 0 says that it is no keyword.
func (l *lexicon) word(w string) int64 {
	if l.stop[w] {
		return 0
	}
	best := int64(unit)
	for _, form := range []string{" " + w, " " + title(w)} {
		if rank, ok := l.rank(form); ok {
			best = min(best, rarity(rank, commonLatin))
		}
	}
	return best
}

func title(w string) string {
	r, n := utf8.DecodeRuneInString(w)
	return string(unicode.ToUpper(r)) + w[n:]
}

// isFunction says of a character that Chinese sentences are built of it: no new word begins or ends with it.
func isFunction(r rune) bool {
	return strings.ContainsRune("的了是在和与及或也就都而但被把为以于其这那我你您他她它们吗呢吧啊呀么不很还又将从由着且则若该此某等當與為這個們嗎麼從將該還", r)
}

// bindsWords says of a character that no word of the background with it at an end is a keyword: "我的", "是一".
func bindsWords(r rune) bool {
	return strings.ContainsRune("的了是吗呢吧么们这那我你您他她它就也而但很且則這們嗎麼", r)
}

// isCount says that a word is a number with its measure: 一年, 十天.
func isCount(w string) bool {
	first, n := utf8.DecodeRuneInString(w)
	rest, m := utf8.DecodeRuneInString(w[n:])
	return n+m == len(w) && strings.ContainsRune("〇零一二三四五六七八九十百千万亿两几半第", first) && strings.ContainsRune("年月日天个次条款项人元名章节周时分秒岁页份种类部位十百千万亿", rest)
}

func stopWords() map[string]bool { return loadStopWords() }

var loadStopWords = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(stopLatin + " " + stopHan) {
		m[w] = true
	}
	return m
})

// The words that hold sentences together and those that every text has, by which no chunk can be told from another.
const stopLatin = `a an the and or but nor if of to in on at by for from with without within into onto as than then so such is are was were be
been being am do does did done doing has have had having will would shall should can could must might may cannot i me my mine myself we
our ours us you your yours yourself he him his she her hers it its itself they them their theirs themselves this that these those there here what
which who whom whose when where why how any anything anyone some something someone every everything everyone each all both either
neither no not none nothing only own same other others another one ones two three four five more most less least many much few several
very too also just even still yet again ever never always often once about above after against along among around because before behind
below between beyond during except further however instead like near off out over per since through thus therefore hence toward
towards under until unless up upon via while whether although though now soon well please let lets see via etc eg ie use uses used using
make makes made making get gets got getting give gives given take takes taken want wants need needs needed know known say says said
go goes went come comes come way ways thing things lot new first last next don doesn didn isn aren wasn won ll ve re s t d m http https
www com html htm md
zero six seven eight nine ten eleven twelve thirteen fourteen fifteen twenty thirty forty fifty sixty hundred thousand million percent`

const stopHan = `我们 你们 他们 她们 它们 大家 自己 可以 可能 能够 能否 应当 应该 必须 需要 不得 不能 不会 不是 没有 还有 只有 所有 具有 拥有 进行 使用 采用
通过 根据 按照 依照 依据 关于 对于 由于 因为 因此 所以 如果 虽然 但是 然而 而且 并且 或者 以及 及其 以上 以下 以外 以内 之后 之前 之间 之一 其中 其他
其它 此外 另外 同时 目前 现在 当时 时候 以后 以前 什么 怎么 怎样 如何 为何 哪些 哪个 哪里 是否 多少 这个 那个 这些 那些 这样 那样 这种 那种 这里 那里
一个 一些 一种 一样 一般 一定 一直 一起 一次 两个 几个 许多 很多 各种 各个 每个 某些 有关 相关 有的 有些 主要 不同 作为 成为 属于 认为 表示 已经 曾经
正在 将会 仍然 甚至 尤其 特别 非常 十分 比较 更加 最后 首先 然后 于是 从而 即使 除了 为了 随着 至少 至于 例如 比如 包括 包含 方面 情况 上述 下列 如下
我們 你們 他們 可以 應當 應該 必須 沒有 進行 這個 那個 這些 如果 因為 所以 但是 並且 關於 對於 其中 什麼 怎麼 如何`
