package payload

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// Rest is what a record holds beside its texts, as databases keep it in one field that nobody looks into. Content, Context
// and EmbedText stand in fields of their own, which people and other programs read.
type Rest struct {
	ParentID     string           `json:"parent_id,omitempty"`
	Spans        []connector.Span `json:"spans"`
	ContextSpans []connector.Span `json:"context_spans"`
	CharCount    int              `json:"char_count,omitempty"`
	TokenCount   int              `json:"token_count,omitempty"`
	ContentHash  string           `json:"content_hash,omitempty"`
	DocID        string           `json:"doc_id,omitempty"`
	Source       string           `json:"source,omitempty"`
	Path         string           `json:"path,omitempty"`
	Metadata     json.RawMessage  `json:"metadata"`
}

// EncodeRest writes all of r but its id and texts. Text that is no UTF-8, NaN and infinity are errors of ClassInvalid.
func EncodeRest(r *connector.Record) ([]byte, error) {
	if err := Valid(r); err != nil {
		return nil, err
	}
	meta := []byte("null")
	if r.Metadata != nil {
		var err error
		if meta, err = AppendJSON(nil, r.Metadata); err != nil {
			return nil, connector.Errorf(connector.ClassInvalid, "metadata: %w", err)
		}
	}
	b, err := json.Marshal(Rest{
		ParentID: r.ParentID, Spans: r.Spans, ContextSpans: r.ContextSpans, CharCount: r.CharCount, TokenCount: r.TokenCount,
		ContentHash: r.ContentHash, DocID: r.DocID, Source: r.Source, Path: r.Path, Metadata: meta,
	})
	if err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "record: %w", err)
	}
	return b, nil
}

