package config

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// Match selects documents: several keys must all hold, and of a list one item must. The zero Match matches everything.
type Match struct {
	Path      []string `yaml:"path" doc:"glob patterns (*, **, ?, [a-z], {a,b}) of the path inside the source"`
	MediaType []string `yaml:"media_type" doc:"media types; text/* for a family"`
	Language  []string `yaml:"language" doc:"programming languages, in any case"`
	Source    []string `yaml:"source" doc:"names of sources"`
	MinSize   int64    `yaml:"min_size" format:"size" doc:"the smallest size"`
	// MaxSize 0 means no bound.
	MaxSize     int64          `yaml:"max_size" format:"size" doc:"the largest size; 0: any"`
	FrontMatter map[string]any `yaml:"front_matter" doc:"front matter keys and the value, or the values, that one must have"`
}

// Facts are what a Match looks at.
type Facts struct {
	Path      string
	MediaType string
	Language  string
	Source    string
	// Size is -1 if it is unknown; it then satisfies no bound.
	Size        int64
	FrontMatter map[string]any
}

// Matches says whether the document of these facts is selected.
func (m *Match) Matches(f Facts) bool {
	if !anyOf(m.Path, func(glob string) bool { return doublestar.MatchUnvalidated(glob, f.Path) }) ||
		!anyOf(m.Source, func(name string) bool { return name == f.Source }) ||
		!anyOf(m.Language, func(l string) bool { return strings.EqualFold(l, f.Language) }) {
		return false
	}
	if len(m.MediaType) > 0 {
		base, _, _ := strings.Cut(f.MediaType, ";")
		base = strings.ToLower(strings.TrimSpace(base))
		if !anyOf(m.MediaType, func(t string) bool {
			ok, _ := path.Match(strings.ToLower(t), base)
			return ok
		}) {
			return false
		}
	}
	if f.Size < m.MinSize && m.MinSize > 0 || m.MaxSize > 0 && (f.Size > m.MaxSize || f.Size < 0) {
		return false
	}
	for key, want := range m.FrontMatter {
		got, ok := f.FrontMatter[key]
		if !ok || !sameValue(want, got) {
			return false
		}
	}
	return true
}

// anyOf holds for an empty list, and if one item does.
func anyOf(list []string, ok func(string) bool) bool {
	for _, item := range list {
		if ok(item) {
			return true
		}
	}
	return len(list) == 0
}

// sameValue compares a wanted value, or any of a list of them, with a front matter value, or any item of a list.
func sameValue(want, got any) bool {
	if list, ok := want.([]any); ok {
		for _, w := range list {
			if sameValue(w, got) {
				return true
			}
		}
		return false
	}
	if v := reflect.ValueOf(got); v.IsValid() && v.Kind() == reflect.Slice {
		for i := range v.Len() {
			if sameValue(want, v.Index(i).Interface()) {
				return true
			}
		}
		return false
	}
	return canonical(want) == canonical(got)
}

// canonical is a text that is equal for equal values: numbers of different Go types, dates and their text.
func canonical(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case time.Time:
		if v.Equal(v.Truncate(24 * time.Hour)) {
			return v.Format(time.DateOnly)
		}
		return v.Format(time.RFC3339Nano)
	}
	if b, err := json.Marshal(v); err == nil {
		return "\x00" + string(b) // a number is not its text
	}
	return fmt.Sprint(v)
}
