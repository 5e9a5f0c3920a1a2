package dialogue

import (
	"html"
	"strings"
)

// The names of members in the exports that are known: OpenAI messages, ShareGPT, KdConv, Slack, ChatGPT, Microsoft Graph (Teams).
func textKeys() []string {
	return []string{"content", "text", "message", "body", "utterance", "value", "msg", "parts"}
}

func speakerKeys() []string {
	return []string{"speaker", "name", "username", "nickname", "user_profile", "author", "from", "sender", "role", "user", "talker"}
}

func timeKeys() []string {
	return []string{"time", "timestamp", "ts", "created_at", "createdAt", "createdDateTime", "create_time", "date", "datetime", "start"}
}

// isTitle tells the members that name a conversation.
func isTitle(key string) bool {
	switch key {
	case "title", "name", "topic", "subject", "displayName":
		return true
	}
	return false
}

// isMessage tells an object that says something: it has a text, and a speaker, a time or nothing that could be a conversation.
func isMessage(v *value) bool {
	text := v.get(textKeys()...)
	if text == nil {
		return hasCall(v) && v.get("role") != nil
	}
	for i := range v.values {
		switch v.keys[i] {
		case "messages", "conversations", "conversation", "dialogue", "dialog", "mapping":
			return false
		}
	}
	if text.kind == '{' {
		inner := text.get("parts", "content", "text")
		return inner != nil && (inner.kind == '"' || inner.kind == '[') && (v.get(speakerKeys()...) != nil)
	}
	if text.kind == 'x' {
		return false
	}
	if text.kind == '[' && v.get(speakerKeys()...) == nil {
		return false
	}
	return v.get(speakerKeys()...) != nil || v.get(timeKeys()...) != nil || v.get("message", "utterance") != nil
}

func hasCall(v *value) bool { return v.get("tool_calls", "function_call") != nil }

// message reads an object that isMessage accepts. Every member is the text, the speaker, the time, a line below, or left out.
func (m *messages) message(v *value) message {
	var out message
	text := v.get(textKeys()...)
	who, at := v.get(speakerKeys()...), v.get(timeKeys()...)
	var b strings.Builder
	var left []string
	if text != nil {
		contentText(&b, text, &left)
	}
	if who != nil {
		out.speaker = strings.Join(strings.Fields(personName(who)), " ")
	}
	out.time, out.order, out.known = when(at)
	for i, key := range v.keys {
		member := &v.values[i]
		if member == text || member == at && out.time != "" || member == who && who.kind == '"' {
			continue
		}
		if member.kind == '"' && member.text == out.speaker || member.unset() {
			continue
		}
		line, words := memberLine(key, member)
		if words && !furniture(key) {
			if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
				b.WriteByte('\n')
			}
			b.WriteString(line)
			continue
		}
		left = append(left, line)
	}
	out.text, out.left = b.String(), strings.Join(left, "\n")
	return out
}

// furniture tells members that repeat what is said, or tell of accounts.
func furniture(key string) bool {
	switch key {
	case "blocks", "user_profile", "bot_profile", "edited", "reactions", "from", "author", "sender", "user", "replies", "reply_users", "mentions", "policyViolation", "channelIdentity":
		return true
	}
	return false
}

// memberLine is "key: value" on one line, and whether it holds words.
func memberLine(key string, v *value) (line string, words bool) {
	var b strings.Builder
	if key != "" {
		b.WriteString(key + ": ")
	}
	if v.kind == '"' {
		b.WriteString(v.text)
		return b.String(), hasWords(v.text)
	}
	v.compact(&b)
	return b.String(), anyWords(v) || key == "tool_calls" || key == "function_call"
}

func anyWords(v *value) bool {
	if v.kind == '"' {
		return hasWords(v.text)
	}
	for i := range v.values {
		if anyWords(&v.values[i]) {
			return true
		}
	}
	return false
}

// contentText writes the text of a message: a string, a list of parts, or an object around them. Tags of HTML go to left.
func contentText(b *strings.Builder, v *value, left *[]string) {
	add := func(s string) {
		if s == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(s)
	}
	switch v.kind {
	case '"':
		add(v.text)
	case '[':
		for i := range v.values {
			contentText(b, &v.values[i], left)
		}
	case '{':
		inner := v.get("text", "content", "parts")
		if inner == nil {
			line, _ := memberLine("", v)
			add(line)
			return
		}
		if kind := v.get("contentType", "content_type"); kind != nil && strings.EqualFold(kind.text, "html") && inner.kind == '"' {
			plain, tags := htmlText(inner.text)
			add(plain)
			*left = append(*left, tags)
		} else {
			contentText(b, inner, left)
		}
		for i, key := range v.keys {
			member := &v.values[i]
			if member == inner || member.kind == 'x' || key == "type" || key == "contentType" || key == "content_type" {
				continue
			}
			line, _ := memberLine(key, member)
			add(line)
		}
	default:
		add(v.text)
	}
}

// htmlText is the text of a message in HTML, blocks on lines of their own, and the tags apart.
func htmlText(s string) (plain, tags string) {
	var b, t strings.Builder
	for s != "" {
		k := strings.IndexByte(s, '<')
		if k < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:k])
		n := strings.IndexByte(s[k:], '>')
		if n < 0 || k+1 < len(s) && s[k+1] != '/' && s[k+1] != '!' && (s[k+1]|0x20 < 'a' || s[k+1]|0x20 > 'z') {
			b.WriteByte('<')
			s = s[k+1:]
			continue
		}
		t.WriteString(s[k : k+n+1])
		tag := strings.ToLower(strings.Trim(s[k+1:k+n], "/ "))
		for _, block := range [...]string{"p", "br", "div", "li", "tr", "blockquote"} {
			if tag == block || strings.HasPrefix(tag, block+" ") {
				b.WriteByte('\n')
			}
		}
		s = s[k+n+1:]
	}
	return strings.TrimSpace(html.UnescapeString(b.String())), t.String()
}

// personName is who speaks: a string, or the name inside an object.
func personName(v *value) string {
	if v.kind != '{' {
		return v.text
	}
	if inner := v.get("display_name", "displayName", "real_name", "name", "role", "user", "application"); inner != nil {
		return personName(inner)
	}
	return ""
}
