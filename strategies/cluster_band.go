package strategies

import (
	"container/heap"
	"math"
)

// unitVector is v of length 1.
func unitVector(v []float32) []float32 {
	var sum float64
	for _, x := range v {
		sum += float64(float64(x) * float64(x))
	}
	if sum == 0 {
		return v
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) / math.Sqrt(sum))
	}
	return out
}

// meanCosine is the mean cosine of all pairs of vectors of length 1, without looking at any pair: the square of their sum holds
// each pair twice, and each vector with itself once.
type meanCosine struct {
	sum   []float64
	alone float64
	n     int
}

func (m *meanCosine) add(v []float32) {
	if m.sum == nil {
		m.sum = make([]float64, len(v))
	}
	for i, x := range v {
		m.sum[i] += float64(x)
		m.alone += float64(float64(x) * float64(x))
	}
	m.n++
}

func (m *meanCosine) mean() float64 {
	if m.n < 2 {
		return 0
	}
	var square float64
	for _, x := range m.sum {
		square += float64(x * x)
	}
	return (square - m.alone) / (float64(m.n) * float64(m.n-1))
}

// band holds the cosines of each piece and those close behind it: a chunk has no others.
type band struct {
	width int         // pieces of a chunk
	sums  [][]float32 // sums[i][k] is the sum of the cosines of piece i with the k+1 pieces behind it
	near  [][]float32 // the last pieces' vectors
	all   meanCosine
}

func newBand(n, width int) *band {
	return &band{width: width, sums: make([][]float32, 0, n)}
}

// add takes the vector of the next piece.
func (b *band) add(i int, v []float32) {
	v = unitVector(v)
	b.all.add(v)
	for k, other := range b.near {
		var dot float64
		for d := range v {
			dot += float64(float64(v[d]) * float64(other[d]))
		}
		at := i - len(b.near) + k
		if row := b.sums[at]; len(row) > 0 {
			dot += float64(row[len(row)-1])
		}
		b.sums[at] = append(b.sums[at], float32(dot))
	}
	b.sums = append(b.sums, make([]float32, 0, b.width-1))
	if b.near = append(b.near, v); len(b.near) >= b.width {
		b.near = b.near[1:]
	}
}

func (b *band) mean() float64 { return b.all.mean() }

// best gives for each piece where the chunk starts that ends with it, in the division with the greatest reward. A chunk of one piece has
// the reward 0, and fits. Of equal ones the one of fewer pieces wins.
func (b *band) best(mean float64, fits func(from, to int) bool) []int {
	n := len(b.sums)
	total := make([]float64, n+1) // of the first i pieces
	from := make([]int, n)
	for i := range n {
		total[i+1], from[i] = total[i], i
		reward := 0.0
		for start := i - 1; start >= 0 && start > i-b.width; start-- {
			row := b.sums[start]
			reward += 2 * (float64(row[i-start-1]) - float64(mean*float64(i-start)))
			if !fits(start, i+1) {
				break
			}
			if sum := total[start] + reward; sum > total[i+1] {
				total[i+1], from[i] = sum, start
			}
		}
	}
	return from
}

// linked joins neighbouring runs of pieces, the most similar ones first, while their similarity is at least least. It is the mean of the
// cosines of all pairs between the two (average linkage), which the sums of their vectors give.
func linked(vectors [][]float32, least float64, fits func(from, to int) bool) []segment {
	n := len(vectors)
	runs := make([]run, n)
	for i, v := range vectors {
		sum := make([]float64, len(v))
		for d, x := range v {
			sum[d] = float64(x)
		}
		runs[i] = run{segment: segment{i, i + 1}, sum: sum, left: i - 1, right: i + 1}
	}
	var queue links
	push := func(a, b int) {
		if a < 0 || b >= n || !fits(runs[a].from, runs[b].to) {
			return
		}
		if s := runs[a].similarity(&runs[b]); s >= least {
			heap.Push(&queue, link{s, a, b, runs[a].age, runs[b].age})
		}
	}
	for i := range n - 1 {
		push(i, i+1)
	}
	for queue.Len() > 0 {
		l, _ := heap.Pop(&queue).(link)
		a, b := &runs[l.a], &runs[l.b]
		if a.age != l.ageA || b.age != l.ageB || a.gone || b.gone {
			continue
		}
		for d := range a.sum {
			a.sum[d] += b.sum[d]
		}
		a.to, a.right, a.age = b.to, b.right, a.age+1
		b.gone, b.sum = true, nil
		if a.right < n {
			runs[a.right].left = l.a
		}
		push(a.left, l.a)
		push(l.a, a.right)
	}
	var out []segment
	for i := 0; i < n; i = runs[i].right {
		out = append(out, runs[i].segment)
	}
	return out
}

// run is a run of pieces, known by its first one.
type run struct {
	segment
	sum         []float64
	left, right int
	age         int // how often it has grown
	gone        bool
}

func (r *run) similarity(o *run) float64 {
	var dot float64
	for d := range r.sum {
		dot += float64(r.sum[d] * o.sum[d])
	}
	return dot / float64((r.to-r.from)*(o.to-o.from))
}

// link is a pair of neighbouring runs as they were.
type link struct {
	similarity float64
	a, b       int
	ageA, ageB int
}

// links are in order of similarity; of equal ones the first in the text comes first.
type links []link

func (l links) Len() int { return len(l) }
func (l links) Less(i, k int) bool {
	if l[i].similarity != l[k].similarity {
		return l[i].similarity > l[k].similarity
	}
	return l[i].a < l[k].a
}
func (l links) Swap(i, k int) { l[i], l[k] = l[k], l[i] }

// Push implements heap.Interface.
func (l *links) Push(x any) {
	if v, ok := x.(link); ok {
		*l = append(*l, v)
	}
}

// Pop implements heap.Interface.
func (l *links) Pop() any {
	old := *l
	v := old[len(old)-1]
	*l = old[:len(old)-1]
	return v
}
