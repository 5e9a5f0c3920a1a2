package pgvector

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	vector "github.com/pgvector/pgvector-go"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
	"github.com/kbsync/kbsync/internal/sparse"
)

// isShifting says whether a metadata key changes when a neighbour or another part of the document does.
func isShifting(key string) bool {
	switch key {
	case "chunk_index", "total_chunks", "is_first_chunk", "is_last_chunk", "line_start", "line_end", "prev_id", "next_id", "modified_at":
		return true
	}
	return false
}

// check says what of a record PostgreSQL could not keep; the error is of ClassInvalid.
func check(r *connector.Record) error {
	if err := payload.CheckID(r.ChunkID); err != nil {
		return err
	}
	if err := payload.Valid(r); err != nil {
		return err
	}
	switch {
	case !utf8.ValidString(r.DocID + r.ContentHash):
		return connector.Errorf(connector.ClassInvalid, "doc_id or content_hash holds bytes that are no UTF-8")
	case payload.HasNUL(r) || strings.ContainsRune(r.DocID+r.ContentHash, 0):
		return connector.Errorf(connector.ClassInvalid, "a NUL byte, which PostgreSQL cannot store")
	case len(r.Content) > maxTextBytes || len(r.Context) > maxTextBytes || len(r.EmbedText) > maxTextBytes:
		return connector.Errorf(connector.ClassInvalid, "a text of more than %d bytes", maxTextBytes)
	case len(r.Source) > maxSourceBytes:
		return connector.Errorf(connector.ClassInvalid, "a source's name of more than %d bytes", maxSourceBytes)
	}
	return nil
}

// payloadValues are the values of the columns of the payload, in their order.
func (l *layout) payloadValues(r *connector.Record) ([]any, error) {
	var meta, exact any
	if r.Metadata != nil {
		b, err := payload.AppendJSON(nil, r.Metadata)
		if err != nil {
			return nil, connector.Errorf(connector.ClassInvalid, "metadata: %w", err)
		}
		if len(b) > maxRecordBytes {
			return nil, connector.Errorf(connector.ClassInvalid, "metadata of more than %d bytes", maxRecordBytes)
		}
		meta = string(b)
		if loses(r.Metadata) {
			exact = meta
		}
	}
	stable, shifting := terms(r)
	var embed any
	if r.EmbedText != r.Context+r.Content {
		embed = r.EmbedText
	}
	spans, err := spansJSON(r.Spans)
	if err != nil {
		return nil, err
	}
	contextSpans, err := spansJSON(r.ContextSpans)
	if err != nil {
		return nil, err
	}
	return []any{
		l.idValue(r.ChunkID), r.DocID, r.Source, r.Path, r.ParentID, r.ContentHash,
		text(r, "title"), text(r, "section"), text(r, "language"), text(r, "uri"), text(r, "pipeline"),
		number(r, "page"), number(r, "chunk_index"), number(r, "total_chunks"), int64(r.CharCount), int64(r.TokenCount),
		spans, contextSpans, r.Content, r.Context, embed, meta, exact, stable, shifting,
	}, nil
}

// vectorValues are the values of the columns after those of the payload.
func (l *layout) vectorValues(p *connector.Point) ([]any, error) {
	switch {
	case p.Vector == nil && l.words:
		return []any{nil, nil, nil}, nil
	case p.Vector == nil:
		return []any{nil}, nil
	case !l.words:
		return []any{vector.NewVector(p.Vector)}, nil
	}
	words, weights, err := document(p.EmbedText)
	return []any{vector.NewVector(p.Vector), words, weights}, err
}

func (l *layout) idValue(id string) any {
	if l.idKind != "uuid" {
		return id
	}
	u, err := connector.ParseUUID(id)
	return pgtype.UUID{Bytes: u, Valid: err == nil}
}

// terms are the filter terms, those of shifting keys apart. In order, so that equal records have equal ones.
func terms(r *connector.Record) (stable, shifting []string) {
	part := connector.Record{Metadata: map[string]any{}}
	rest := connector.Record{Metadata: map[string]any{}}
	for key, v := range r.Metadata {
		if isShifting(key) {
			rest.Metadata[key] = v
		} else {
			part.Metadata[key] = v
		}
	}
	stable, shifting = payload.Terms(&part), payload.Terms(&rest)
	slices.Sort(stable)
	slices.Sort(shifting)
	return stable, shifting
}

func text(r *connector.Record, key string) any {
	if s, ok := r.Metadata[key].(string); ok {
		return s
	}
	return nil
}

func number(r *connector.Record, key string) any {
	var n int64
	switch v := r.Metadata[key].(type) {
	case int:
		n = int64(v)
	case int64:
		n = v
	default:
		return nil
	}
	if n < math.MinInt32 || n > math.MaxInt32 {
		return nil
	}
	return int32(n)
}

