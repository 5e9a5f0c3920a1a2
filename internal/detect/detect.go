// Package detect tells the type of a document from its name, a hint of its source and its first bytes, and says which parser
// and strategy serve that type by default. Both are tables: see types.go and skip.go.
package detect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/go-enry/go-enry/v2"

	"github.com/kbsync/kbsync/internal/apiformat"
	"github.com/kbsync/kbsync/internal/decode"
)

// HeadSize is how many bytes of a document Detect looks at; fewer will do if there are no more.
const HeadSize = 16 << 10

// Type is what a document is and how it is read.
type Type struct {
	// MediaType such as "text/markdown"; never empty.
	MediaType string
	// Language is the programming language of source code, in lower case as go-enry names it; empty for everything else.
	Language string
	// Parser and Strategy are plugin kinds; empty if Skip is set. Params are settings of the strategy that differ from
	// its defaults; may be nil.
	Parser   string
	Strategy string
	Params   map[string]any
	// Tree says that the parser builds a tree in memory, so that very large documents are better read as text.
	Tree bool
	// Binary says that it cannot be read as text: where a tree would be too large it is not read at all.
	Binary bool
	// Reason says in words what decided.
	Reason string
	// Skip says why no parser claims the document; empty if one does.
	Skip string
}

// Detect tells the type of the document at path. mediaTypeHint may be empty; it counts where the name says nothing, and
// where it says HTML and the content does too. head is the start of the content, empty if the document is.
func Detect(docPath, mediaTypeHint string, head []byte) Type {
	head = head[:min(len(head), HeadSize)]
	name := path.Base(docPath)
	ext := strings.ToLower(path.Ext(name))
	if name == ext { // a dot file has no extension
		ext = ""
	}
	if strings.HasPrefix(name, "~$") && len(head) < 512 {
		return Type{MediaType: "application/octet-stream", Reason: "its name", Skip: "a lock file of an office program"}
	}
	if kind := office(head, ext); kind != "" {
		return preset(kind, "", "its first bytes")
	}
	if mt := sniff(head); mt != "" {
		mt = refine(mt, ext)
		if kind := archiveByMediaType[mt]; kind != "" {
			t := preset(kind, "", "its first bytes")
			t.MediaType = mt
			return t
		}
		return skip(mt, "its first bytes")
	}
	decoded := sync.OnceValues(func() (string, error) {
		text, _, err := decode.All(bytes.NewReader(head), 0)
		return text, err
	})
	if kindByMediaType[bare(mediaTypeHint)] == kindHTML && !decode.Binary(head) { // index.php of a web site is no program, and example.com no executable
		if text, err := decoded(); err == nil && contentKind(text) == kindHTML {
			return preset(kindHTML, "", "its media type and content")
		}
	}
	if kind := kindByExtension[ext]; kind == kindEML && len(head) > 0 { // what is attached may be there as it is, in bytes
		return preset(kind, "", "extension "+ext)
	}
	if mt, ok := skipByExtension[ext]; ok {
		return skip(mt, "its extension "+ext)
	}
	if kind := archiveByExtension[ext]; kind != "" && (len(head) == 0 || decode.Binary(head)) {
		return preset(kind, "", "extension "+ext)
	}
	if kind := kindByExtension[ext]; kind == kindMbox && len(head) > 0 && mailbox(string(head)) {
		return preset(kind, "", "extension "+ext)
	}
	if kind := officeByExtension[ext]; kind != "" && (len(head) == 0 || decode.Binary(head)) { // its parser says what is wrong with it
		return preset(kind, "", "its extension "+ext)
	}
	if decode.Binary(head) {
		return skip("application/octet-stream", "binary content")
	}
	text, err := decoded()
	if err != nil {
		return skip("application/octet-stream", "its content: "+err.Error())
	}
	if format := apiformat.Detect(name, []byte(text)); format != apiformat.None {
		t := preset(kindAPI, "", "a description of an interface: "+string(format))
		t.MediaType = apiMediaTypes[format]
		return t
	}
	if kind, ok := kindByExtension[ext]; ok {
		if kind == kindJSON && commented(text) {
			return preset(kindCode, "json with comments", "its comments in JSON")
		}
		return preset(adjust(kind, text), "", "its extension "+ext)
	}
	if t, ok := byLanguage(name, text); ok {
		return t
	}
	if t, ok := byHint(mediaTypeHint); ok {
		return t
	}
	if kind := contentKind(text); kind != "" {
		return preset(kind, "", "its content")
	}
	return preset(kindText, "", "its content: plain text")
}

