package milvus

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
)

// expression compiles a filter; ok is false if no point can meet it. Milvus Lite has no placeholders for values, so they are
// quoted; those that hold a quote, a backslash or a control character are not: they are looked for among the terms, where such
// characters are escaped in a way of kbsync's own.
func (c *Collection) expression(filter connector.Filter) (expr string, ok bool) {
	var parts []string
	for _, cond := range filter {
		var part string
		if column := c.recordColumn(cond.Field); column != "" {
			part = recordExpression(column, cond)
		} else {
			part = anyTerm(escapeAll(payload.ConditionTerms(cond)))
		}
		if part == "" {
			return "", false
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " and "), true
}

// recordColumn is the column of a field that stands in the record itself; empty for metadata.
func (c *Collection) recordColumn(field string) string {
	for _, own := range payload.RecordFields() {
		if own != field {
			continue
		}
		if own == "chunk_id" {
			return c.sink.fields.of("id")
		}
		return c.sink.fields.of(own)
	}
	return ""
}

func recordExpression(column string, cond connector.Condition) string {
	var quoted, terms []string
	for _, v := range cond.Values {
		s, ok := v.(string)
		switch {
		case !ok || !utf8.ValidString(s):
			// A record's fields are strings: other values equal none.
		case plain(cond.Field, s):
			quoted = append(quoted, s)
		default:
			terms = append(terms, recordTerm(cond.Field, s))
		}
	}
	switch {
	case len(quoted) == 0:
		return anyTerm(terms)
	case len(terms) == 0:
		return in(column, quoted)
	}
	return "(" + in(column, quoted) + " or " + anyTerm(terms) + ")"
}

func anyTerm(terms []string) string {
	if len(terms) == 0 {
		return ""
	}
	return "array_contains_any(" + fieldTerms + ", " + list(terms) + ")"
}

func in(column string, values []string) string { return column + " in " + list(values) }

// list writes a list of strings of which none needs an escape.
func list(values []string) string { return `["` + strings.Join(values, `","`) + `"]` }

func escapeAll(terms []string) []string {
	for i := range terms {
		terms[i] = escape(terms[i])
	}
	return terms
}

// plain says whether a record field's value can stand in an expression and is whole in its field.
func plain(field, value string) bool {
	return strings.IndexFunc(value, hostile) < 0 && len(value) <= limitOf(field)
}

// recordTerm is the term of a record field's value that is not plain.
func recordTerm(field, value string) string {
	terms := payload.ConditionTerms(connector.Condition{Field: field, Values: []any{value}})
	return "@" + escape(terms[0]) // a string has a term
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