// loses says whether jsonb would give a number back changed: minus zero, and whole floats that are written with an exponent.
func loses(v any) bool {
	switch v := v.(type) {
	case float64:
		return v == 0 && math.Signbit(v) || v == math.Trunc(v) && math.Abs(v) >= 1e6
	case float32:
		return loses(float64(v))
	case []any:
		return slices.ContainsFunc(v, loses)
	case map[string]any:
		for _, e := range v {
			if loses(e) {
				return true
			}
		}
	case nil, bool, string, int, int64, []string:
	default: // a type of its own, in JSON's terms
		plain, err := payload.Canonical(v)
		return err != nil || loses(plain)
	}
	return false
}

func spansJSON(spans []connector.Span) (any, error) {
	if spans == nil {
		return nil, nil
	}
	b, err := json.Marshal(spans)
	if err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "spans: %w", err)
	}
	return string(b), nil
}

// document is the words of a text as a column of numbers, ascending, and their weights. The type of the weights holds 16,000
// words; of longer texts the heaviest are kept, and the rest is found through the numbers alone.
func document(s string) (words []int32, weights vector.SparseVector, err error) {
	doc := sparse.Document(s)
	words = make([]int32, 0, len(doc.Indices))
	values := make([]float32, 0, len(doc.Values))
	for i, index := range doc.Indices { // ascending, and so are their folds
		if w, last := fold(index), len(words)-1; last >= 0 && words[last] == w {
			values[last] += doc.Values[i]
		} else {
			words, values = append(words, w), append(values, doc.Values[i])
		}
	}
	kept, of := words, values
	if len(words) > maxWeights {
		kept, of = heaviest(words, values)
	}
	b := make([]byte, 0, 12+8*len(kept))
	for _, n := range []int{sparseDimensions, len(kept), 0} {
		b = binary.BigEndian.AppendUint32(b, uint32(n)) //nolint:gosec // small
	}
	for _, w := range kept {
		b = binary.BigEndian.AppendUint32(b, uint32(w)) //nolint:gosec // not negative
	}
	for _, v := range of {
		b = binary.BigEndian.AppendUint32(b, math.Float32bits(v))
	}
	return words, weights, weights.DecodeBinary(b) // the type's other makers take a map
}

// maxWeights is how many elements a sparsevec holds.
const maxWeights = 16_000

// heaviest are the first maxWeights words by weight, in their old order.
func heaviest(words []int32, values []float32) (kept []int32, of []float32) {
	order := make([]int, len(words))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(values[b], values[a]), cmp.Compare(a, b)) })
	order = order[:maxWeights]
	slices.Sort(order)
	for _, i := range order {
		kept, of = append(kept, words[i]), append(of, values[i])
	}
	return kept, of
}

func fold(index uint32) int32 { return int32(index >> 2) } //nolint:gosec // below 2^31

// selected are the columns that a point is read from.
func (l *layout) selected(vectors bool) string {
	var b strings.Builder
	b.WriteString(l.id() + "::text")
	for _, key := range []string{"doc_id", "source", "path", "parent_id", "content_hash", "char_count", "token_count", "content", "context", "embed_text"} {
		b.WriteString(", " + quote(l.names[key]))
	}
	fmt.Fprintf(&b, ", %s::text, %s::text, coalesce(%s, %s::text)", quote(l.names["spans"]), quote(l.names["context_spans"]), colExact, quote(l.names["metadata"]))
	if vectors {
		b.WriteString(", " + l.vector())
	}
	return b.String()
}

// scan reads a row of selected, after any columns that extra takes.
func scan(rows pgx.Rows, vectors bool, extra ...any) (p connector.Point, err error) {
	var embed, spans, contextSpans, meta *string
	var v *vector.Vector
	into := append(extra, &p.ChunkID, &p.DocID, &p.Source, &p.Path, &p.ParentID, &p.ContentHash, &p.CharCount, &p.TokenCount, &p.Content, &p.Context,
		&embed, &spans, &contextSpans, &meta)
	if vectors {
		into = append(into, &v)
	}
	if err := rows.Scan(into...); err != nil {
		return p, err
	}
	p.EmbedText = p.Context + p.Content
	if embed != nil {
		p.EmbedText = *embed
	}
	if v != nil {
		p.Vector = v.Slice()
	}
	for _, s := range []struct {
		from *string
		to   *[]connector.Span
	}{{spans, &p.Spans}, {contextSpans, &p.ContextSpans}} {
		if s.from == nil {
			continue
		}
		if err := json.Unmarshal([]byte(*s.from), s.to); err != nil {
			return p, fmt.Errorf("%s: spans: %w", p.ChunkID, err)
		}
	}
	if meta == nil {
		return p, nil
	}
	plain, err := payload.DecodeJSON([]byte(*meta))
	if err != nil {
		return p, fmt.Errorf("%s: metadata: %w", p.ChunkID, err)
	}
	m, ok := plain.(map[string]any)
	if !ok {
		return p, fmt.Errorf("%s: metadata is no object", p.ChunkID)
	}
	p.Metadata = m
	return p, nil
}
