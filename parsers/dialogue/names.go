package dialogue

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	nameRunes = 40
	nameWords = 4
	headBytes = 240 // a speaker line is not longer
)

// moments are the times of chat exports: a date, a time of day, or both.
const (
	clockPattern  = `\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d{1,6})?(?:\s?[AaPp]\.?[Mm]\.?)?`
	datePattern   = `\d{4}[-/.年]\d{1,2}[-/.月]\d{1,2}日?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}`
	momentPattern = `(?:(?:` + datePattern + `)[T,，]?\s*(?:星期.\s*)?(?:上午|下午|凌晨|早上|中午|晚上)?\s*)?` + clockPattern + `(?:Z|[+-]\d{2}:?\d{2})?`
)

// grammar holds the compiled patterns of speaker lines.
type grammar struct {
	leading  *regexp.Regexp // a time before the name
	trailing *regexp.Regexp // a time behind the name
	export   *regexp.Regexp // a full date and time, for lines without a colon
}

func newGrammar() *grammar {
	return &grammar{
		leading:  regexp.MustCompile(`^[ \t]*(?:[\[(（【]\s*(` + momentPattern + `)\s*[\])）】]|(` + momentPattern + `))[ \t]*(?:[-–—|][ \t]+)?`),
		trailing: regexp.MustCompile(`[ \t]*(?:[\[(（【]\s*(` + momentPattern + `)\s*[\])）】]|[ \t](` + momentPattern + `))[ \t]*$`),
		export:   regexp.MustCompile(`^(?:` + datePattern + `)\D`),
	}
}

// head is a line that says who speaks, perhaps with what.
type head struct {
	speaker, time string
	n             int  // bytes up to the text
	alone         bool // the message stands below: the line holds time and name only
}

// parse tells whether a line names a speaker.
func (g *grammar) parse(line string) (head, bool) {
	line = strings.TrimRight(line, "\n")
	look := line
	if len(look) > headBytes {
		look = look[:headBytes]
		for !utf8.ValidString(look) {
			look = look[:len(look)-1]
		}
	}
	var h head
	if startsTime(look) {
		if m := g.leading.FindStringSubmatchIndex(look); m != nil {
			h.time = group(look, m)
			h.n = m[1]
		}
	}
	if nick, n, ok := bracketed(look[h.n:]); ok && h.time != "" {
		h.speaker, h.n = nick, h.n+n
		return h, true
	}
	if name, stamp, n, ok := g.named(look[h.n:], h.time != ""); ok {
		if h.time == "" {
			h.time = stamp
		}
		h.speaker, h.n = name, h.n+n
		return h, true
	}
	return g.alone(line, look, h)
}

// startsTime and endsTime tell lines that are worth a look by pattern.
func startsTime(line string) bool {
	line = strings.TrimLeft(line, " \t")
	for _, opener := range [...]string{"[", "(", "（", "【"} {
		line = strings.TrimPrefix(line, opener)
	}
	line = strings.TrimLeft(line, " \t")
	return line != "" && line[0] >= '0' && line[0] <= '9'
}

func endsTime(line string) bool {
	line = strings.TrimRight(line, " \t])）】")
	return line != "" && (line[len(line)-1] >= '0' && line[len(line)-1] <= '9' || strings.IndexByte("ZMm.", line[len(line)-1]) >= 0)
}

func group(s string, m []int) string {
	for k := 2; k+1 < len(m); k += 2 {
		if m[k] >= 0 {
			return s[m[k]:m[k+1]]
		}
	}
	return ""
}

// alone reads "2024-01-01 12:00:00 张三" and "张三 2024-01-01 12:00:00".
func (g *grammar) alone(line, look string, h head) (head, bool) {
	if len(line) != len(look) {
		return head{}, false
	}
	if h.time != "" && g.export.MatchString(strings.TrimLeft(look, " \t[(（【")) {
		name := strings.TrimSpace(look[h.n:])
		if isName(stripID(name), true) {
			return head{speaker: name, time: h.time, n: len(look), alone: true}, true
		}
		return head{}, false
	}
	if h.time != "" || !endsTime(look) {
		return head{}, false
	}
	if m := g.trailing.FindStringSubmatchIndex(look); m != nil {
		name, stamp := strings.TrimSpace(look[:m[0]]), group(look, m)
		if g.export.MatchString(stamp) && isName(stripID(name), true) {
			return head{speaker: name, time: stamp, n: len(look), alone: true}, true
		}
	}
	return head{}, false
}

// stripID takes "(wxid_…)" and "<mail>" off the end of a name.
func stripID(name string) string {
	for _, pair := range [...][2]string{{"(", ")"}, {"（", "）"}, {"<", ">"}} {
		if rest, ok := strings.CutSuffix(name, pair[1]); ok {
			if k := strings.LastIndex(rest, pair[0]); k > 0 {
				return strings.TrimSpace(rest[:k])
			}
		}
	}
	return name
}