// preset is the type of a kind of file.
func preset(kind, language, reason string) Type {
	p := presets[kind]
	t := Type{MediaType: p.mediaType, Language: language, Parser: p.parser, Strategy: p.strategy, Tree: p.tree, Binary: p.binary, Reason: reason}
	if p.params != nil {
		t.Params = maps.Clone(p.params)
	}
	return t
}

func skip(mediaType, by string) Type {
	if advice := convertFirst[mediaType]; advice != "" {
		return Type{MediaType: mediaType, Reason: by, Skip: advice}
	}
	return Type{MediaType: mediaType, Reason: by, Skip: fmt.Sprintf("no parser for %s in this build (known by %s)", mediaType, by)}
}

// adjust corrects what an extension says where the content clearly says otherwise.
func adjust(kind, text string) string {
	switch kind {
	case kindJSON:
		if contentKind(text) == kindJSONL {
			return kindJSONL
		}
	case kindXML:
		if contentKind(text) == kindHTML {
			return kindHTML
		}
	case kindMan: // notes.1 may be anything
		if !roff(text) {
			return kindText
		}
	}
	return kind
}

// roff tells a manual page by its first line that says anything.
func roff(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		switch {
		case strings.Trim(line, ".' \t") == "":
			continue
		case strings.HasPrefix(line, `.\"`), strings.HasPrefix(line, `'\"`), strings.HasPrefix(line, `.\#`):
			return true
		}
		if len(line) < 3 || line[0] != '.' && line[0] != '\'' {
			return false
		}
		request, _, _ := strings.Cut(strings.TrimLeft(line[1:], " \t"), " ")
		switch request {
		case "TH", "Dd", "Dt", "so", "if", "ie", "de", "ds", "nr", "mso", "ig", "SH", "Sh", "do", "hy", "lf", "tr", "ad", "nh":
			return true
		}
		return false
	}
	return false
}

// byLanguage asks go-enry, which knows programming, markup and data languages by file name, extension, first line
// and, where several share an extension, by content.
func byLanguage(name, text string) (Type, bool) {
	language := enry.GetLanguage(name, []byte(text))
	if language == "" {
		return Type{}, false
	}
	reason := "its name and content: " + language
	if kind, ok := kindByLanguage[language]; ok {
		return preset(adjust(kind, text), "", reason), true
	}
	kind := kindCode
	switch enry.GetLanguageType(language) {
	case enry.Prose:
		kind = kindText
	case enry.Markup, enry.Data:
		if !codeLike[language] {
			kind = kindText
		}
	case enry.Programming:
	default:
		return Type{}, false
	}
	if kind == kindText {
		return preset(kind, "", reason), true
	}
	t := preset(kind, strings.ToLower(language), reason)
	if mt := enry.GetMIMEType(name, language); mt != "" && !strings.HasPrefix(mt, "text/plain") {
		t.MediaType, _, _ = strings.Cut(mt, ";")
	} else {
		t.MediaType = "text/x-" + strings.NewReplacer(" ", "-", "+", "p", "#", "sharp").Replace(strings.ToLower(language))
	}
	return t, true
}

// bare is a media type without its parameters, in lower case.
func bare(hint string) string {
	mt, _, _ := strings.Cut(strings.ToLower(hint), ";")
	return strings.TrimSpace(mt)
}

