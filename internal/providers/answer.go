package providers

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/kbsync/kbsync/connector"
)

// Values are the components of a vector as they stand in JSON: an array of numbers, in which null and NaN are no
// number, or base64 of little-endian 32-bit floats.
type Values []float32

// UnmarshalJSON reads both forms.
func (v *Values) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	switch {
	case len(b) > 1 && b[0] == '"':
		return v.base64(b)
	case len(b) > 1 && b[0] == '[':
		return v.numbers(b[1 : len(b)-1])
	}
	return fmt.Errorf("a vector is %.20q, want an array or base64", b)
}

func (v *Values) base64(quoted []byte) error {
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(raw)%4 != 0 {
		return errors.New("a vector is not base64 of 32-bit floats")
	}
	out := make([]float32, len(raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	*v = out
	return nil
}

func (v *Values) numbers(b []byte) error {
	out := make([]float32, 0, bytes.Count(b, []byte(","))+1)
	for len(b) > 0 {
		one := b
		if i := bytes.IndexByte(b, ','); i >= 0 {
			one, b = b[:i], b[i+1:]
		} else {
			b = nil
		}
		one = bytes.TrimSpace(one)
		if len(one) == 0 && len(out) == 0 && b == nil {
			break // an empty array
		}
		if string(one) == "null" {
			out = append(out, float32(math.NaN()))
			continue
		}
		x, err := strconv.ParseFloat(string(one), 32)
		if err != nil && !errors.Is(err, strconv.ErrRange) { // out of range is infinite, and refused as such
			return fmt.Errorf("a component of a vector is %.20q", one)
		}
		out = append(out, float32(x))
	}
	*v = out
	return nil
}

// Item is one vector of an answer.
type Item struct {
	// Index is the text's place in the request; nil where the service does not say, and the order of the answer counts.
	Index  *int
	Values Values
}

// decode reads a body. Some servers write NaN and Infinity, which are no JSON: they become null, so that only the text at fault suffers.
func decode(body []byte, read func([]byte) (Answer, error)) (Answer, error) {
	answer, err := read(body)
	var syntax *json.SyntaxError
	if err == nil || !errors.As(err, &syntax) {
		return answer, err
	}
	mended, changed := nullify(body)
	if !changed {
		return answer, err
	}
	return read(mended)
}

// nullify replaces the bare words NaN, Infinity and -Infinity outside strings by null.
func nullify(body []byte) (out []byte, changed bool) {
	quoted := false
	for i := 0; i < len(body); i++ {
		c := body[i]
		switch {
		case quoted && c == '\\' && i+1 < len(body):
			out = append(out, c, body[i+1])
			i++
			continue
		case c == '"':
			quoted = !quoted
		case !quoted:
			for _, word := range []string{"NaN", "Infinity", "-Infinity", "-NaN"} {
				if bytes.HasPrefix(body[i:], []byte(word)) {
					out = append(out, "null"...)
					i += len(word) - 1
					changed = true
					c = 0
					break
				}
			}
			if c == 0 {
				continue
			}
		}
		out = append(out, c)
	}
	return out, changed
}

// check puts the vectors of an answer in the order of the n texts and proves them. What does not fit the question is
// ClassTransient: no vector of such an answer can be trusted.
func (e *Embedder) check(items []Item, n int) ([][]float32, error) {
	odd := func(format string, args ...any) error {
		return connector.Errorf(connector.ClassTransient, "%s: the answer does not fit the request: %s", e.spec.Provider, fmt.Sprintf(format, args...))
	}
	if len(items) != n {
		return nil, odd("%d vectors for %d texts", len(items), n)
	}
	out := make([][]float32, n)
	seen := make([]bool, n)
	for place, item := range items {
		if (item.Index == nil) != (items[0].Index == nil) {
			return nil, odd("some vectors have an index, others have none")
		}
		at := place
		if item.Index != nil {
			at = *item.Index
		}
		if at < 0 || at >= n || seen[at] {
			return nil, odd("index %d comes twice or is out of range", at)
		}
		out[at], seen[at] = item.Values, true
	}
	failed := map[int]error{}
	for i, v := range out {
		if want := e.model.Dimensions; len(v) == 0 || want > 0 && len(v) != want {
			return nil, connector.Errorf(connector.ClassConflict, "%s: %s gave a vector of %d dimensions, want %d: check model and dimensions, and that base_url leads to this model",
				e.spec.Provider, e.model.Name, len(v), want)
		}
		if err := prove(v, e.model.Normalized); err != nil {
			failed[i], out[i] = connector.Errorf(connector.ClassInvalid, "%s: %w", e.spec.Provider, err), nil
		}
	}
	if len(failed) > 0 {
		return out, &connector.BatchError{Items: failed}
	}
	return out, nil
}

// prove refuses what would poison a search, and brings the vector to length 1 if that is wanted and it is not.
func prove(v []float32, unit bool) error {
	square := 0.0
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	switch {
	case math.IsNaN(square) || math.IsInf(square, 0):
		return errors.New("the service gave a vector that is not finite")
	case square == 0:
		return errors.New("the service gave a zero vector")
	case unit && math.Abs(square-1) > 1e-5:
		length := math.Sqrt(square)
		for i, x := range v {
			v[i] = float32(float64(x) / length)
		}
	}
	return nil
}
