package embedtest

import (
	"fmt"
	"math"
)

// orderInContext: the vectors of a group are in the order of its texts. They are no copies of those of the texts alone, but a vector and
// another one of the group are closer to their own texts than to each other's.
func orderInContext(v *env) {
	texts := v.texts()
	texts = texts[:min(len(texts), 8)]
	alone := make([][]float32, len(texts))
	for i, text := range texts {
		alone[i] = v.embed(text)[0]
	}
	for _, backward := range []bool{false, true} {
		group, own := append([]string(nil), texts...), append([][]float32(nil), alone...)
		if backward {
			for i := range texts {
				group[i], own[i] = texts[len(texts)-1-i], alone[len(texts)-1-i]
			}
		}
		got := v.embed(group...)
		for i := range got {
			for j := range i {
				if likeness(got[i], own[i])+likeness(got[j], own[j]) <= likeness(got[i], own[j])+likeness(got[j], own[i]) {
					v.Errorf("the vectors of %.30q and %.30q in a group seem to be exchanged", group[i], group[j])
				}
			}
		}
	}
}

func likeness(a, b []float32) float64 {
	var dot, x, y float64
	for i := range a {
		if i < len(b) {
			dot, x, y = dot+float64(a[i])*float64(b[i]), x+float64(a[i])*float64(a[i]), y+float64(b[i])*float64(b[i])
		}
	}
	return dot / math.Sqrt(max(x*y, 1e-30))
}

// inContext: a vector follows from its group and from nothing else, other calls least of all; and the neighbours do count, or the model
// is not contextual, and every edit would pay for a group in vain.
func inContext(v *env) {
	if !v.model.Contextual {
		return
	}
	texts := v.texts()
	first, other := v.embed(texts...), v.embed(texts[1], texts[0])
	for i, vec := range v.embed(texts...) {
		v.same(fmt.Sprintf("%.30q in the same group after another group", texts[i]), vec, first[i])
	}
	for i, vec := range v.embed(texts[1], texts[0]) {
		v.same(fmt.Sprintf("text %d of a group of two, repeated", i), vec, other[i])
	}
	counts := false
	for i, text := range texts {
		counts = counts || v.differs(first[i], v.embed(text)[0])
	}
	if !counts && len(texts) > 1 {
		v.Errorf("no vector of a group of %d texts differs from that of the text alone: the model is not contextual", len(texts))
	}
	twins := v.embed(texts[0], texts[0])
	before := append([]float32(nil), twins[1]...)
	twins[0][0] += 7
	v.same("a vector whose twin was changed by the caller", twins[1], before)
	v.same("a group after the caller changed its vectors", v.embed(texts[0], texts[0])[1], before)
}

// differs says whether two vectors differ by more than the tolerance.
func (v *env) differs(a, b []float32) bool {
	for i := range a {
		if i >= len(b) || !(math.Abs(float64(a[i])-float64(b[i])) <= v.opts.Tolerance) {
			return true
		}
	}
	return false
}
