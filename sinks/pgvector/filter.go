package pgvector

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
)

// where writes a filter as a condition, with its values as parameters after those that args holds.
func (l *layout) where(filter connector.Filter, args []any) (string, []any) {
	var b strings.Builder
	for _, c := range filter {
		b.WriteString(" AND ")
		var values []string
		on, form := l.id(), "%s = ANY($%d::text[])"
		switch {
		case c.Field == "chunk_id":
			values = valid(texts(c.Values))
			form = "%s = ANY($%d::text[]::" + l.idType() + "[])"
		case slices.Contains(payload.RecordFields(), c.Field):
			values, on = texts(c.Values), quote(l.names[c.Field])
		case isShifting(c.Field):
			values, on, form = storable(payload.ConditionTerms(c)), colShifting, "%s && $%d::text[]"
		default:
			values, on, form = storable(payload.ConditionTerms(c)), colTerms, "%s && $%d::text[]"
		}
		if len(values) == 0 {
			b.WriteString("FALSE")
			continue
		}
		args = append(args, values)
		fmt.Fprintf(&b, form, on, len(args))
	}
	return b.String(), args
}

// texts are the values that a column of texts may equal.
func texts(values []any) []string {
	var out []string
	for _, v := range values {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return storable(out)
}

// storable leaves out what PostgreSQL would refuse to look for; nothing equals it.
func storable(values []string) []string {
	return slices.DeleteFunc(values, func(s string) bool { return strings.ContainsRune(s, 0) || !utf8.ValidString(s) })
}
