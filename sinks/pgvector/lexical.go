package pgvector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"
	vector "github.com/pgvector/pgvector-go"

	"github.com/kbsync/kbsync/internal/fusion"
	"github.com/kbsync/kbsync/internal/sparse"
)

// lexical ranks by BM25: the frequency's half stands in the table, the rarity's half is counted for each question.
func (s *search) lexical(ctx context.Context, question string) ([]fusion.Ranked, error) {
	words := questionWords(question)
	if len(words) == 0 {
		return nil, nil
	}
	// The planner does not count that words lie beside the rows, and would read those of every row.
	if _, err := s.conn.Exec(ctx, "SET LOCAL enable_seqscan = off"); err != nil {
		return nil, err
	}
	weights, candidates, err := s.weigh(ctx, words)
	if err != nil || len(weights) == 0 {
		return nil, err
	}
	l := s.c.layout
	where, args := l.where(s.filter, []any{vector.NewSparseVectorFromMap(weights, sparseDimensions), candidates})
	// A word beyond the 16,000 heaviest of a long text has no weight there; its point is found all the same, as the last.
	rows, err := s.conn.Query(ctx, fmt.Sprintf("SELECT %[1]s::text, greatest(-(%[2]s <#> $1), 1e-6) AS score FROM %[3]s WHERE %[4]s && $2::int[]%[5]s ORDER BY score DESC, %[1]s LIMIT %[6]d",
		l.id(), colWeights, s.table, colWords, where, s.n), args...)
	if err != nil {
		return nil, err
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r fusion.Ranked, err error) {
		err = row.Scan(&r.ID, &r.Score)
		return r, err
	})
	fusion.Sort(out)
	return out, err
}

func questionWords(question string) []int32 {
	var out []int32
	seen := map[int32]bool{}
	for _, index := range sparse.Query(question).Indices {
		if w := fold(index); !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}

// manyPoints is the number of points from which frequencies of common words are taken from the server's statistics, and only a
// question's rarer words make candidates.
const manyPoints = 10_000

// weigh gives each word of the question that occurs its inverse document frequency, and those that candidates must hold one of.
func (s *search) weigh(ctx context.Context, words []int32) (weights map[int32]float32, candidates []int32, err error) {
	points, err := s.points(ctx)
	if err != nil {
		return nil, nil, err
	}
	found := map[int32]float64{}
	if points >= manyPoints {
		if found, err = s.common(ctx, words, points); err != nil {
			return nil, nil, err
		}
	}
	rest := slices.DeleteFunc(slices.Clone(words), func(w int32) bool { return found[w] > 0 })
	rows, err := s.conn.Query(ctx, fmt.Sprintf("SELECT w, (SELECT count(*) FROM %s WHERE %s @> ARRAY[w]) FROM unnest($1::int[]) AS w", s.table, colWords), rest)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var w int32
		var n float64
		if err := rows.Scan(&w, &n); err != nil {
			return nil, nil, err
		}
		if n > 0 {
			found[w] = n
		}
	}
	weights = make(map[int32]float32, len(found))
	for w, n := range found {
		points = max(points, n)
		weights[w] = float32(math.Log(1 + (points-n+0.5)/(n+0.5)))
		candidates = append(candidates, w)
	}
	if points >= manyPoints {
		candidates = s.rarest(candidates, found, points)
	}
	return weights, candidates, rows.Err()
}

// common are the numbers of points that hold the words which the server's statistics count among the frequent ones: counting
// those for each question would take longer than the ranking.
func (s *search) common(ctx context.Context, words []int32, points float64) (map[int32]float64, error) {
	var elements []int32
	var shares []float32
	err := s.conn.QueryRow(ctx, "SELECT most_common_elems::text::int[], most_common_elem_freqs FROM pg_stats WHERE schemaname = $1 AND tablename = $2 AND attname = $3 AND most_common_elems IS NOT NULL",
		s.c.sink.config.Schema, *s.c.name.Load(), colWords).Scan(&elements, &shares)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	out := map[int32]float64{}
	for i, w := range elements {
		if i < len(shares) && slices.Contains(words, w) {
			out[w] = float64(shares[i]) * points
		}
	}
	return out, err
}

// rarest are the words that candidates must hold one of: the rarer ones, while they give enough. A point that holds only words
// that are more common than these would come last. With a filter every word counts that at most half of the points hold.
func (s *search) rarest(words []int32, found map[int32]float64, points float64) []int32 {
	slices.SortFunc(words, func(a, b int32) int { return cmp.Or(cmp.Compare(found[a], found[b]), cmp.Compare(a, b)) })
	enough, total := float64(5000+20*s.n), 0.0
	for i, w := range words {
		if i > 0 && (len(s.filter) == 0 && total+found[w] > enough && total >= float64(2*s.n) || found[w] > points/2) {
			return words[:i]
		}
		total += found[w]
	}
	return words
}

// points is the number of points; of many an estimate will do.
func (s *search) points(ctx context.Context) (float64, error) {
	var n float64
	err := s.conn.QueryRow(ctx, "SELECT reltuples FROM pg_class WHERE oid = $1", s.c.oid).Scan(&n)
	if err != nil || n >= manyPoints {
		return n, err
	}
	err = s.conn.QueryRow(ctx, fmt.Sprintf("SELECT count(*) FROM %s WHERE %s IS NOT NULL", s.table, colWords)).Scan(&n)
	return n, err
}
