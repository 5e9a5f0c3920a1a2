package keywords

// The window in which words keep each other company, how the surfer goes on, and how long.
const (
	rankWindow = 4
	rankRounds = 24
	damping    = 850 // of a thousand
	rankScale  = 1 << 30
)

// maxEdges bounds the words of one chunk that are looked at: a chunk without a cap may be a whole book.
const maxEdges = 1 << 16

// textRank scores the words of list by the company they keep in order.
func textRank(order, list []*candidate) {
	order = order[:min(len(order), maxEdges)]
	at := make(map[*candidate]int, len(list))
	var rarity int64
	for i, c := range list {
		at[c] = i
		rarity += c.weight
	}
	if rarity == 0 {
		return
	}
	type edge struct{ a, b int }
	weights := map[edge]int64{}
	var edges []edge
	out := make([]int64, len(list))
	for i, c := range order {
		for j := i + 1; j < len(order) && j < i+rankWindow; j++ {
			a, b := at[c], at[order[j]]
			if a == b {
				continue
			}
			e := edge{min(a, b), max(a, b)}
			if weights[e] == 0 {
				edges = append(edges, e)
			}
			weights[e]++
			out[a]++
			out[b]++
		}
	}
	start := make([]int64, len(list))
	rank := make([]int64, len(list))
	for i, c := range list {
		start[i] = rankScale / rarity * c.weight
		rank[i] = start[i]
	}
	for range rankRounds {
		next := make([]int64, len(list))
		for _, e := range edges {
			w := weights[e]
			next[e.b] += rank[e.a] / out[e.a] * w
			next[e.a] += rank[e.b] / out[e.b] * w
		}
		for i := range next {
			next[i] = (next[i]*damping + start[i]*(1000-damping)) / 1000
		}
		rank = next
	}
	for i, c := range list {
		c.score = rank[i] / unit * c.weight
	}
}
