package providers

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// redactor gives a function that hides the configured secrets in a message: the key, further ones, values of headers and of the address's query, as they
// are, escaped for URLs or JSON, and words that show an end of the key beside stars, as some services print it.
func redactor(c *Config, further ...connector.Secret) func(string) string {
	secrets := []string{c.APIKey.Reveal()}
	for _, s := range further {
		secrets = append(secrets, s.Reveal())
	}
	for _, v := range c.Headers {
		secrets = append(secrets, v.Reveal())
		if _, token, ok := strings.Cut(v.Reveal(), " "); ok { // Bearer …
			secrets = append(secrets, token)
		}
	}
	if u, err := url.Parse(c.BaseURL); err == nil {
		for name, values := range u.Query() {
			if name != "api-version" {
				secrets = append(secrets, values...)
			}
		}
	}
	var pairs []string
	for _, s := range secrets {
		if len(s) < 4 {
			continue // too short to tell from a word
		}
		quoted, err := json.Marshal(s)
		if err != nil {
			continue
		}
		pairs = append(pairs, s, "***", url.QueryEscape(s), "***", url.PathEscape(s), "***", string(quoted[1:len(quoted)-1]), "***")
	}
	whole := strings.NewReplacer(pairs...)
	return func(message string) string { return hideParts(whole.Replace(message), secrets) }
}

// hideParts replaces words that begin or end as a secret does.
func hideParts(message string, secrets []string) string {
	var b strings.Builder
	for len(message) > 0 {
		i := strings.IndexAny(message, " \t\r\n\"'`,;()<>[]{}=:")
		word, rest := message, ""
		if i == 0 {
			b.WriteByte(message[0])
			message = message[1:]
			continue
		} else if i > 0 {
			word, rest = message[:i], message[i:]
		}
		if showsPart(word, secrets) {
			word = "***"
		}
		b.WriteString(word)
		message = rest
	}
	return b.String()
}

func showsPart(word string, secrets []string) bool {
	bare := strings.TrimRight(word, ".!?")
	for _, s := range secrets {
		if len(s) < 12 {
			continue
		}
		masked := strings.ContainsAny(bare, "*…") || strings.Contains(bare, "..")
		if strings.HasPrefix(bare, s[:8]) || masked && (strings.HasPrefix(bare, s[:3]) || strings.HasSuffix(bare, s[len(s)-3:])) {
			return true
		}
	}
	return false
}
