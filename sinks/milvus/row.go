package milvus

import (
	"encoding/json"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"unicode/utf8"

	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
	"github.com/kbsync/kbsync/internal/sparse"
)

// row is a point as it is stored.
type row struct {
	id         string
	vector     []float32
	searchable bool
	sparse     entity.SparseEmbedding
	text       map[string]string // by kbsync's own names: content, context and the visible fields
	number     map[string]int64
	terms      [][]byte
	rest       [][]byte
}

// rest is what stands in no field of its own.
type rest struct {
	Record json.RawMessage `json:"record"`
	// What is over the limit of the fields content and context, and the embedded text where it is not context and content.
	Content string  `json:"content,omitempty"`
	Context string  `json:"context,omitempty"`
	Embed   *string `json:"embed_text,omitempty"`
}

// encode checks a point and makes its row; errors are of ClassInvalid.
func (c *Collection) encode(p *connector.Point) (*row, error) {
	if err := payload.CheckID(p.ChunkID); err != nil {
		return nil, err
	}
	if err := payload.CheckVector(p.Vector, c.meta.Schema.Dimensions, c.meta.Schema.Distance); err != nil {
		return nil, err
	}
	for _, t := range [...]struct{ name, text string }{{"content", p.Content}, {"context", p.Context}, {"embed_text", p.EmbedText}} {
		if len(t.text) > maxText {
			return nil, connector.Errorf(connector.ClassInvalid, "%s has %d bytes, more than %d", t.name, len(t.text), maxText)
		}
	}
	r := &row{id: p.ChunkID, searchable: p.Vector != nil, vector: p.Vector, text: map[string]string{}, number: map[string]int64{}}
	if err := r.encodeRest(&p.Record); err != nil {
		return nil, err
	}
	if err := r.encodeTerms(&p.Record); err != nil {
		return nil, err
	}
	for _, f := range visible() {
		r.text[f.own] = clip(visibleValue(&p.Record, f.own), f.limit)
	}
	for _, n := range numeric() {
		r.number[n] = number(p.Metadata[n])
	}
	if !r.searchable {
		r.vector = placeholder(p.ChunkID, c.meta.Schema.Dimensions)
	}
	if c.sink.conf.Sparse != "none" {
		r.sparse = document(p)
	}
	if size := r.size(); size > maxRow {
		return nil, connector.Errorf(connector.ClassInvalid, "texts and metadata together have %d bytes, more than %d", size, maxRow)
	}
	return r, nil
}

func (r *row) encodeRest(record *connector.Record) error {
	raw, err := payload.EncodeRest(record)
	if err != nil {
		return err
	}
	if len(raw) > maxMetadata {
		return connector.Errorf(connector.ClassInvalid, "the metadata has %d bytes as JSON, more than %d", len(raw), maxMetadata)
	}
	more := rest{Record: raw}
	r.text["content"] = clip(record.Content, maxVarChar)
	more.Content = record.Content[len(r.text["content"]):]
	r.text["context"] = clip(record.Context, maxVarChar)
	more.Context = record.Context[len(r.text["context"]):]
	if record.EmbedText != record.Context+record.Content {
		more.Embed = &record.EmbedText
	}
	blob, err := json.Marshal(more)
	if err != nil {
		return connector.Errorf(connector.ClassInvalid, "record: %w", err)
	}
	for s := string(blob); s != ""; {
		piece := clip(s, maxVarChar)
		r.rest = append(r.rest, []byte(piece))
		s = s[len(piece):]
	}
	return nil
}

// encodeTerms makes the terms of metadata filters, and of those record fields of which the value cannot be quoted in an
// expression or does not fit into its field.
func (r *row) encodeTerms(record *connector.Record) error {
	for _, t := range payload.Terms(record) {
		r.terms = append(r.terms, []byte(escape(t)))
	}
	for _, f := range payload.RecordFields() {
		if value, ok := recordField(record, f); ok && !plain(f, value) {
			r.terms = append(r.terms, []byte(recordTerm(f, value)))
		}
	}
	if len(r.terms) > maxTerms {
		return connector.Errorf(connector.ClassInvalid, "the metadata holds %d values to filter by, more than %d", len(r.terms), maxTerms)
	}
	return nil
}

