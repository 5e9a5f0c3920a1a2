package strategies

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// bond says how much speaks against a cut between two utterances.
type bond uint8

const (
	bondNone bond = iota
	bondTurn      // one speaker, or one sentence
	bondPair      // a question and its answer
)

// bondOf is the bond between utterances that follow each other.
func bondOf(a, b *said) bond {
	switch {
	case a.speaker == "" && b.speaker == "":
		if isQuestion(a.text) { // who speaks is not told
			return bondPair
		}
		if endsSentence(a.text) {
			return bondNone
		}
		return bondTurn
	case a.speaker == b.speaker:
		return bondTurn
	case asks(a.speaker) && answers(b.speaker), isQuestion(a.text):
		return bondPair
	}
	return bondNone
}

// asks tells the roles whose words are always answered.
func asks(speaker string) bool {
	switch strings.ToLower(speaker) {
	case "user", "human", "customer", "client", "q", "question", "interviewer", "用户", "客户", "问", "提问", "记者":
		return true
	}
	return false
}

func answers(speaker string) bool {
	switch strings.ToLower(speaker) {
	case "assistant", "ai", "bot", "chatbot", "gpt", "chatgpt", "model", "agent", "support", "a", "answer", "interviewee", "助手", "助理", "客服", "机器人", "答", "回答":
		return true
	}
	return false
}

// questionSight is how much of an utterance's end is looked at.
const questionSight = 160

// isQuestion tells an utterance that asks at its end: a question mark that is not part of an address, or a Chinese particle.
func isQuestion(text string) bool {
	text = strings.TrimRightFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && r != '?' && r != '？' && r != '؟' })
	if strings.HasSuffix(text, "吗") || strings.HasSuffix(text, "呢") {
		return true
	}
	if len(text) > questionSight {
		text = text[len(text)-questionSight:]
	}
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		if r == '？' || r == '؟' {
			return true
		}
		if r != '?' {
			continue
		}
		next, _ := utf8.DecodeRuneInString(text[i:])
		if i == len(text) || !unicode.IsLetter(next) && !unicode.IsDigit(next) || next >= 0x2E80 {
			return true
		}
	}
	return false
}

// endsSentence tells text that ends with the mark of a sentence's end.
func endsSentence(text string) bool {
	text = strings.TrimRightFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(`"'”’」』)）]♪`, r)
	})
	r, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune(".!?。！？…؟", r)
}
