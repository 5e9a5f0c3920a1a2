package dialogue

import (
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// maxRecord is the longest line of JSON Lines that is read as messages.
const maxRecord = 4 << 20

// message is one utterance of a JSON conversation.
type message struct {
	speaker, time string
	order         float64 // of the time; NaN-free: known tells whether there is one
	known         bool
	text          string
	left          string // members without words
}

// readTree reads a JSON document: a list of messages, or objects that hold such lists.
func readTree(src *source, out *output) error {
	text, err := src.rest()
	if err != nil {
		return err
	}
	m := &messages{out: out}
	for strings.TrimSpace(text) != "" {
		v, rest, ok := parseValue(text)
		if v.kind == '[' || ok {
			if err := m.visit(&v, 0); err != nil {
				return err
			}
			text = rest
		}
		if v.kind == '[' || !ok {
			if err := m.flush(); err != nil {
				return err
			}
		}
		if !ok {
			break
		}
	}
	if err := m.flush(); err != nil {
		return err
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return out.text(text) // what is no JSON
}

// readLines reads JSON Lines: a message a line, or a conversation a line.
func readLines(src *source, out *output) error {
	m := &messages{out: out, stream: true}
	var parts strings.Builder
	for {
		line, whole, err := src.line()
		if err != nil {
			return err
		}
		if line == "" {
			break
		}
		parts.WriteString(line)
		if !whole && parts.Len() <= maxRecord {
			continue
		}
		text := parts.String()
		parts.Reset()
		v, rest, ok := parseValue(text)
		if !ok || strings.TrimSpace(rest) != "" || v.kind == 'x' || v.kind == '"' {
			if err := m.flush(); err != nil {
				return err
			}
			if err := out.text(text); err != nil {
				return err
			}
			continue
		}
		if err := m.visit(&v, 0); err != nil {
			return err
		}
	}
	return m.flush()
}

// messages gathers the messages of one conversation.
type messages struct {
	out    *output
	stream bool // messages are yielded as they come
	list   []message
	begun  bool
	title  string
}

// visit reads a value: a message, a conversation, or a container of them.
func (m *messages) visit(v *value, depth int) error {
	switch {
	case v.kind == '[':
		for i := range v.values {
			if err := m.visit(&v.values[i], depth+1); err != nil {
				return err
			}
		}
		return nil
	case v.kind == '{' && isMessage(v):
		m.list = append(m.list, m.message(v))
		if m.stream && depth == 0 {
			return m.say()
		}
		return nil
	case v.kind == '{':
		return m.conversation(v, depth)
	}
	return m.member("", v)
}

// conversation reads an object that is no message: its own words first, then the messages in it.
func (m *messages) conversation(v *value, depth int) error {
	if v.get("message") != nil && v.get("message").kind == '{' { // an entry of a tree of messages
		return m.members(v, depth, false)
	}
	if err := m.flush(); err != nil {
		return err
	}
	title, named := "", -1
	for i, key := range v.keys {
		if named < 0 && v.values[i].kind == '"' && isTitle(key) {
			if title = strings.Join(strings.Fields(m.clean(v.values[i].text)), " "); title != "" {
				named = i
			}
		}
	}
	m.title = title
	if title != "" {
		m.begin()
		if err := m.out.say(utterance{}, title+"\n"); err != nil {
			return err
		}
	}
	for i, key := range v.keys {
		if i != named && v.values[i].kind != '{' && v.values[i].kind != '[' {
			if err := m.member(key, &v.values[i]); err != nil {
				return err
			}
		}
	}
	if err := m.members(v, depth, true); err != nil {
		return err
	}
	return m.flush()
}

// members visits what an object contains. What holds no message is kept as its words.
func (m *messages) members(v *value, depth int, skipScalars bool) error {
	for i, key := range v.keys {
		member := &v.values[i]
		switch {
		case member.kind == '{' || member.kind == '[':
			if !holdsMessage(member) {
				if err := m.member(key, member); err != nil {
					return err
				}
				continue
			}
			if err := m.visit(member, depth+1); err != nil {
				return err
			}
		case !skipScalars:
			if err := m.member(key, member); err != nil {
				return err
			}
		}
	}
	return nil
}

func holdsMessage(v *value) bool {
	if v.kind == '{' && isMessage(v) {
		return true
	}
	for i := range v.values {
		if (v.values[i].kind == '{' || v.values[i].kind == '[') && holdsMessage(&v.values[i]) {
			return true
		}
	}
	return false
}

// member keeps what belongs to no message: as a line if it has words.
func (m *messages) member(key string, v *value) error {
	line, words := memberLine(key, v)
	if !words {
		return m.out.drop(connector.DropMarkup, m.clean(line))
	}
	if err := m.say(); err != nil {
		return err
	}
	m.begin()
	return m.out.say(utterance{}, m.clean(line)+"\n")
}

// flush ends the conversation.
func (m *messages) flush() error {
	err := m.say()
	m.begun, m.title = false, ""
	return err
}

// begin begins a conversation, once.
func (m *messages) begin() {
	if !m.begun {
		m.out.converse(m.title)
		m.begun = true
	}
}

// say yields the messages gathered, by their times if all have one.
func (m *messages) say() error {
	known := len(m.list) > 0
	for i := range m.list {
		known = known && m.list[i].known
	}
	if known {
		sort.SliceStable(m.list, func(i, k int) bool { return m.list[i].order < m.list[k].order })
	}
	for i := range m.list {
		m.begin()
		msg := &m.list[i]
		if err := m.out.drop(connector.DropMarkup, m.clean(msg.left)); err != nil {
			return err
		}
		u := utterance{speaker: m.clean(msg.speaker), start: m.clean(msg.time)}
		text := strings.TrimSpace(m.clean(msg.text))
		if text == "" {
			if err := m.out.drop(connector.DropMarkup, u.speaker); err != nil {
				return err
			}
			continue
		}
		if u.speaker != "" {
			head := u.speaker + ": "
			u.head = len(head)
			text = head + text
		}
		if err := m.out.say(u, text+"\n"); err != nil {
			return err
		}
	}
	m.list = m.list[:0]
	return nil
}

// clean is text from an escaped string, as a parsed text may hold it.
func (m *messages) clean(s string) string {
	var c decode.Cleaner
	return strings.ReplaceAll(c.Clean(strings.ToValidUTF8(s, "\uFFFD")), "\r", "\n")
}

// number reads a time: RFC 3339, or seconds or milliseconds since 1970.
func when(v *value) (text string, order float64, ok bool) {
	if v == nil || v.kind == '{' || v.kind == '[' {
		return "", 0, false
	}
	if n, err := strconv.ParseFloat(v.text, 64); err == nil {
		seconds := n
		if n > 1e11 {
			seconds = n / 1000
		}
		if seconds < 1e8 || seconds > 1e11 {
			return v.text, n, true
		}
		return time.Unix(int64(seconds), 0).UTC().Format(time.RFC3339), n, true
	}
	for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006/01/02 15:04:05", "2006-01-02 15:04"} {
		if t, err := time.Parse(layout, v.text); err == nil {
			return v.text, float64(t.UnixNano()) / 1e9, true
		}
	}
	return v.text, 0, false
}

// hasWords tells text that says something: two words, or any script but the Latin one.
func hasWords(s string) bool {
	s = strings.TrimSpace(s)
	for i, r := range s {
		if r >= 0x2E80 && unicode.IsLetter(r) || i > 0 && unicode.IsSpace(r) {
			return true
		}
	}
	return false
}
