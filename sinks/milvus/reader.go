package milvus

import (
	"encoding/json"

	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
)

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
	for own, seen := range map[string]string{"doc_id": r.docID[i], "source": r.src[i], "path": r.paths[i]} {
		if at := recordFieldOf(&p.Record, own); clip(*at, limitOf(own)) != seen {
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
