package code

import (
	"path"
	"strings"

	"github.com/go-enry/go-enry/v2"
)

// headSize is how much of a file is looked at to tell its language.
const headSize = 16 << 10

// LanguageOf is the programming language of a file, as go-enry names it but in lower case ("go", "c++", "shell"), told from its path and first
// bytes; empty if unknown.
func LanguageOf(name string, head []byte) string {
	return strings.ToLower(enry.GetLanguage(path.Base(name), head[:min(len(head), headSize)]))
}
