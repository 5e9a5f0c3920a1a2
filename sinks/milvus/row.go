package milvus

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
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
	switch own {
	case "doc_id":
		return r.DocID, true
	case "source":
		return r.Source, true
	case "path":
		return r.Path, true
	case "parent_id":
		return r.ParentID, true
	case "content_hash":
		return r.ContentHash, true
	}
	return "", false
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

// output are the fields from which points are read.
func (c *Collection) output(vectors bool) []string {
	names := c.sink.fields
	out := []string{names.of("id"), names.of("content"), names.of("context"), names.of("doc_id"), names.of("source"), names.of("path"), fieldRest, fieldSearchable}
	if vectors {
		out = append(out, names.of("vector"))
	}
	return out
}

// reader reads points out of columns.
type reader struct {
	names                               fields
	ids                                 []string
	content, context, docID, src, paths []string
	rests                               [][][]byte
	searchable                          []bool
	vectors                             [][]float32 // nil if they were not asked for
}

// newReader takes the columns of an answer; a missing one, or one of another type, is an error.
func (c *Collection) newReader(columns []entity.Column, ids entity.Column, vectors bool) (*reader, error) {
	r := &reader{names: c.sink.fields}
	byName := map[string]entity.Column{}
	for _, col := range columns {
		byName[col.Name()] = col
	}
	if ids == nil {
		ids = byName[r.names.of("id")]
	}
	var err error
	text := func(col entity.Column, name string) []string {
		v, ok := col.(*entity.ColumnVarChar)
		if !ok {
			err = connector.Errorf(connector.ClassConflict, "the field %s is missing in the answer, or a %T", name, col)
			return nil
		}
		return v.Data()
	}
	r.ids = text(ids, "id")
	for own, at := range map[string]*[]string{"content": &r.content, "context": &r.context, "doc_id": &r.docID, "source": &r.src, "path": &r.paths} {
		*at = text(byName[r.names.of(own)], own)
	}
	rests, okRest := byName[fieldRest].(*entity.ColumnVarCharArray)
	flags, okFlags := byName[fieldSearchable].(*entity.ColumnBool)
	if !okRest || !okFlags {
		return nil, connector.Errorf(connector.ClassConflict, "the field %s or %s is missing in the answer", fieldRest, fieldSearchable)
	}
	r.rests, r.searchable = rests.Data(), flags.Data()
	if vectors {
		v, ok := byName[r.names.of("vector")].(*entity.ColumnFloatVector)
		if !ok {
			return nil, connector.Errorf(connector.ClassConflict, "the vectors are missing in the answer")
		}
		r.vectors = v.Data()
	}
	return r, err
}

// point is the i-th point. What stands in a field that others may change is taken from there.
func (r *reader) point(i int) (connector.Point, error) {
	p := connector.Point{Record: connector.Record{ChunkID: r.ids[i]}}
	var blob []byte
	for _, piece := range r.rests[i] {
		blob = append(blob, piece...)
	}
	var more rest
	err := json.Unmarshal(blob, &more)
	if err == nil {
		err = payload.DecodeRest(more.Record, &p.Record)
	}
	if err != nil {
		return p, connector.Errorf(connector.ClassConflict, "%s of %s is not what kbsync wrote: %w", fieldRest, r.ids[i], err)
	}
	p.Content, p.Context = r.content[i]+more.Content, r.context[i]+more.Context
	p.EmbedText = p.Context + p.Content
	if more.Embed != nil {
		p.EmbedText = *more.Embed
	}
	for _, f := range visible() {
		seen, at := "", &p.DocID
		switch f.own {
		case "doc_id":
			seen = r.docID[i]
		case "source":
			seen, at = r.src[i], &p.Source
		case "path":
			seen, at = r.paths[i], &p.Path
		default:
			continue
		}
		if clip(*at, f.limit) != seen {
			*at = seen
		}
	}
	if r.vectors != nil && r.searchable[i] {
		p.Vector = r.vectors[i]
	}
	return p, nil
}

func (r *reader) points() ([]connector.Point, error) {
	out := make([]connector.Point, 0, len(r.ids))
	for i := range r.ids {
		p, err := r.point(i)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// escape spells a filter term without the characters that mean something in an expression, and without the "@" with which the
// terms of record fields start.
func escape(term string) string {
	term = strings.ToValidUTF8(term, "\ufffd")
	if strings.IndexFunc(term, hostile) < 0 && !strings.ContainsAny(term, "%@") {
		return term
	}
	var b strings.Builder
	for _, r := range term {
		if hostile(r) || r == '%' || r == '@' {
			fmt.Fprintf(&b, "%%%02x", r) // all of them are ASCII
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func hostile(r rune) bool { return r < ' ' || r == 0x7f || r == '"' || r == '\'' || r == '\\' }
