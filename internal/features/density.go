package features

// Density is how much a text says in as many words, from 0 to 100: the mean of four figures of the units, each between a low and a high
// value that texts have in windows of some 4,000 bytes. These are Herdan's C of types and tokens, the evenness of the units (their entropy as a
// part of the largest that so many units could have), the share of numbers, and the share of terms. Texts of ideographs have bounds of their own.
func (b *Bag) Density() int {
	if b.n < 2 {
		return 0
	}
	r := ranges(3*b.wide > b.n)
	sum := 0
	for k, x := range [...]float64{b.TypeToken(), b.Evenness(), b.Numbers(), b.Terms()} {
		sum += r[k].place(x)
	}
	return sum / 4
}

// Evenness is the entropy of the units as a part of log2 of their number.
func (b *Bag) Evenness() float64 {
	if b.n < 2 {
		return 0
	}
	return round(float64(max(0, xlogx(int64(b.n))-b.sum)/int64(b.n)) / float64(log2(uint64(b.n))))
}

// span is what a figure is between in most texts, in parts of 10,000.
type span struct{ low, high int }

// ranges are those of Density's figures, in its order.
func ranges(wide bool) [4]span {
	if wide {
		return [...]span{{7600, 8800}, {7000, 8300}, {0, 800}, {500, 3000}}
	}
	return [...]span{{8300, 9100}, {7400, 8600}, {0, 1200}, {150, 1200}}
}

// place is where x lies between low and high, from 0 to 100.
func (s span) place(x float64) int {
	return min(100, max(0, (int(x*1e4+0.5)-s.low)*100/(s.high-s.low)))
}
