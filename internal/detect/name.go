package detect

import (
	"path"
	"strings"

	"github.com/go-enry/go-enry/v2"
)

// ByName is the kind of parser that the name of a document, or else its media type, promises; empty where that is none that this table knows. known
// says that the name or the media type means something, whether a parser reads it or not. The content may say otherwise: see [Detect].
func ByName(docPath, mediaTypeHint string) (parser string, known bool) {
	name := path.Base(docPath)
	ext := strings.ToLower(path.Ext(name))
	if name == ext { // a dot file has no extension
		ext = ""
	}
	for _, table := range []map[string]string{officeByExtension, archiveByExtension, kindByExtension} {
		if kind, ok := table[ext]; ok {
			return presets[kind].parser, true
		}
	}
	if _, ok := skipByExtension[ext]; ok {
		return "", true
	}
	if kind, ok := kindByMediaType[bare(mediaTypeHint)]; ok {
		return presets[kind].parser, true
	}
	if len(enry.GetLanguagesByFilename(name, nil, nil)) > 0 || ext != "" && len(enry.GetLanguagesByExtension(name, nil, nil)) > 0 {
		return "", true
	}
	mt := bare(mediaTypeHint)
	return "", strings.HasPrefix(mt, "text/") || strings.HasPrefix(mt, "image/") || strings.HasPrefix(mt, "audio/") || strings.HasPrefix(mt, "video/")
}
