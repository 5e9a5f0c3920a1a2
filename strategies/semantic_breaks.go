package strategies

import (
	"math"
	"slices"
)

// breaks tells behind which units a segment ends, given the distance from each to the next, as langchain-experimental's SemanticChunker
// does: what is over the threshold ends one. For gradient the threshold and what is compared are the slopes of the distances.
func breaks(distances []float64, method string, amount float64) []bool {
	out := make([]bool, len(distances))
	values := distances
	if method == breakGradient {
		values = slopes(distances)
	}
	if len(values) == 0 {
		return out
	}
	limit := threshold(values, method, amount)
	for i, v := range values {
		out[i] = v > limit
	}
	return out
}

// threshold is the value over which a break lies; an amount of 0 is the method's default.
func threshold(values []float64, method string, amount float64) float64 {
	or := func(fallback float64) float64 {
		if amount > 0 {
			return amount
		}
		return fallback
	}
	switch method {
	case breakStddev:
		m, d := meanAndDeviation(values)
		return m + float64(or(3)*d)
	case breakEnhanced:
		m, d := meanAndDeviation(values)
		return m + float64(or(1)*d)
	case breakInterquartile:
		m, _ := meanAndDeviation(values)
		q := percentiles(values, 25, 75)
		return m + float64(or(1.5)*(q[1]-q[0]))
	case breakThreshold:
		return amount
	}
	return percentiles(values, or(95))[0]
}

// meanAndDeviation is the mean, and the deviation of the whole population.
func meanAndDeviation(values []float64) (mean, deviation float64) {
	for _, v := range values {
		mean += v
	}
	mean /= float64(len(values))
	for _, v := range values {
		deviation += float64((v - mean) * (v - mean))
	}
	return mean, math.Sqrt(deviation / float64(len(values)))
}

// percentiles interpolates linearly between the values on either side, as numpy does.
func percentiles(values []float64, which ...float64) []float64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	out := make([]float64, len(which))
	for i, q := range which {
		at := q / 100 * float64(len(sorted)-1)
		k := min(int(at), len(sorted)-1)
		next := min(k+1, len(sorted)-1)
		t := at - float64(k)
		step := sorted[next] - sorted[k]
		if out[i] = sorted[k] + float64(step*t); t >= 0.5 {
			out[i] = sorted[next] - float64(step*(1-t))
		}
	}
	return out
}

// slopes are the differences between the neighbours of each value, halved; at the ends those to the one neighbour. (numpy.gradient)
func slopes(values []float64) []float64 {
	if len(values) < 2 {
		return nil
	}
	out := make([]float64, len(values))
	last := len(values) - 1
	out[0], out[last] = values[1]-values[0], values[last]-values[last-1]
	for i := 1; i < last; i++ {
		out[i] = (values[i+1] - values[i-1]) / 2
	}
	return out
}

// cosine is the cosine of the angle between two vectors; 0 where one is all zeros.
func cosine(a, b []float32) float64 {
	var dot, x, y float64
	for i := range a {
		p, q := float64(a[i]), float64(b[i])
		dot, x, y = dot+float64(p*q), x+float64(p*p), y+float64(q*q)
	}
	if x == 0 || y == 0 {
		return 0
	}
	return dot / (math.Sqrt(x) * math.Sqrt(y))
}
