package markdown

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// frontFence tells the line that ends front matter, and what reads it, from its first line; a nil decoder for any other line.
func frontFence(line string) (end string, decode func(string) map[string]any) {
	switch line {
	case "---", "---yaml", "---yml":
		return "---", decodeYAML
	case "+++", "+++toml":
		return "+++", decodeTOML
	case "---toml":
		return "---", decodeTOML
	case ";;;", ";;;json":
		return ";;;", decodeJSON
	case "---json":
		return "---", decodeJSON
	}
	return "", nil
}

// cutObject finds a JSON object at the start of text that ends its line and is followed by more text: a file that is nothing but JSON
// has no front matter.
func cutObject(text string) (front map[string]any, size int) {
	head := text[:min(len(text), maxFront)]
	dec := json.NewDecoder(strings.NewReader(head))
	dec.UseNumber()
	var object map[string]any
	if err := dec.Decode(&object); err != nil || len(object) == 0 {
		return nil, 0
	}
	end := int(dec.InputOffset())
	line, _, _ := strings.Cut(text[end:], "\n")
	if strings.TrimSpace(line) != "" {
		return nil, 0
	}
	if size = skipBlank(text, end); size == len(text) {
		return nil, 0
	}
	front, _ = plainValue(numbers(object, 0), 0).(map[string]any)
	return front, size
}

// decodeJSON reads an object, with or without its braces; nil if there is anything else.
func decodeJSON(s string) map[string]any {
	if s = strings.TrimSpace(s); !strings.HasPrefix(s, "{") {
		s = "{" + s + "}"
	}
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var object map[string]any
	if err := dec.Decode(&object); err != nil || object == nil {
		return nil
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil
	}
	front, _ := plainValue(numbers(object, 0), 0).(map[string]any)
	return front
}

// numbers makes integers of the numbers that are, and floats of the others.
func numbers(v any, depth int) any {
	if depth > 64 {
		return nil
	}
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String()
	case map[string]any:
		for k, e := range v {
			v[k] = numbers(e, depth+1)
		}
	case []any:
		for i, e := range v {
			v[i] = numbers(e, depth+1)
		}
	}
	return v
}