func (r *row) size() int {
	n := 4*len(r.vector) + 64
	for _, s := range r.text {
		n += len(s)
	}
	for _, t := range r.terms {
		n += len(t)
	}
	for _, t := range r.rest {
		n += len(t)
	}
	if r.sparse != nil {
		n += 8 * r.sparse.Len()
	}
	return n
}

// clip shortens s to at most limit bytes, between characters.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

func visibleValue(r *connector.Record, own string) string {
	if v, ok := recordField(r, own); ok {
		return v
	}
	s, _ := r.Metadata[own].(string)
	return s
}

func recordField(r *connector.Record, own string) (string, bool) {
	if at := recordFieldOf(r, own); at != nil {
		return *at, true
	}
	return "", false
}

// recordFieldOf is where a visible field stands in the record; nil for those of the metadata.
func recordFieldOf(r *connector.Record, own string) *string {
	switch own {
	case "doc_id":
		return &r.DocID
	case "source":
		return &r.Source
	case "path":
		return &r.Path
	case "parent_id":
		return &r.ParentID
	case "content_hash":
		return &r.ContentHash
	}
	return nil
}

// number is a whole number of the metadata, or -1.
func number(v any) int64 {
	switch v := v.(type) {
	case int:
		return int64(v)
	case int64:
		return v
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
	}
	return -1
}

// placeholder is the vector of a point that has none: Milvus wants one. It is of length 1 and points anywhere, since many equal
// vectors would spoil a graph index.
func placeholder(id string, dimensions int) []float32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	rng := rand.New(rand.NewPCG(h.Sum64(), 0)) //nolint:gosec // no secret
	v := make([]float32, dimensions)
	sum := 0.0
	for i := range v {
		x := rng.NormFloat64()
		v[i] = float32(x)
		sum += x * x
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
	return v
}

// noTerm is the index of an entry that no term has: Milvus wants at least one.
const noTerm = 1 << 31

// document is the sparse vector of a point; points without a vector are found by none.
func document(p *connector.Point) entity.SparseEmbedding {
	v := sparse.Vector{}
	if p.Vector != nil {
		v = sparse.Document(p.EmbedText)
	}
	if len(v.Indices) == 0 {
		v = sparse.Vector{Indices: []uint32{noTerm}, Values: []float32{1}}
	}
	e, _ := entity.NewSliceSparseEmbedding(v.Indices, v.Values) // lengths are equal
	return e
}

// columns are the rows as the SDK sends them. Every field is written each time: Milvus Lite keeps what an upsert leaves out.
func (c *Collection) columns(rows []*row) []entity.Column {
	names := c.sink.fields
	ids, vectors, flags := make([]string, len(rows)), make([][]float32, len(rows)), make([]bool, len(rows))
	terms, rests := make([][][]byte, len(rows)), make([][][]byte, len(rows))
	for i, r := range rows {
		ids[i], vectors[i], flags[i], terms[i], rests[i] = r.id, r.vector, r.searchable, r.terms, r.rest
	}
	out := []entity.Column{
		entity.NewColumnVarChar(names.of("id"), ids), entity.NewColumnFloatVector(names.of("vector"), c.meta.Schema.Dimensions, vectors),
		entity.NewColumnBool(fieldSearchable, flags), entity.NewColumnVarCharArray(fieldTerms, terms), entity.NewColumnVarCharArray(fieldRest, rests),
	}
	for _, f := range append([]textField{{"content", 0}, {"context", 0}}, visible()...) {
		values := make([]string, len(rows))
		for i, r := range rows {
			values[i] = r.text[f.own]
		}
		out = append(out, entity.NewColumnVarChar(names.of(f.own), values))
	}
	for _, n := range numeric() {
		values := make([]int64, len(rows))
		for i, r := range rows {
			values[i] = r.number[n]
		}
		out = append(out, entity.NewColumnInt64(names.of(n), values))
	}
	if c.sink.conf.Sparse != "none" {
		values := make([]entity.SparseEmbedding, len(rows))
		for i, r := range rows {
			values[i] = r.sparse
		}
		out = append(out, entity.NewColumnSparseVectors(names.of("sparse"), values))
	}
	return out
}
