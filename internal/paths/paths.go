// Package paths is what sources that meet names in any bytes share.
package paths

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Printable is a path with the bytes that are not UTF-8 as \xNN: what a report can hold of a name that cannot be a document's. It is for
// people: a name in which \xff is written gives the same.
func Printable(path string) string {
	if utf8.ValidString(path) {
		return path
	}
	var b strings.Builder
	for i := 0; i < len(path); {
		r, size := utf8.DecodeRuneInString(path[i:])
		if r == utf8.RuneError && size == 1 {
			b.WriteString(`\x` + strconv.FormatUint(uint64(path[i])|0x100, 16)[1:])
		} else {
			b.WriteString(path[i : i+size])
		}
		i += size
	}
	return b.String()
}
