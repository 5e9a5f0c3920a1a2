package apidoc

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// short is text cut at maxScalar, at a character.
func short(text string) string {
	if len(text) <= maxScalar {
		return text
	}
	n := maxScalar
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// oneLine makes a name of one line and bounded length.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	const most = 200
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// unescape is what a quoted scalar says. An escape that is no such thing stays as it is.
func unescape(text string, mark byte) string {
	if mark == '\'' {
		return strings.ReplaceAll(text, "''", "'")
	}
	if !strings.Contains(text, `\`) {
		return text
	}
	if out, err := strconv.Unquote(`"` + strings.ReplaceAll(text, `\/`, "/") + `"`); err == nil && utf8.ValidString(out) {
		return out
	}
	return text
}

// pointer takes a reference inside the file apart (RFC 6901 in a fragment); ok is false for one to elsewhere.
func pointer(ref string) (segments []string, ok bool) {
	rest, ok := strings.CutPrefix(ref, "#")
	if !ok || rest != "" && rest[0] != '/' {
		return nil, false
	}
	if rest == "" {
		return nil, true
	}
	segments = strings.Split(rest[1:], "/")
	for i, s := range segments {
		if plain, err := url.PathUnescape(s); err == nil {
			s = plain
		}
		segments[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
	}
	return segments, true
}
