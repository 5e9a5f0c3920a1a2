package qdrant

import (
	"unicode/utf8"

	pb "github.com/qdrant/go-client/qdrant"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
	"github.com/kbsync/kbsync/internal/sparse"
)

// sized is a point on its way, with an estimate from above of the bytes that it takes in a request.
type sized struct {
	*pb.PointStruct
	size int
}

// encode makes the point that stores p. Errors are of ClassInvalid.
func (c *Collection) encode(p *connector.Point) (sized, error) {
	if err := payload.CheckVector(p.Vector, c.schema.Dimensions, c.schema.Distance); err != nil {
		return sized{}, err // the server takes NaN, and ranks it first
	}
	fields, size, err := c.sink.layout.fields(&p.Record)
	if err != nil {
		return sized{}, err
	}
	vectors, terms := c.sink.layout.pointVectors(p)
	size += 128 + 4*len(p.Vector) + 9*terms
	return sized{&pb.PointStruct{Id: pb.NewIDUUID(p.ChunkID), Payload: fields, Vectors: vectors}, size}, nil
}

// pointVectors are the vectors of a point, and how many terms the sparse one has: none for a store-only one, which no search may
// find.
func (l *layout) pointVectors(p *connector.Point) (all *pb.Vectors, terms int) {
	vectors := make(map[string]*pb.Vector, 2)
	if p.Vector != nil {
		vectors[l.denseName] = pb.NewVectorDense(p.Vector)
		if l.sparse {
			if v := sparse.Document(p.EmbedText); len(v.Indices) > 0 {
				vectors[l.sparseName], terms = pb.NewVectorSparse(v.Indices, v.Values), len(v.Indices)
			}
		}
	}
	return pb.NewVectorsMap(vectors), terms
}

// fields is the payload of a record, with an estimate from above of its size in a request.
func (l *layout) fields(r *connector.Record) (out map[string]*pb.Value, size int, err error) {
	if err := check(r); err != nil {
		return nil, 0, err
	}
	var e encoder
	out = make(map[string]*pb.Value, 16)
	if err := l.putMetadata(&e, out, r.Metadata); err != nil {
		if better := payload.Valid(r); better != nil { // it names the place
			err = better
		}
		return nil, 0, err
	}
	for _, f := range [...][2]string{
		{l.content, r.Content}, {l.docID, r.DocID}, {l.source, r.Source}, {l.path, r.Path}, {l.parentID, r.ParentID}, {l.contentHash, r.ContentHash},
	} {
		out[f[0]] = e.text(f[1])
	}
	if r.Context != "" {
		out[l.context] = e.text(r.Context)
	}
	if r.EmbedText != r.Context+r.Content { // it says nothing else nearly always
		out[l.embedText] = e.text(r.EmbedText)
	}
	if r.Spans != nil { // an empty list is another one than none
		out[l.spans] = spansValue(r.Spans)
	}
	if r.ContextSpans != nil {
		out[l.contextSpans] = spansValue(r.ContextSpans)
	}
	out[l.charCount], out[l.tokenCount] = pb.NewValueInt(int64(r.CharCount)), pb.NewValueInt(int64(r.TokenCount))
	out[l.terms] = e.hashes(payload.Terms(r))
	return out, e.size + 2*perValue*(len(out)+len(r.Spans)+len(r.ContextSpans)), nil
}

// check finds what the protocol cannot carry, but for metadata.
func check(r *connector.Record) error {
	if err := payload.CheckID(r.ChunkID); err != nil {
		return err
	}
	for _, s := range [...]string{r.Content, r.Context, r.EmbedText, r.DocID, r.Source, r.Path, r.ParentID, r.ContentHash} {
		if !utf8.ValidString(s) {
			if err := payload.Valid(r); err != nil { // it names the field
				return err
			}
			return connector.Errorf(connector.ClassInvalid, "an id or hash holds bytes that are no UTF-8: %.40q", s)
		}
	}
	return nil
}

// putMetadata stores metadata as an object, and as exact JSON beside it where numbers might come back rounded.
func (l *layout) putMetadata(e *encoder, out map[string]*pb.Value, metadata map[string]any) error {
	if metadata == nil {
		return nil
	}
	object, err := e.value(metadata)
	if err != nil {
		return err
	}
	if l.flat {
		for k, v := range object.GetStructValue().GetFields() {
			out[k] = v // the record's own fields are written after this and win
		}
		e.size *= 2
	}
	out[l.metadata] = object
	if !e.rounded {
		return nil
	}
	raw, err := payload.AppendJSON(nil, metadata)
	if err != nil {
		return connector.Errorf(connector.ClassInvalid, "metadata: %w", err)
	}
	out[l.exact] = e.text(string(raw))
	return nil
}

func spansValue(spans []connector.Span) *pb.Value {
	out := make([]*pb.Value, len(spans))
	for i, s := range spans {
		out[i] = pb.NewValueFromList(pb.NewValueInt(int64(s.Start)), pb.NewValueInt(int64(s.End)))
	}
	return pb.NewValueFromList(out...)
}

// record reads a payload back. What somebody else changed or removed is empty or changed here too, for verify to find.
func (l *layout) record(id string, fields map[string]*pb.Value) connector.Record {
	text := func(name string) string { return fields[name].GetStringValue() }
	r := connector.Record{
		ChunkID: id, DocID: text(l.docID), Source: text(l.source), Path: text(l.path), ParentID: text(l.parentID), ContentHash: text(l.contentHash),
		Content: text(l.content), Context: text(l.context), Spans: spansOf(fields[l.spans]), ContextSpans: spansOf(fields[l.contextSpans]),
		CharCount: int(fields[l.charCount].GetIntegerValue()), TokenCount: int(fields[l.tokenCount].GetIntegerValue()),
	}
	r.EmbedText = r.Context + r.Content
	if v, ok := fields[l.embedText]; ok {
		r.EmbedText = v.GetStringValue()
	}
	if v, ok := fields[l.metadata]; ok {
		r.Metadata, _ = plain(v).(map[string]any)
	}
	if v, ok := fields[l.exact]; ok {
		if exact, err := payload.DecodeJSON([]byte(v.GetStringValue())); err == nil {
			r.Metadata, _ = exact.(map[string]any)
		}
	}
	return r
}

func spansOf(v *pb.Value) []connector.Span {
	if v.GetListValue() == nil {
		return nil
	}
	out := make([]connector.Span, 0, len(v.GetListValue().GetValues()))
	for _, pair := range v.GetListValue().GetValues() {
		if ends := pair.GetListValue().GetValues(); len(ends) == 2 {
			out = append(out, connector.Span{Start: int(ends[0].GetIntegerValue()), End: int(ends[1].GetIntegerValue())})
		}
	}
	return out
}

// denseOf is the dense vector of that name in an answer; nil if the point has none.
func denseOf(v *pb.VectorsOutput, name string) []float32 {
	if name == "" && v.GetVector() != nil {
		return denseData(v.GetVector())
	}
	return denseData(v.GetVectors().GetVectors()[name])
}

func denseData(v *pb.VectorOutput) []float32 {
	if d := v.GetDense(); d != nil {
		return d.GetData()
	}
	if v.GetSparse() != nil || v.GetMultiDense() != nil || v.GetIndices() != nil { //nolint:staticcheck // servers before 1.16 fill the old fields alone
		return nil
	}
	return v.GetData() //nolint:staticcheck // as above
}
