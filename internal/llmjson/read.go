package llmjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// attempts bounds how many openings of prose that end nowhere are tried, so that hostile answers cost linear time.
const attempts = 16

// deepest is how deeply the JSON of an answer may nest.
const deepest = 64

// Read finds the JSON object in an answer that the schema allows and decodes it into into. Prose and fences around it are passed over, and so is
// what stands before "</think>". Where several objects are allowed the last one counts: models think aloud first. The error is a *[FaultError].
// The time is linear in the length of the answer.
func Read(text string, s *Schema, into any) error {
	if i := strings.LastIndex(text, "</think>"); i >= 0 {
		text = text[i+len("</think>"):]
	}
	if strings.TrimSpace(text) == "" {
		return fault("$", "the answer is empty")
	}
	var found any
	wrong := fault("$", "there is no JSON object in the answer")
	for start, tries := 0, 0; tries < attempts; {
		i := strings.IndexByte(text[start:], '{')
		if i < 0 {
			break
		}
		i += start
		end, whole := object(text, i)
		if !whole {
			if tries == 0 && found == nil {
				wrong = fault("$", "the JSON object is cut off or its brackets do not match")
			}
			tries++
			start = i + 1
			continue
		}
		start = end
		v, err := decode([]byte(text[i:end]))
		if err != nil {
			if found == nil {
				wrong = fault("$", "this is not valid JSON: %v", err)
			}
			continue
		}
		if f := s.Check(v); f != nil {
			if found == nil {
				wrong = f
			}
			continue
		}
		found = s.only(v)
	}
	if found == nil {
		return wrong
	}
	raw, err := json.Marshal(found)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return fault("$", "%v", err)
	}
	return nil
}

// object gives the end of the object that begins at text[start]; whole is false where it has none, or nests too deeply.
func object(text string, start int) (end int, whole bool) {
	depth, quoted := 0, false
	for i := start; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > deepest {
				return i, false
			}
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(text), false
}

// only leaves out the keys that the schema does not have: package json would take "NAME" for "name".
func (s *Schema) only(v any) any {
	switch v := v.(type) {
	case map[string]any:
		known := map[string]any{}
		for _, f := range s.Fields {
			known[f.Name] = f.only(v[f.Name])
		}
		return known
	case []any:
		for i := range v {
			v[i] = s.Items.only(v[i])
		}
	}
	return v
}

func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object")
	}
	return v, nil
}
