package llmtest

import (
	"context"
	"hash/fnv"
	"strings"
	"unicode"

	"github.com/kbsync/kbsync/connector"
)

// Oblige answers what kbsync's own prompts ask, as a model would that takes nothing amiss: it goes by the names in the schema (propositions,
// cut_after, context, title and summary), takes what it says from the passage, and says the same of the same. It is for tests of what asks.
func Oblige(c Call) Reply {
	schema := string(c.Schema)
	if schema == "" { // it stands in the words
		schema = c.System
	}
	answer := object{}
	has := func(name string) bool { return strings.Contains(schema, `"`+name+`"`) }
	switch {
	case has("propositions"):
		answer["propositions"] = facts(material(c.User, "passage"))
	case has("cut_after"):
		answer["cut_after"] = numbers(material(c.User, "passage"))
	case has("context"):
		answer["context"] = opening(material(c.User, "chunk"))
	case has("title"):
		answer["title"], answer["summary"] = opening(material(c.User, "passage")), opening(material(c.User, "passage"))
	default:
		return Reflect(c)
	}
	r := Reply{Text: string(encoded(answer)), In: len(c.System+c.User)/4 + 1}
	r.Out = len(r.Text)/4 + 1
	return r
}

// Obliging is a double that answers as [Oblige] does.
func Obliging() *Double {
	return &Double{Says: func(_ context.Context, r connector.LLMRequest) (connector.LLMAnswer, error) {
		reply := Oblige(Call{System: r.System, User: r.User, Schema: r.Schema, JSON: len(r.Schema) > 0})
		return connector.LLMAnswer{Text: reply.Text, Finish: reply.Finish, TokensIn: reply.In, TokensOut: reply.Out}, nil
	}}
}

// material is what stands between the lines that fence a part of a request.
func material(user, name string) string {
	at := strings.LastIndex(user, "----- begin "+name+" ")
	if at < 0 {
		return user
	}
	_, text, _ := strings.Cut(user[at:], "\n")
	if end := strings.LastIndex(text, "\n----- end "+name+" "); end >= 0 {
		text = text[:end]
	}
	return text
}

// facts are the sentences of a passage, roughly.
func facts(passage string) []string {
	const most, longest = 200, 1900
	var out []string
	add := func(s string) {
		s = strings.Join(strings.Fields(s), " ")
		if runes := []rune(s); len(runes) > longest {
			s = string(runes[:longest])
		}
		if strings.IndexFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) >= 0 && len(out) < most {
			out = append(out, s)
		}
	}
	from := 0
	for i, r := range passage {
		if strings.ContainsRune("。！？.!?\n", r) {
			end := i + len(string(r))
			add(passage[from:end])
			from = end
		}
	}
	add(passage[from:])
	return out
}

// numbers are those of about every fourth line, by what stands in it.
func numbers(passage string) []int {
	out := []int{}
	for i, line := range strings.Split(strings.TrimRight(passage, "\n"), "\n") {
		_, text, _ := strings.Cut(line, "] ")
		h := fnv.New32a()
		_, _ = h.Write([]byte(text))
		if h.Sum32()%4 == 0 {
			out = append(out, i+1)
		}
	}
	return out
}

// opening is how a text begins.
func opening(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	return string(runes[:min(len(runes), 60)])
}
