package features

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	mostSpeakers = 1024
	longestName  = 24 // characters
)

// saidBy notes, of each line, the name of a speaker that it begins with: "Anna: …", "**Bob:** …", "张三：…".
func (m *Meter) saidBy(text string) {
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		line = strings.TrimLeft(strings.TrimSpace(line), "*_->• ")
		if line == "" {
			continue
		}
		m.lines++
		name, ok := speaker(line)
		if !ok {
			continue
		}
		if m.speakers == nil {
			m.speakers = map[string]int{}
		}
		if _, known := m.speakers[name]; known || len(m.speakers) < mostSpeakers {
			m.speakers[name]++
		}
	}
}

// speaker is the name before a line's colon: at most 24 letters, digits and spaces, of three words, with something behind.
func speaker(line string) (string, bool) {
	n, words := 0, 1
	for i, r := range line {
		switch {
		case r == ':' || r == '：':
			behind := line[i+utf8.RuneLen(r):]
			if n == 0 || behind == "" || strings.HasPrefix(behind, "//") {
				return "", false
			}
			return strings.TrimSpace(line[:i]), true
		case r == ' ':
			if words++; words > 3 {
				return "", false
			}
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' && r != '*':
			return "", false
		}
		if n++; n > longestName {
			return "", false
		}
	}
	return "", false
}
