package qdrant

import (
	"slices"
	"unicode/utf8"

	pb "github.com/qdrant/go-client/qdrant"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
)

// filter translates conditions; ok is false if no point can meet them. Every field in it has an index. It is nil for no
// conditions, never an empty filter.
func (l *layout) filter(f connector.Filter) (filter *pb.Filter, ok bool) {
	var must []*pb.Condition
	for _, c := range f {
		condition := l.condition(c)
		if condition == nil {
			return nil, false
		}
		must = append(must, condition)
	}
	if len(must) == 0 {
		return nil, true
	}
	return &pb.Filter{Must: must}, true
}

// condition is nil for a condition that no point meets.
func (l *layout) condition(c connector.Condition) *pb.Condition {
	if !slices.Contains(payload.RecordFields(), c.Field) {
		var hashes []int64
		for _, t := range payload.ConditionTerms(c) {
			hashes = append(hashes, payload.TermHash(t))
		}
		if len(hashes) == 0 {
			return nil
		}
		return pb.NewMatchInts(l.terms, hashes...)
	}
	var keywords []string
	for _, v := range c.Values {
		if s, ok := v.(string); ok {
			keywords = append(keywords, s)
		}
	}
	if c.Field == "chunk_id" {
		if ids := stored(keywords); len(ids) > 0 {
			return pb.NewHasID(ids...)
		}
		return nil
	}
	keywords = slices.DeleteFunc(keywords, func(s string) bool { return !utf8.ValidString(s) }) // nothing stored equals them
	if len(keywords) == 0 {
		return nil
	}
	return pb.NewMatchKeywords(l.names[c.Field], keywords...)
}