// DecodeRest fills r with what EncodeRest wrote; id and texts are left alone. Numbers come back as int64 and float64.
func DecodeRest(b []byte, r *connector.Record) error {
	var rest Rest
	if err := json.Unmarshal(b, &rest); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	r.ParentID, r.Spans, r.ContextSpans = rest.ParentID, rest.Spans, rest.ContextSpans
	r.CharCount, r.TokenCount, r.ContentHash = rest.CharCount, rest.TokenCount, rest.ContentHash
	r.DocID, r.Source, r.Path, r.Metadata = rest.DocID, rest.Source, rest.Path, nil
	if len(rest.Metadata) == 0 || string(rest.Metadata) == "null" {
		return nil
	}
	v, err := DecodeJSON(rest.Metadata)
	if err != nil {
		return fmt.Errorf("record: metadata: %w", err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("record: metadata is a %T", v)
	}
	r.Metadata = m
	return nil
}

// Canonical copies a metadata value with the types that JSON has: nil, bool, string, int64, float64, []any and map[string]any.
func Canonical(v any) (any, error) {
	b, err := AppendJSON(nil, v)
	if err != nil {
		return nil, err
	}
	return DecodeJSON(b)
}

// Valid says whether a record holds valid UTF-8 throughout, as every protocol demands; the error is of ClassInvalid.
func Valid(r *connector.Record) error {
	for _, f := range [...][2]string{{"content", r.Content}, {"context", r.Context}, {"embed_text", r.EmbedText}, {"source", r.Source}, {"path", r.Path}, {"parent_id", r.ParentID}} {
		if !utf8.ValidString(f[1]) {
			return connector.Errorf(connector.ClassInvalid, "%s holds bytes that are no UTF-8: %.40q", f[0], f[1])
		}
	}
	return validValue("metadata", r.Metadata)
}

func validValue(at string, v any) error {
	switch v := v.(type) {
	case string:
		if !utf8.ValidString(v) {
			return connector.Errorf(connector.ClassInvalid, "%s holds bytes that are no UTF-8: %.40q", at, v)
		}
	case []string:
		for _, s := range v {
			if err := validValue(at, s); err != nil {
				return err
			}
		}
	case []any:
		for _, e := range v {
			if err := validValue(at, e); err != nil {
				return err
			}
		}
	case map[string]any:
		for k, e := range v {
			if !utf8.ValidString(k) {
				return connector.Errorf(connector.ClassInvalid, "%s has a key that is no UTF-8: %.40q", at, k)
			}
			if err := validValue(at+"."+k, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// HasNUL says whether any string of the record holds a NUL byte, which some databases cannot store.
func HasNUL(r *connector.Record) bool {
	for _, s := range [...]string{r.Content, r.Context, r.EmbedText, r.Source, r.Path, r.ParentID} {
		if strings.IndexByte(s, 0) >= 0 {
			return true
		}
	}
	return nulIn(r.Metadata)
}

func nulIn(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.IndexByte(v, 0) >= 0
	case []string:
		for _, s := range v {
			if nulIn(s) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if nulIn(e) {
				return true
			}
		}
	case map[string]any:
		for k, e := range v {
			if nulIn(k) || nulIn(e) {
				return true
			}
		}
	}
	return false
}

// CheckVector checks what no sink may store: another length, NaN, infinity, and under cosine a vector without direction. A nil
// vector is none at all, and fine. The error is of ClassInvalid.
func CheckVector(v []float32, dimensions int, distance string) error {
	if v == nil {
		return nil
	}
	if len(v) != dimensions {
		return connector.Errorf(connector.ClassInvalid, "the vector has %d dimensions, want %d", len(v), dimensions)
	}
	zero := true
	for _, x := range v {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return connector.Errorf(connector.ClassInvalid, "the vector holds %v", x)
		}
		zero = zero && x == 0
	}
	if zero && (distance == "" || distance == "cosine") {
		return connector.Errorf(connector.ClassInvalid, "a zero vector has no direction")
	}
	return nil
}

// CheckID checks that an id is a UUID in its canonical form, which every database gives back as it was.
func CheckID(id string) error {
	if u, err := connector.ParseUUID(id); err != nil || u.String() != id {
		return connector.Errorf(connector.ClassInvalid, "chunk id %q is not a UUID in lower case", id)
	}
	return nil
}

// maxTerm bounds a filter term in bytes; longer ones are replaced by their hash.
const maxTerm = 160

// Terms are the filter terms of a record: `key=value` with the value as JSON, for every scalar of its metadata at the top
// level and every scalar of a list there. A database that can look for a string among a list of strings can answer every
// [connector.Condition] exactly with them, whatever the names and types. Numbers are spelled so that equal ones are equal (17
// and 17.0 are). Fields of the record (source, path, doc_id, parent_id, content_hash) are not among them.
func Terms(r *connector.Record) []string {
	out := make([]string, 0, len(r.Metadata))
	seen := map[string]bool{}
	add := func(key string, v any) {
		if t, ok := term(key, v); ok && !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	for key, v := range r.Metadata {
		if recordField(key) {
			continue
		}
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				add(key, e)
			}
		case []string:
			for _, e := range v {
				add(key, e)
			}
		default:
			add(key, v)
		}
	}
	return out
}

// ConditionTerms are the terms of which a point that meets the condition has at least one; none means that no point meets it.
func ConditionTerms(c connector.Condition) []string {
	out := make([]string, 0, len(c.Values))
	for _, v := range c.Values {
		if t, ok := term(c.Field, v); ok {
			out = append(out, t)
		}
	}
	return out
}

// TermHash is a term as a number, where lists of numbers cost less than lists of strings: the first 63 bits of its SHA-256.
func TermHash(term string) int64 {
	sum := sha256.Sum256([]byte(term))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 1) //nolint:gosec // 63 bits fit
}

// recordField says whether a condition on key means a field of the record.
func recordField(key string) bool {
	switch key {
	case "source", "path", "doc_id", "chunk_id", "parent_id", "content_hash":
		return true
	}
	return false
}

// RecordFields are the fields of a [connector.Condition] that stand in the record itself and not in its metadata.
func RecordFields() []string {
	return []string{"source", "path", "doc_id", "chunk_id", "parent_id", "content_hash"}
}

// term spells a scalar; ok is false for objects and lists.
func term(key string, v any) (string, bool) {
	var spelt string
	switch v := v.(type) {
	case nil:
		spelt = "null"
	case bool:
		spelt = strconv.FormatBool(v)
	case string:
		spelt = `"` + v
	case int:
		spelt = strconv.FormatInt(int64(v), 10)
	case int64:
		spelt = strconv.FormatInt(v, 10)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<62 {
			spelt = strconv.FormatInt(int64(v), 10)
		} else {
			spelt = strconv.FormatFloat(v, 'g', -1, 64)
		}
	case map[string]any, []any, []string:
		return "", false
	default: // another Go type, such as int32 or a named string
		plain, err := Canonical(v)
		if err != nil {
			return "", false
		}
		return term(key, plain)
	}
	t := key + "=" + spelt
	if len(t) > maxTerm {
		sum := sha256.Sum256([]byte(t))
		t = "#" + hex.EncodeToString(sum[:16])
	}
	return t, true
}
