package markdown

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// maxFront bounds front matter, in bytes.
const maxFront = 256 << 10

var frontKey = regexp.MustCompile(`^(#.*|[\pL\pN_"'][\pL\pN_ ."'/-]*\s*[:=].*|\[.*\]|[-{].*)?$`)

// cutFrontMatter finds front matter at the start of text: YAML between "---" lines (or "---" and "..."), TOML between "+++" lines,
// JSON between ";;;" lines (Middleman), any of the three between "---" lines of which the first names it ("---toml", as gray-matter
// writes it), and a JSON object that more text follows (Hugo). size is its length with the blank lines after it, 0 if there is
// none; front is nil if it does not parse. Text between two thematic breaks is no front matter: its first line must look like a key.
func cutFrontMatter(text string) (front map[string]any, size int) {
	if strings.HasPrefix(text, "{") {
		return cutObject(text)
	}
	fence, rest, _ := strings.Cut(text, "\n")
	fence, decode := frontFence(strings.TrimRight(fence, " \t"))
	if decode == nil {
		return nil, 0
	}
	first := len(text) - len(rest)
	pos := first
	looksLike := false
	for pos < len(text) && pos < maxFront {
		line, _, _ := strings.Cut(text[pos:], "\n")
		end := min(pos+len(line)+1, len(text))
		trimmed := strings.TrimRight(line, " \t")
		if trimmed == fence || fence == "---" && trimmed == "..." {
			if !looksLike && pos > first {
				return nil, 0
			}
			return decode(text[first:pos]), skipBlank(text, end)
		}
		if !looksLike && trimmed != "" {
			if !frontKey.MatchString(trimmed) {
				return nil, 0
			}
			looksLike = true
		}
		pos = end
	}
	return nil, 0
}

// skipBlank is the end of the blank lines at pos.
func skipBlank(text string, pos int) int {
	for pos < len(text) {
		line, _, found := strings.Cut(text[pos:], "\n")
		if strings.TrimSpace(line) != "" {
			return pos
		}
		pos += len(line)
		if found {
			pos++
		}
	}
	return pos
}

func decodeYAML(s string) (front map[string]any) {
	defer func() {
		if recover() != nil {
			front = nil
		}
	}()
	if err := yaml.Unmarshal([]byte(s), &front); err != nil {
		return nil
	}
	if front == nil {
		return map[string]any{}
	}
	plain, ok := plainValue(front, 0).(map[string]any)
	if !ok {
		return nil
	}
	return plain
}

// plainValue makes a decoded value one that JSON can hold: dates as text, keys as strings.
func plainValue(v any, depth int) any {
	if depth > 64 {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = plainValue(e, depth+1)
		}
		return out
	case map[any]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[fmt.Sprint(k)] = plainValue(e, depth+1)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plainValue(e, depth+1)
		}
		return out
	case time.Time:
		if v.Equal(v.Truncate(24*time.Hour)) && v.Location() == time.UTC {
			return v.Format(time.DateOnly)
		}
		return v.Format(time.RFC3339)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprint(v)
		}
		return v
	}
	return v
}
