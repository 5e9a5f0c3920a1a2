package chroma

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
)

// Keys of an item's metadata that are kbsync's own, beside those of [Config.names].
const (
	restKey      = "kbsync"            // what payload.EncodeRest writes
	termsKey     = "kbsync_terms"      // filter terms of what has no key of its own
	storeOnlyKey = "kbsync_store_only" // the vector is a stand-in
)

// maxKeys bounds an item's metadata keys, and its terms: a list of 6,000 makes Chroma 1.5.9 fail for good, for every later
// request to the collection, since it lies in its log already.
const maxKeys = 2000

// names are the keys of record fields; the text is the document. LangChain and LlamaIndex need no others.
func (c *Config) names() (map[string]string, error) {
	own := map[string]string{}
	for _, f := range []string{"source", "path", "doc_id", "parent_id", "content_hash", "context", "embed_text"} {
		own[f] = f
	}
	names, err := c.Fields.Resolve(own, map[string]map[string]string{"langchain": {}, "llamaindex": {}})
	if err != nil {
		return nil, fmt.Errorf("chroma: %w", err)
	}
	for _, name := range names {
		if !freeKey(name) {
			return nil, fmt.Errorf("chroma: fields: %q is no name for a key: it must not begin with #, $, chroma: or kbsync", name)
		}
	}
	return names, nil
}

// keyRule: Chroma refuses empty keys and those that begin with # or $.
var keyRule = regexp.MustCompile(`(?s)^[^#$]`)

// freeKey says whether a key may hold what anybody likes. Chroma hides its own keys, and chroma:document without a document
// makes 1.5.9 fail for every collection until it is restarted.
func freeKey(key string) bool {
	return keyRule.MatchString(key) && !strings.HasPrefix(key, "chroma:") && !strings.HasPrefix(key, restKey)
}

// fields are the names of record fields in an item's metadata.
type fields struct {
	names map[string]string
	taken map[string]bool
}

func newFields(names map[string]string) fields {
	f := fields{names, map[string]bool{}}
	for _, name := range names {
		f.taken[name] = true
	}
	return f
}

// mapping is the table of the documentation.
func (f fields) mapping() *connector.Mapping {
	return &connector.Mapping{
		Values: map[connector.ValueKind]connector.Treatment{
			connector.ValueNull: connector.TreatKept, connector.ValueList: connector.TreatKept, connector.ValueMixed: connector.TreatKept, connector.ValueNested: connector.TreatKept,
		},
		Name: keyRule, Reserved: []string{"chroma:document", restKey, termsKey, storeOnlyKey}, Names: connector.TreatKept,
		Notes: []string{
			"Ids are the chunk ids. The text is the document.",
			fmt.Sprintf("A chunk has at most %d metadata keys, and %d values in lists.", maxKeys, maxKeys),
			"What is kept stands in the key kbsync as JSON, and is filtered through kbsync_terms; metadata under the name of a record field is kept too.",
			"Store-only chunks have a stand-in vector and kbsync_store_only: true; exclude that in queries of your own.",
			fmt.Sprintf("A request holds at most %d records and %d MiB.", maxRecords, maxRequest>>20),
		},
	}
}

// item is a record as Chroma holds it.
type item struct {
	id        string
	document  *string
	metadata  map[string]any
	embedding string // base64; empty if the vector is left alone
	vector    []float32
}

// encode writes a record; every key that this sink may write to it stands in metadata, save what it leaves out.
func (f fields) encode(r *connector.Record) (item, error) {
	rest, err := payload.EncodeRest(r)
	if err == nil {
		err = payload.CheckID(r.ChunkID)
	}
	if err != nil {
		return item{}, fmt.Errorf("chroma: %s: %w", r.ChunkID, err)
	}
	m := map[string]any{
		f.names["source"]: r.Source, f.names["path"]: r.Path, f.names["doc_id"]: r.DocID, f.names["parent_id"]: r.ParentID,
		f.names["content_hash"]: r.ContentHash, f.names["context"]: r.Context, restKey: string(rest),
	}
	if r.EmbedText != r.Context+r.Content {
		m[f.names["embed_text"]] = r.EmbedText
	}
	kept := connector.Record{Metadata: map[string]any{}}
	for key, value := range r.Metadata {
		if v, ok := native(value); ok && f.visible(key) {
			m[key] = v
		} else {
			kept.Metadata[key] = value
		}
	}
	terms := payload.Terms(&kept)
	if len(terms) > 0 {
		m[termsKey] = terms
	}
	if len(m) > maxKeys || len(terms) > maxKeys {
		return item{}, connector.Errorf(connector.ClassInvalid, "chroma: %s: %d metadata keys and %d values in lists: this sink takes %d", r.ChunkID, len(r.Metadata), len(terms), maxKeys)
	}
	return item{id: r.ChunkID, document: &r.Content, metadata: m}, nil
}

