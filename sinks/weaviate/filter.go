package weaviate

import (
	"slices"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
)

// Filter terms are quoted, since the tokenization `field` cuts off white space at both ends. Those of the record's own fields
// begin otherwise than those of metadata: a key of metadata may be called path too.
func recordTerm(term string) string   { return `r"` + term + `"` }
func metadataTerm(term string) string { return `m"` + term + `"` }

// filterTerms are the terms of a record.
func filterTerms(r *connector.Record) []string {
	terms := payload.Terms(r)
	for i := range terms {
		terms[i] = metadataTerm(terms[i])
	}
	for _, f := range [...][2]string{{"source", r.Source}, {"path", r.Path}, {"doc_id", r.DocID}, {"parent_id", r.ParentID}, {"content_hash", r.ContentHash}} {
		for _, t := range payload.ConditionTerms(connector.Condition{Field: f[0], Values: []any{f[1]}}) {
			terms = append(terms, recordTerm(t))
		}
	}
	return terms
}

// searchFilter translates a filter; none says that no point can match. An empty one gives nil.
func searchFilter(names map[string]string, f connector.Filter) (out *pb.Filters, none bool) {
	var all []*pb.Filters
	for _, cond := range f {
		one := conditionFilter(names, cond)
		if one == nil {
			return nil, true
		}
		all = append(all, one)
	}
	switch len(all) {
	case 0:
		return nil, false
	case 1:
		return all[0], false
	}
	return &pb.Filters{Operator: pb.Filters_OPERATOR_AND, Filters: all}, false
}

// conditionFilter is nil for a condition that nothing meets.
func conditionFilter(names map[string]string, cond connector.Condition) *pb.Filters {
	if cond.Field == "chunk_id" {
		var ids []string
		for _, v := range cond.Values {
			if id, ok := v.(string); ok && checkID(id) == nil {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			return nil
		}
		return idFilter(ids)
	}
	spell := metadataTerm
	if slices.Contains(payload.RecordFields(), cond.Field) {
		spell = recordTerm
	}
	terms := payload.ConditionTerms(cond)
	if len(terms) == 0 {
		return nil
	}
	for i := range terms {
		terms[i] = spell(terms[i])
	}
	return anyFilter(names[fieldTerms], terms)
}

func anyFilter(property string, values []string) *pb.Filters {
	return &pb.Filters{
		Operator:  pb.Filters_OPERATOR_CONTAINS_ANY,
		Target:    &pb.FilterTarget{Target: &pb.FilterTarget_Property{Property: property}},
		TestValue: &pb.Filters_ValueTextArray{ValueTextArray: &pb.TextArray{Values: values}},
	}
}

func idFilter(ids []string) *pb.Filters { return anyFilter("_id", ids) }

func boolFilter(property string) *pb.Filters {
	return &pb.Filters{
		Operator:  pb.Filters_OPERATOR_EQUAL,
		Target:    &pb.FilterTarget{Target: &pb.FilterTarget_Property{Property: property}},
		TestValue: &pb.Filters_ValueBoolean{ValueBoolean: true},
	}
}
