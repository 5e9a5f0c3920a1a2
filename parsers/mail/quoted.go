package mail

import (
	"regexp"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// attribution is the line above a quotation, in the languages of widespread programs.
var attribution = regexp.MustCompile(`(?i)(\bwrote|\bschrieb[^:：]{0,60}|a écrit|escribió|escreveu|ha scritto|schreef|写道|寫道)\s*[:：]$`)

// separator is the line above the text of the mail that is answered.
var separator = regexp.MustCompile(`(?i)^\s*[-_]{3,}\s*(original message|原始邮件|原始郵件|ursprüngliche nachricht|message d'origine|mensaje original|messaggio originale)\s*[-_]{3,}\s*$`)

// fieldLine is a line of the header that some programs put above it.
var fieldLine = regexp.MustCompile(`(?i)^\s*\**(from|sent|date|to|cc|subject|发件人|發件人|寄件者|寄件人|发送时间|發送時間|寄件日期|发送日期|日期|收件人|收件者|抄送|副本|主题|主題|主旨|von|gesendet|an|betreff|de|envoyé|à|objet)\**\s?[:：]`)

var firstField = regexp.MustCompile(`(?i)^\s*\**(from|发件人|發件人|寄件者|寄件人|von|de)\**\s?[:：]`)

// forward is the subject of a mail that was sent on: what it quotes is what it is about.
var forward = regexp.MustCompile(`(?i)^\s*(fwd?|转发|轉寄|轉發|wg|tr|rv|enc|i)\s*[:：]`)

// history finds what a mail quotes.
type history struct {
	fold    bool // drop it
	forward bool // the mail was sent on
	reply   bool // the mail answers another one
}

func (m *message) history(fold bool) history {
	h := m.root.h
	subject := m.value(h, "subject")
	low := strings.ToLower(subject)
	return history{fold: fold, forward: forward.MatchString(subject), reply: h.get("in-reply-to") != "" || h.get("references") != "" ||
		strings.HasPrefix(low, "re:") || strings.HasPrefix(low, "aw:") || strings.HasPrefix(subject, "回复") || strings.HasPrefix(subject, "答复") || strings.HasPrefix(subject, "回覆") || strings.HasPrefix(low, "re：")}
}

// run is lines that are kept or quoted.
type run struct {
	lines  []string
	quoted bool
}

// plain divides lines into those that are kept and those that are quoted.
func (q *history) plain(lines []string) []run {
	var out []run
	add := func(quoted bool, some ...string) {
		if n := len(out); n > 0 && out[n-1].quoted == quoted {
			out[n-1].lines = append(out[n-1].lines, some...)
		} else if len(some) > 0 {
			out = append(out, run{append([]string{}, some...), quoted})
		}
	}
	if !q.fold || q.forward {
		add(false, lines...)
		return out
	}
	reply := q.reply
	for i := 0; i < len(lines); {
		if startsHistory(lines, i) {
			add(true, lines[i:]...)
			break
		}
		if n := attributed(lines, i); n > 0 {
			reply = true
			add(true, lines[i:i+n]...)
			i += n
			continue
		}
		if reply && strings.HasPrefix(lines[i], ">") {
			add(true, lines[i])
			i++
			continue
		}
		add(false, lines[i])
		i++
	}
	for _, r := range out {
		if !r.quoted && strings.TrimSpace(strings.Join(r.lines, "")) != "" {
			return out
		}
	}
	return []run{{lines, false}} // it quotes and says nothing
}

// startsHistory says that line i begins the text of the mail that is answered, which goes to the end.
func startsHistory(lines []string, i int) bool {
	if separator.MatchString(lines[i]) {
		return true
	}
	if !firstField.MatchString(lines[i]) {
		return false
	}
	fields := 0
	for _, l := range lines[i:min(len(lines), i+7)] {
		if fieldLine.MatchString(l) {
			fields++
		}
	}
	return fields >= 3
}

// attributed is how many lines from i on say who wrote what is quoted behind them; 0 if they do not.
func attributed(lines []string, i int) int {
	if strings.TrimSpace(lines[i]) == "" || strings.HasPrefix(lines[i], ">") {
		return 0
	}
	for n := 1; n <= 3 && i+n <= len(lines); n++ {
		last := strings.TrimSpace(lines[i+n-1])
		if last == "" {
			return 0
		}
		if !attribution.MatchString(last) {
			continue
		}
		if n > 1 && !opensAttribution(lines[i]) {
			return 0
		}
		for k := i + n; k < len(lines); k++ {
			if strings.TrimSpace(lines[k]) == "" {
				continue
			}
			if strings.HasPrefix(lines[k], ">") {
				return k - i
			}
			return 0
		}
	}
	return 0
}

// opensAttribution says that a line may be the first of several that name who wrote what follows.
func opensAttribution(line string) bool {
	for _, p := range []string{"On ", "Am ", "Le ", "El ", "Em ", "Il ", "Op ", "在", "於", "于"} {
		if strings.HasPrefix(line, p) {
			return true
		}
	}
	return false
}

// page says of each element of a page whether it is quoted. An element that holds the beginning of the history in its midst is divided: at is
// where, in its text; else it is -1.
func (q *history) page(els []connector.Element) (quoted []bool, at int) {
	quoted, at = make([]bool, len(els)), -1
	if !q.fold || q.forward {
		return quoted, at
	}
	reply := q.reply
	kept := false
	for i := range els {
		el := &els[i]
		if el.Kind == connector.KindDropped {
			continue
		}
		if el.Kind == connector.KindText || el.Kind == connector.KindHeading {
			lines := strings.SplitAfter(el.Text, "\n")
			bare := trimmed(lines)
			pos := 0
			for k := range lines {
				if startsHistory(bare, k) {
					if pos > 0 && el.Kind == connector.KindText {
						at, kept = pos, true
					} else {
						quoted[i] = true
					}
					for j := i + 1; j < len(els); j++ {
						quoted[j] = els[j].Kind != connector.KindDropped
					}
					if !kept {
						return make([]bool, len(els)), -1
					}
					return quoted, at
				}
				pos += len(lines[k])
			}
		}
		text := strings.TrimSpace(el.Text)
		switch {
		case el.Kind == connector.KindText && attribution.MatchString(text) && len(text) < 400 && nextIsQuote(els[i+1:]):
			reply, quoted[i] = true, true
		case el.Kind == connector.KindQuote && reply:
			quoted[i] = true
		default:
			kept = true
		}
	}
	if !kept {
		return make([]bool, len(els)), -1
	}
	return quoted, at
}

func trimmed(lines []string) []string {
	out := make([]string, len(lines))
	for i := range lines {
		out[i] = strings.TrimRight(lines[i], "\n")
	}
	return out
}

func nextIsQuote(els []connector.Element) bool {
	for i := range els {
		if els[i].Kind != connector.KindDropped {
			return els[i].Kind == connector.KindQuote
		}
	}
	return false
}
