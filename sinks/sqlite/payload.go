package sqlite

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/kbsync/kbsync/connector"
)

// parseID reads a UUID in its canonical form; no other form would come back as it was.
func parseID(s string) ([]byte, error) {
	id := make([]byte, 16)
	if len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' {
		if _, err := hex.Decode(id, []byte(s[0:8]+s[9:13]+s[14:18]+s[19:23]+s[24:36])); err == nil && formatID(id) == s {
			return id, nil
		}
	}
	return nil, connector.Errorf(connector.ClassInvalid, "chunk id %q is not a UUID in lower case", s)
}

func formatID(id []byte) string {
	var u connector.UUID
	copy(u[:], id)
	return u.String()
}

// encodeSpans is JSON, or NULL for nil.
func encodeSpans(spans []connector.Span) any {
	if spans == nil {
		return nil
	}
	b := []byte{'['}
	for i, s := range spans {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = strconv.AppendInt(b, int64(s.Start), 10)
		b = append(b, ',')
		b = strconv.AppendInt(b, int64(s.End), 10)
		b = append(b, ']')
	}
	return string(append(b, ']'))
}

func decodeSpans(raw []byte) ([]connector.Span, error) {
	if raw == nil {
		return nil, nil
	}
	spans := []connector.Span{}
	if err := json.Unmarshal(raw, &spans); err != nil {
		return nil, fmt.Errorf("spans: %w", err)
	}
	return spans, nil
}

// encodeMetadata is JSON without white space, keys in order, or NULL for nil. Floats keep a point or an exponent, so
// that they come back as floats and whole numbers as int64.
func encodeMetadata(m map[string]any) (any, error) {
	if m == nil {
		return nil, nil //nolint:nilnil // NULL
	}
	b, err := appendJSON(nil, m)
	if err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "metadata: %w", err)
	}
	return string(b), nil
}

func appendJSON(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case string:
		return appendString(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case float64:
		return appendFloat(b, v)
	case []any:
		return appendList(b, v)
	case []string:
		return appendList(b, v)
	case map[string]any:
		return appendMap(b, v)
	}
	return appendOther(b, v)
}

func appendFloat(b []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%v is no JSON number", f)
	}
	start := len(b)
	b = strconv.AppendFloat(b, f, 'g', -1, 64)
	if !bytes.ContainsAny(b[start:], ".e") {
		b = append(b, ".0"...)
	}
	return b, nil
}

func appendString(b []byte, s string) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	plain := true
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x80 || c == '"' || c == '\\' {
			plain = false
			break
		}
	}
	if plain {
		b = append(b, '"')
		b = append(b, s...)
		return append(b, '"'), nil
	}
	if err := enc.Encode(s); err != nil {
		return nil, err
	}
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...), nil
}

func appendList[E any](b []byte, list []E) ([]byte, error) {
	var err error
	b = append(b, '[')
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendJSON(b, e); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendMap(b []byte, m map[string]any) ([]byte, error) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var err error
	b = append(b, '{')
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendString(b, k); err != nil {
			return nil, err
		}
		b = append(b, ':')
		if b, err = appendJSON(b, m[k]); err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
	}
	return append(b, '}'), nil
}

// appendOther brings any other type to the ones that JSON has.
func appendOther(b []byte, v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	plain, err := decodeJSON(raw)
	if err != nil {
		return nil, err
	}
	if f, ok := v.(float32); ok {
		return appendFloat(b, float64(f))
	}
	return appendJSON(b, plain)
}

// decodeJSON gives nil, bool, string, int64, float64, []any and map[string]any.
func decodeJSON(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return numbers(v), nil
}

func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		f, _ := v.Float64() // out of range is infinite, which encodeMetadata never wrote
		return f
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	}
	return v
}

func decodeMetadata(raw []byte) (map[string]any, error) {
	if raw == nil {
		return nil, nil
	}
	v, err := decodeJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("metadata is a %T", v)
	}
	return m, nil
}
