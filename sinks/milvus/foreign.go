package milvus

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
)

// Foreign implements [connector.Importer]. It yields by ascending id; the first field of dense vectors gives the vector.
func (s *Sink) Foreign(ctx context.Context, collection string) iter.Seq2[connector.Foreign, error] {
	return func(yield func(connector.Foreign, error) bool) {
		if err := s.foreign(ctx, collection, yield); err != nil {
			yield(connector.Foreign{}, fmt.Errorf("milvus: read %s: %w", collection, err))
		}
	}
}

func (s *Sink) foreign(ctx context.Context, collection string, yield func(connector.Foreign, error) bool) error {
	srv, err := s.link.connect(ctx)
	if err != nil {
		return err
	}
	d, err := srv.described(ctx, collection)
	if err != nil {
		return err
	}
	if d == nil {
		return connector.Errorf(connector.ClassNotFound, "there is no collection or alias of that name")
	}
	id, vector, output := d.Schema.PKFieldName(), "", []string{}
	for _, f := range d.Schema.Fields {
		switch f.DataType {
		case entity.FieldTypeFloatVector:
			if vector == "" {
				vector = f.Name
				output = append(output, f.Name)
			}
		case entity.FieldTypeBinaryVector, entity.FieldTypeFloat16Vector, entity.FieldTypeBFloat16Vector, entity.FieldTypeSparseVector:
		default:
			output = append(output, f.Name)
		}
	}
	if d.Schema.EnableDynamicField {
		output = append(output, "$meta")
	}
	if err := srv.load(ctx, d.Name); err != nil {
		return err
	}
	c := &Collection{sink: s, server: srv, name: d.Name}
	for page, err := range c.pages(ctx, "", output, scanPage/2) {
		if err != nil {
			return err
		}
		for i := range page.Len() {
			item, err := foreignItem(page, i, id, vector)
			if err != nil {
				return err
			}
			if !yield(item, nil) {
				return nil
			}
		}
	}
	return nil
}

// foreignItem is one row; the fields of a dynamic schema stand beside the declared ones.
func foreignItem(page client.ResultSet, row int, id, vector string) (connector.Foreign, error) {
	item := connector.Foreign{Fields: map[string]any{}}
	for _, col := range page {
		value, err := col.Get(row)
		if err != nil {
			return item, fmt.Errorf("field %s: %w", col.Name(), err)
		}
		if col.Name() == vector {
			v, _ := value.(entity.FloatVector)
			if raw, ok := value.([]float32); ok {
				v = raw
			}
			item.Vector = v
			continue
		}
		plain, err := foreignValue(value)
		if err != nil {
			return item, fmt.Errorf("field %s: %w", col.Name(), err)
		}
		if dynamic, ok := plain.(map[string]any); ok && (col.Name() == "$meta" || col.Name() == "") {
			for k, v := range dynamic {
				item.Fields[k] = v
			}
			continue
		}
		if col.Name() == id {
			item.ID = fmt.Sprint(plain)
		}
		item.Fields[col.Name()] = plain
	}
	return item, nil
}

// foreignValue brings a value of the SDK to the types that JSON has.
func foreignValue(v any) (any, error) {
	switch v := v.(type) {
	case []byte: // a JSON field
		if len(v) == 0 {
			return nil, nil
		}
		return payload.DecodeJSON(v)
	case [][]byte: // an array of strings
		out := make([]any, len(v))
		for i := range v {
			out[i] = string(v[i])
		}
		return out, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return payload.DecodeJSON(raw)
}