// bracketed reads IRC's "<nick> ".
func bracketed(s string) (nick string, n int, ok bool) {
	if !strings.HasPrefix(s, "<") {
		return "", 0, false
	}
	k := strings.IndexByte(s, '>')
	if k < 2 || k > nameRunes || strings.ContainsAny(s[1:k], "/<\t") {
		return "", 0, false
	}
	end := k + 1
	for end < len(s) && s[end] == ' ' {
		end++
	}
	return strings.TrimSpace(s[1:k]), end, true
}

// named reads "Name: ", "姓名：" and "Name (12:00): ".
func (g *grammar) named(s string, timed bool) (name, stamp string, n int, ok bool) {
	for from := 0; from < len(s); {
		k := strings.IndexAny(s[from:], ":：")
		if k < 0 {
			return "", "", 0, false
		}
		k += from
		_, size := utf8.DecodeRuneInString(s[k:])
		from = k + size
		if s[k] == ':' && from < len(s) && s[from] != ' ' && s[from] != '\t' && s[from] < utf8.RuneSelf {
			continue // a time, an address, a name with a colon
		}
		name = strings.TrimSpace(s[:k])
		if endsTime(name) {
			if m := g.trailing.FindStringSubmatchIndex(name); m != nil && m[0] > 0 {
				stamp = group(name, m)
				name = strings.TrimSpace(name[:m[0]])
			}
		}
		name = strings.Trim(name, "*_") // bold, in Markdown
		if !isName(name, timed || stamp != "") {
			return "", "", 0, false
		}
		for from < len(s) && (s[from] == ' ' || s[from] == '\t' || s[from] == '*') {
			from++
		}
		return name, stamp, from, true
	}
	return "", "", 0, false
}

// isName tells a name by its shape. sure: a time stands beside it, so words that often stand before a colon are let through.
func isName(name string, sure bool) bool {
	if name == "" || utf8.RuneCountInString(name) > nameRunes || len(strings.Fields(name)) > nameWords {
		return false
	}
	letter := false
	for i, r := range name {
		switch {
		case unicode.IsLetter(r):
			letter = true
		case strings.ContainsRune(",;!?，。！？；、：\"“”‘「」《》<>/\\=|`{}[]#*$%^+", r):
			return false
		case i == 0 && !unicode.IsDigit(r) && r != '@' && r != '_' && r < utf8.RuneSelf && r != '(':
			return false
		}
	}
	if !letter || strings.Contains(name, "//") {
		return false
	}
	return sure || !stopWord(name)
}

// roster tells which names a log knows, from its first lines. A name that stands there once is taken by its shape alone.
type roster struct {
	timed bool // speaker lines carry times: those without are none
	names map[string]int
}

func (g *grammar) roster(sample string) roster {
	r := roster{names: map[string]int{}}
	timed, alone, heads := 0, 0, 0
	for line := range strings.Lines(sample) {
		h, ok := g.parse(line)
		if !ok {
			continue
		}
		heads++
		r.names[h.speaker]++
		if h.time != "" {
			timed++
		}
		if h.alone {
			alone++
		}
	}
	r.timed = alone >= 2 || timed >= 3 && 2*timed >= heads
	return r
}

// speaks tells whether a line that looks like a speaker's is one.
func (r *roster) speaks(h head) bool {
	return h.time != "" || !r.timed && (r.names[h.speaker] > 1 || asName(h.speaker))
}

const soleName = 4 // a Chinese name is not longer

// asName tells a name that is told by its shape alone: a role, a capitalised word or a few, or a short one in another script.
func asName(name string) bool {
	if isRole(name) {
		return true
	}
	wide := 0
	for _, word := range strings.Fields(name) {
		first, _ := utf8.DecodeRuneInString(word)
		if unicode.IsLower(first) {
			return false
		}
		for _, r := range word {
			if unicode.IsLetter(r) && r >= 0x2E80 {
				wide++
			}
		}
	}
	return wide <= soleName
}

func isRole(name string) bool {
	switch strings.ToLower(name) {
	case "user", "assistant", "system", "human", "ai", "bot", "agent", "customer", "client", "support", "tool", "model", "host", "guest",
		"interviewer", "interviewee", "speaker", "moderator", "teacher", "student", "doctor", "patient", "q", "a":
		return true
	}
	return false
}

// stopWord tells words that stand before a colon and name nobody.
func stopWord(name string) bool {
	switch strings.ToLower(name) {
	case "http", "https", "ftp", "file", "mailto", "note", "notes", "warning", "caution", "tip", "hint", "important", "example", "examples",
		"e.g.", "i.e.", "eg", "ps", "p.s.", "todo", "fixme", "update", "edit", "subject", "date", "re", "fwd", "cc", "bcc", "to", "from", "source",
		"see", "see also", "summary", "abstract", "title", "keywords", "references", "step", "error", "result", "results", "output", "input",
		"注", "注意", "备注", "说明", "提示", "警告", "例如", "比如", "例", "如", "如下", "包括", "参见", "来源", "摘要", "关键词", "标题", "日期", "时间", "地点", "结果", "总结", "附":
		return true
	}
	return false
}
