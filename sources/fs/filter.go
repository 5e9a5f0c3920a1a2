package fs

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// filter applies include and exclude.
type filter struct {
	all     bool // every path is included
	include []string
	exclude []string
	// roots are the leading segments of the include patterns, up to the first **: what a folder must match to hold anything. nil
	// means that anything may.
	roots [][]string
}

func newFilter(c Config) filter {
	var f filter
	for _, glob := range c.Include {
		glob = cleanGlob(glob)
		f.include = append(f.include, glob)
		if glob == "**" || glob == "**/*" {
			f.all = true
		}
		f.roots = append(f.roots, leading(glob))
	}
	for _, glob := range c.Exclude {
		f.exclude = append(f.exclude, strings.TrimSuffix(cleanGlob(glob), "/"))
	}
	return f
}

// cleanGlob takes "./" off.
func cleanGlob(glob string) string {
	for strings.HasPrefix(glob, "./") {
		glob = strings.TrimLeft(glob[2:], "/")
	}
	return glob
}

// leading splits a pattern into the segments before the first ** (then "**" ends the list); a pattern whose
// braces hold a slash cannot be split and gives "**" alone.
func leading(glob string) []string {
	var out []string
	depth := 0
	for _, segment := range strings.Split(glob, "/") {
		depth += strings.Count(segment, "{") - strings.Count(segment, "}")
		if depth != 0 || strings.Contains(segment, "**") || strings.Contains(segment, `\`) {
			return append(out, "**")
		}
		out = append(out, segment)
	}
	return out
}

// file says whether the file at p is listed.
func (f *filter) file(p string) bool {
	if !f.all {
		found := false
		for _, glob := range f.include {
			if doublestar.MatchUnvalidated(glob, p) {
				found = true
				break
			}
		}
		if !found {
			return false
		}
	}
	return !f.excluded(p)
}

// folder says whether the folder at p may hold files that are listed.
func (f *filter) folder(p string) bool {
	if f.excluded(p) {
		return false
	}
	if f.all {
		return true
	}
	for _, root := range f.roots {
		if mayHold(root, p) {
			return true
		}
	}
	return false
}

func mayHold(root []string, p string) bool {
	for _, want := range root {
		if want == "**" {
			return true
		}
		segment, rest, more := strings.Cut(p, "/")
		if ok, err := doublestar.Match(want, segment); err == nil && !ok {
			return false
		}
		if !more {
			return true
		}
		p = rest
	}
	return false
}

func (f *filter) excluded(p string) bool {
	for _, glob := range f.exclude {
		if doublestar.MatchUnvalidated(glob, p) {
			return true
		}
	}
	return false
}
