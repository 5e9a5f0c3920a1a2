package sinktest

import (
	"errors"
	"math"
	"slices"

	"github.com/kbsync/kbsync/connector"
)

func dense(e *env) {
	if !e.has(connector.ModeDense) {
		return
	}
	c := e.create()
	all := e.points(0, 400)
	for i := range all {
		if i%7 == 0 && e.opts.Distance != "cosine" { // lengths matter to dot and l2
			for j := range all[i].Vector {
				all[i].Vector[j] *= 1.5
			}
		}
	}
	e.upsert(c, all...)
	for n := range 20 {
		q := connector.Query{Mode: connector.ModeDense, Vector: e.vector(5000 + n), K: 10}
		e.wantHits(e.search(c, q), all, q)
	}
	q := connector.Query{Mode: connector.ModeDense, Vector: e.vector(5000), K: 1000}
	if hits := e.search(c, q); len(hits) != len(all) {
		e.Errorf("%d hits for a k above the number of points, want all %d", len(hits), len(all))
	}
	q.K = 0
	if hits := e.search(c, q); len(hits) != 0 {
		e.Errorf("%d hits for k = 0", len(hits))
	}
	if _, err := c.Search(e.ctx, connector.Query{Mode: connector.ModeDense, Vector: e.vector(1)[1:], K: 3}); err == nil {
		e.Errorf("a query of other dimensions was answered")
	}
	hit := e.search(c, connector.Query{Mode: connector.ModeDense, Vector: e.vector(13), K: 1})[0]
	hit.Vector = e.vector(13)
	if e.opts.Distance == "cosine" {
		e.same(hit.Point, e.point(13))
	}
}

// wantHits compares with the exact answer: the same scores in the same order. Ids may differ only where scores are
// closer than the tolerance.
func (e *env) wantHits(got []connector.Hit, all []connector.Point, q connector.Query) {
	e.Helper()
	want, err := bruteSearch(all, e.opts.Distance, q)
	if err != nil {
		e.Fatalf("reference search: %v", err)
	}
	if len(got) != len(want) {
		e.Errorf("%d hits, want %d", len(got), len(want))
		return
	}
	score := map[string]float64{}
	for _, p := range all {
		score[p.ChunkID] = similarity(e.opts.Distance, q.Vector, p.Vector)
	}
	for i := range want {
		if exact := score[got[i].ChunkID]; math.Abs(exact-want[i].Score) > e.opts.Tolerance {
			e.Errorf("hit %d is %s with a similarity of %v; exact is %s with %v", i, got[i].ChunkID, exact, want[i].ChunkID, want[i].Score)
			return
		}
	}
}

func ties(e *env) {
	if !e.has(connector.ModeDense) {
		return
	}
	c := e.create()
	all := e.points(0, 60)
	for i := range all[:50] {
		all[i].Vector = e.vector(0)
	}
	e.upsert(c, all...)
	var want []string
	for _, p := range all[:50] {
		want = append(want, p.ChunkID)
	}
	slices.Sort(want)
	got := hitIDs(e.search(c, connector.Query{Mode: connector.ModeDense, Vector: e.vector(0), K: 5}))
	if e.opts.LooseTies {
		if len(got) != 5 || !slices.IsSorted(got) || slices.ContainsFunc(got, func(id string) bool { return !slices.Contains(want, id) }) {
			e.Errorf("equal scores: got %v, want five of the best in order of id", got)
		}
		return
	}
	if !slices.Equal(got, want[:5]) {
		e.Errorf("equal scores: got %v, want the lowest ids %v", got, want[:5])
	}
}

func lexical(e *env) {
	if !e.has(connector.ModeLexical) {
		return
	}
	c := e.create()
	e.upsert(c, e.points(0, 30)...)
	special := map[int]string{
		100: "The Zanzibar protocol requires two signatures.",
		101: "中华人民共和国成立于1949年，首都是北京。",
		102: "重庆大学位于长江上游。",
		103: "ＦＵＬＬＷＩＤＴＨ and Café",
		104: "Context holds the word: xylophone",
	}
	for n, text := range special {
		p := e.point(n)
		p.Content, p.EmbedText = text, text
		if n == 104 {
			p.Content, p.Context = "word: xylophone", "Context holds the "
		}
		e.upsert(c, p)
	}
	for question, want := range map[string]int{
		"zanzibar": 100, "What does the ZANZIBAR protocol require?": 100, "首都是哪里": 101, "北京": 101, "重庆大学在哪里？": 102,
		"fullwidth": 103, "CAFÉ": 103, "xylophone": 104,
	} {
		hits := e.search(c, connector.Query{Mode: connector.ModeLexical, Text: question, K: 3})
		if len(hits) == 0 || hits[0].ChunkID != id(want) {
			e.Errorf("%q does not find %q first", question, special[want])
		}
	}
	for _, question := range []string{"qwertyuiop", "龘", ""} {
		if hits := e.search(c, connector.Query{Mode: connector.ModeLexical, Text: question, K: 3}); len(hits) != 0 {
			e.Errorf("%q, which nothing holds, gave %d hits", question, len(hits))
		}
	}
	if hits := e.search(c, connector.Query{Mode: connector.ModeLexical, Text: "handbook", K: 7}); len(hits) != 7 {
		e.Errorf("%d hits for a word of 30 points and k = 7", len(hits))
	}
}