func byHint(hint string) (Type, bool) {
	mt := bare(hint)
	if kind, ok := kindByMediaType[mt]; ok {
		return preset(kind, "", "its media type "+mt), true
	}
	for _, prefix := range []string{"image/", "audio/", "video/", "font/"} {
		if strings.HasPrefix(mt, prefix) && mt != "image/svg+xml" {
			return skip(mt, "its media type"), true
		}
	}
	return Type{}, false
}

// contentKind looks at text of which nothing else is known; "" if it could be anything.
func contentKind(text string) string {
	text = strings.TrimSpace(text)
	low := strings.ToLower(text[:min(len(text), 1024)])
	switch {
	case text == "":
		return ""
	case strings.HasPrefix(low, "<!doctype html"), strings.HasPrefix(low, "<html"):
		return kindHTML
	case strings.HasPrefix(low, "<?xml"), strings.HasPrefix(low, "<!doctype"):
		if strings.Contains(low, "<html") {
			return kindHTML
		}
		return kindXML
	case savedPage(low):
		return kindMHTML
	case mailbox(text):
		return kindMbox
	case mail(low):
		return kindEML
	case text[0] == '{' || text[0] == '[':
		first, rest, _ := strings.Cut(text, "\n")
		rest = strings.TrimSpace(rest)
		if json.Valid([]byte(first)) && rest != "" && (rest[0] == '{' || rest[0] == '[') {
			return kindJSONL
		}
		if startsJSON(text) {
			return kindJSON
		}
	}
	return ""
}

// savedPage tells the header that browsers write above a page that they save as one file.
func savedPage(low string) bool {
	head, _, _ := strings.Cut(low, "\n\n")
	return strings.Contains(head, "content-type: multipart/related") && (strings.Contains(head, "\nsnapshot-content-location:") || strings.HasPrefix(head, "from: <saved by ") || strings.HasPrefix(head, "from: \"saved by "))
}

// mail tells the header of a message: one of the fields that programs write, and two of those that people see.
func mail(low string) bool {
	head, _, _ := strings.Cut(low, "\n\n")
	head = "\n" + head
	seen := 0
	for _, key := range []string{"\nfrom:", "\nto:", "\nsubject:", "\ndate:"} {
		if strings.Contains(head, key) {
			seen++
		}
	}
	for _, key := range []string{"\nreceived:", "\nmessage-id:", "\nmime-version:", "\nreturn-path:", "\ndelivered-to:"} {
		if strings.Contains(head, key) && seen >= 2 {
			return fieldLike(head)
		}
	}
	return strings.HasPrefix(low, "return-path:") || strings.HasPrefix(low, "received: from ")
}

// mailbox tells the line that begins a message in a mailbox, with a header behind it.
func mailbox(text string) bool {
	first, rest, _ := strings.Cut(strings.TrimLeft(text, "\r\n"), "\n")
	return fromLine.MatchString(strings.TrimRight(first, "\r")) && fieldLike(rest)
}

var fromLine = regexp.MustCompile(`^From \S.{0,300}\d\d:\d\d.{0,60}\d{4}`)

// fieldLike says that the first line is a field.
func fieldLike(head string) bool {
	name, _, ok := strings.Cut(strings.TrimLeft(head, "\n"), ":")
	return ok && name != "" && !strings.ContainsAny(name, " \t\n")
}

// commented says that text is no JSON but may be with its comments taken out.
func commented(text string) bool {
	return (strings.Contains(text, "//") || strings.Contains(text, "/*")) && !startsJSON(text) && contentKind(text) == ""
}

// startsJSON says that text is JSON as far as it goes, and long enough to tell.
func startsJSON(text string) bool {
	d := json.NewDecoder(strings.NewReader(text))
	for n := 0; ; n++ {
		if _, err := d.Token(); err != nil {
			return n >= 2 && d.InputOffset() > int64(len(text))/2
		}
	}
}
