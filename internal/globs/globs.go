// Package globs is what sources share for include and exclude: which paths are listed, and which folders may hold any.
package globs

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Validate checks the patterns of two configuration keys; the errors name key and index.
func Validate(include, exclude []string) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, list := range []struct {
		key   string
		globs []string
	}{{"include", include}, {"exclude", exclude}} {
		for i, glob := range list.globs {
			switch clean := cleanGlob(glob); {
			case clean == "" || !doublestar.ValidatePattern(clean):
				fail("%s[%d]: not a valid glob pattern", list.key, i)
			case strings.HasPrefix(clean, "/"):
				fail("%s[%d]: patterns are relative to the source's root; leave out the leading slash", list.key, i)
			case clean == ".." || strings.HasPrefix(clean, "../") || strings.Contains(clean, "/../"):
				fail("%s[%d]: a pattern cannot leave the source's root", list.key, i)
			}
		}
	}
	if len(include) == 0 {
		fail(`include: empty, so that nothing would be listed; leave it out for everything`)
	}
	return errors.Join(errs...)
}

// Filter applies include and exclude: globs of doublestar (*, **, ?, [a-z], {a,b}) over slash-separated paths. What a pattern
// of exclude matches is left out with all that lies below it.
type Filter struct {
	all     bool // every path is included
	include []string
	exclude []string
	// roots are the leading segments of the include patterns, up to the first **: what a folder must match to hold anything. nil
	// means that anything may.
	roots [][]string
}

// New makes a filter of patterns that Validate accepted.
func New(include, exclude []string) *Filter {
	f := &Filter{}
	for _, glob := range include {
		glob = cleanGlob(glob)
		f.include = append(f.include, glob)
		if glob == "**" || glob == "**/*" {
			f.all = true
		}
		f.roots = append(f.roots, leading(glob))
	}
	for _, glob := range exclude {
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

// File says whether the file at p is listed.
func (f *Filter) File(p string) bool {
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

// Below says whether what a path without folders to walk through names (a key, a URL, a row) is listed: the file itself, with no
// folder above it excluded.
func (f *Filter) Below(p string) bool {
	for i := range len(p) {
		if p[i] == '/' && f.excluded(p[:i]) {
			return false
		}
	}
	return f.File(p)
}

// Folder says whether the folder at p may hold files that are listed.
func (f *Filter) Folder(p string) bool {
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

func (f *Filter) excluded(p string) bool {
	for _, glob := range f.exclude {
		if doublestar.MatchUnvalidated(glob, p) {
			return true
		}
	}
	return false
}