// visible says whether a metadata key has a key of its own.
func (f fields) visible(key string) bool { return !f.taken[key] && freeKey(key) }

// native is a value as a key of its own holds it: numbers that are equal are spelled alike.
func native(v any) (any, bool) {
	switch v := v.(type) {
	case bool, string, int, int64:
		return v, true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<62 {
			return int64(v), true
		}
		return v, true
	case nil, []any, []string, map[string]any:
		return nil, false
	}
	plain, err := payload.Canonical(v)
	if err != nil {
		return nil, false
	}
	return native(plain)
}

// decode reads what encode wrote; texts and origin from the fields that everybody sees, so that a change made there shows.
func (f fields) decode(it item) (connector.Point, error) {
	p := connector.Point{Record: connector.Record{ChunkID: it.id}, Vector: it.vector}
	rest, _ := it.metadata[restKey].(string)
	if rest == "" {
		return p, connector.Errorf(connector.ClassConflict, "item %s was not written by kbsync: it has no key %s", it.id, restKey)
	}
	if err := payload.DecodeRest([]byte(rest), &p.Record); err != nil {
		return p, fmt.Errorf("item %s: %w", it.id, err)
	}
	text := func(field string) string {
		s, _ := it.metadata[f.names[field]].(string)
		return s
	}
	if it.document != nil {
		p.Content = *it.document
	}
	p.Context, p.Source, p.Path, p.DocID = text("context"), text("source"), text("path"), text("doc_id")
	p.EmbedText = p.Context + p.Content
	if s, ok := it.metadata[f.names["embed_text"]].(string); ok {
		p.EmbedText = s
	}
	if it.metadata[storeOnlyKey] == true {
		p.Vector = nil
	}
	return p, nil
}

// where is a filter as Chroma takes it, without conditions on ids, which come apart: nil ids are all of them. ok is false if
// nothing can match.
func (f fields) where(filter connector.Filter) (where map[string]any, ids []string, ok bool) {
	var all []any
	for _, c := range filter {
		var either []any
		switch name, own := f.names[c.Field], slices.Contains(payload.RecordFields(), c.Field); {
		case c.Field == "chunk_id":
			texts := scalars(c.Values)
			if ids != nil {
				texts = slices.DeleteFunc(texts, func(id string) bool { return !slices.Contains(ids, id) })
			}
			if ids = texts; len(ids) == 0 {
				return nil, nil, false
			}
			continue
		case own:
			if texts := scalars(c.Values); len(texts) > 0 {
				either = append(either, map[string]any{name: map[string]any{"$in": texts}})
			}
		default:
			either = f.conditions(c)
		}
		if len(either) == 0 {
			return nil, nil, false
		}
		all = append(all, map[string]any{"$or": either})
	}
	if len(all) > 0 {
		where = map[string]any{"$and": all}
	}
	return where, ids, true
}

// conditions look for a metadata value in its own key, and among the terms.
func (f fields) conditions(c connector.Condition) []any {
	var out []any
	for _, v := range c.Values {
		if v, ok := native(v); ok && f.visible(c.Field) {
			out = append(out, map[string]any{c.Field: map[string]any{"$eq": v}})
		}
	}
	for _, t := range payload.ConditionTerms(c) {
		out = append(out, map[string]any{termsKey: map[string]any{"$contains": t}})
	}
	return out
}

// scalars are the strings among values; a field of the record equals nothing else.
func scalars(values []any) []string {
	out := []string{}
	for _, v := range values {
		if s, ok := v.(string); ok {
			out = append(out, strings.ToValidUTF8(s, "\uFFFD"))
		}
	}
	return out
}

// encodeVector is base64 of little-endian float32, which the server takes in place of numbers.
func encodeVector(v []float32) string {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// standIn is the vector of a store-only point, since Chroma demands one: a direction of its own for each, far from what
// embedders give; many equal ones would spoil the index.
func standIn(id string, dimensions int) []float32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	rng := rand.New(rand.NewPCG(h.Sum64(), 1)) //nolint:gosec // nothing is secret
	v := make([]float32, dimensions)
	sum := 0.0
	for i := range v {
		x := rng.NormFloat64()
		v[i] = float32(x)
		sum += x * x
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}
