package htmltext

import (
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/kbsync/kbsync/connector"
)

// script writes a script or a style as code.
func (w *writer) script(n *node) {
	var b strings.Builder
	for _, k := range n.kids {
		b.WriteString(k.text)
	}
	text := strings.Trim(b.String(), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	el := w.emit(connector.KindCode, text)
	el.Atom, el.Language = true, scriptLanguage(n)
}

// scriptLanguage is the language of a script or style by the type that its tag names; empty if that is unknown.
func scriptLanguage(n *node) string {
	word := strings.ToLower(strings.TrimSpace(n.lang))
	switch {
	case n.tag == atom.Style:
		return "css"
	case word == "", word == "module", strings.HasSuffix(word, "javascript"), strings.HasSuffix(word, "ecmascript"), word == "text/babel":
		return "javascript"
	case strings.HasSuffix(word, "typescript"), word == "ts":
		return "typescript"
	case strings.HasSuffix(word, "json"), word == "importmap", word == "speculationrules":
		return "json"
	}
	return ""
}
