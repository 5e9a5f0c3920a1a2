package pgvector

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

// maxIdentifier is the length in bytes beyond which PostgreSQL cuts names without a word.
const maxIdentifier = 63

// fit shortens a name to what PostgreSQL keeps, by whole characters, with a hash that tells it from others of the same start.
func fit(name string) string {
	name = strings.ToValidUTF8(name, "_")
	if len(name) <= maxIdentifier {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	tail := "_" + hex.EncodeToString(sum[:4])
	cut := maxIdentifier - len(tail)
	for !utf8.RuneStart(name[cut]) {
		cut--
	}
	return name[:cut] + tail
}

// quote writes an identifier, or several joined by points.
func quote(parts ...string) string { return pgx.Identifier(parts).Sanitize() }

// literal writes a string constant.
func literal(s string) string {
	return " E'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + "'"
}

// table is the name of a generation's table while it is not live; in place there is one table alone.
func (s *Sink) table(generation string) string { return fit(s.config.Physical(generation)) }

// live is the name of the live generation's table: what users query.
func (s *Sink) live() string { return fit(s.config.Collection) }

// indexName is the name of a table's index; it follows the table's.
func indexName(table, suffix string) string { return fit(table + "_" + suffix) }