func hostileQuestions(e *env) {
	c := e.create()
	e.upsert(c, e.points(0, 5)...)
	for _, mode := range e.caps.Modes {
		for _, text := range []string{
			`"`, `""`, `"unclosed`, `*`, `a*`, `AND`, `OR OR`, `NOT`, `NEAR(`, `NEAR/2`, `-x`, `+x`, `^x`, `x:y`, `{x}`, `(`, `)`, `'; --`, `\`, `%`, `?`,
			"\u0000", "\xff\xfe", "!!!", "。", "🦊", `handbook" OR "1"="1`, "content:handbook", "$where", "{\"a\":1}", "&|!<->",
		} {
			if _, err := c.Search(e.ctx, connector.Query{Mode: mode, Vector: e.vector(1), Text: text, K: 3}); err != nil {
				e.Errorf("%s search for %q: %v", mode, text, err)
			}
		}
	}
}

func hybrid(e *env) {
	if !e.has(connector.ModeHybrid) {
		return
	}
	c := e.create()
	e.upsert(c, e.points(0, 200)...)
	for _, fusion := range []connector.Fusion{"", connector.FusionRelative, connector.FusionRRF} {
		hits := e.search(c, connector.Query{Mode: connector.ModeHybrid, Vector: e.vector(42), Text: "passage n42", K: 10, Fusion: fusion})
		if len(hits) != 10 {
			e.Errorf("%q: %d hits, want 10", fusion, len(hits))
			continue
		}
		if hits[0].ChunkID != id(42) {
			e.Errorf("%q: what is best by vector and by words is not first", fusion)
		}
		if distinct := slices.Compact(slices.Sorted(slices.Values(hitIDs(hits)))); len(distinct) != len(hits) {
			e.Errorf("%q: a point is a hit twice", fusion)
		}
		// What is best by one alone is among the first.
		ids := hitIDs(e.search(c, connector.Query{Mode: connector.ModeHybrid, Vector: e.vector(50), Text: "n60", K: 3, Fusion: fusion}))
		if !slices.Contains(ids, id(50)) || !slices.Contains(ids, id(60)) {
			e.Errorf("%q: the best by vector or the best by words is not among the first 3", fusion)
		}
	}
	// A question without words that occur is answered by the vectors.
	hits := e.search(c, connector.Query{Mode: connector.ModeHybrid, Vector: e.vector(7), Text: "qwertyuiop", K: 1})
	if len(hits) != 1 || hits[0].ChunkID != id(7) {
		e.Errorf("hybrid search without a matching word does not give the nearest vector")
	}
}

func filters(e *env) {
	c := e.create()
	all := e.points(0, 300)
	for i := range all {
		m := all[i].Metadata
		m["flag"], m["ratio"], m["tags"] = i%2 == 0, float64(i%5)+0.5, []any{"all", i % 6}
		m["note"] = `"team":"team9"` // looks like another key
		m["nested"] = map[string]any{"inner": "team9"}
		m["we'ird \"key\""] = "x,]}\\"
		if i%3 == 0 {
			m["rare"] = "是"
			all[i].ParentID = id(7)
		}
	}
	e.upsert(c, all...)
	one := func(field string, values ...any) connector.Filter {
		return connector.Filter{{Field: field, Values: values}}
	}
	for _, f := range []connector.Filter{
		nil, one("source", "source1"), one("source", "source1", "source2"), one("path", "docs/文件 3.md"), one("doc_id", id(1_000_002)),
		one("chunk_id", id(9), id(10)), one("parent_id", id(7)), one("content_hash", all[5].ContentHash), one("team", "team2"),
		one("index", 17), one("index", int64(17), 18.0), one("flag", true), one("ratio", 1.5), one("tags", 3), one("tags", "all"),
		one("rare", "是"), one("we'ird \"key\"", "x,]}\\"),
		append(one("team", "team1"), one("source", "source0", "source1")...), append(one("flag", false), one("tags", 1)...),
		// These match nothing.
		one("source", "nowhere"), one("absent", "x"), one("index", "17"), one("flag", "true"), one("flag", 1), one("team", "team9"), one("inner", "team9"),
		one("team"), one("source", "' OR 1=1 --"), one("source", 1), one("team", "TEAM1"), append(one("team", "team1"), one("team", "team2")...),
	} {
		for _, mode := range e.caps.Modes {
			q := connector.Query{Mode: mode, Vector: e.vector(5), Text: "handbook 手册", K: 400, Filter: f}
			want, err := bruteSearch(all, e.opts.Distance, q)
			if err != nil {
				e.Fatalf("reference search: %v", err)
			}
			got := slices.Sorted(slices.Values(hitIDs(e.search(c, q))))
			if !slices.Equal(got, slices.Sorted(slices.Values(hitIDs(want)))) {
				e.Errorf("%s search with filter %v: %d hits, want %d", mode, f, len(got), len(want))
			}
			q.K = 3 // the filter comes before the ranking, so k hits are left
			if got := e.search(c, q); len(got) != min(3, len(want)) {
				e.Errorf("%s search with filter %v and k = 3: %d hits of %d", mode, f, len(got), len(want))
			}
		}
		if e.has(connector.ModeDense) {
			q := connector.Query{Mode: connector.ModeDense, Vector: e.vector(9), K: 5, Filter: f}
			e.wantHits(e.search(c, q), all, q)
		}
	}
}

func modes(e *env) {
	c := e.create()
	e.upsert(c, e.point(1))
	for _, mode := range []connector.SearchMode{connector.ModeDense, connector.ModeLexical, connector.ModeHybrid, "nonsense"} {
		_, err := c.Search(e.ctx, connector.Query{Mode: mode, Vector: e.vector(1), Text: "n1", K: 1})
		if e.has(mode) && err != nil {
			e.Errorf("%s search, which the sink says it can: %v", mode, err)
		}
		if !e.has(mode) && !errors.Is(err, connector.ErrUnsupported) {
			e.Errorf("%s search, which the sink does not claim: %v, want ErrUnsupported", mode, err)
		}
	}
}
