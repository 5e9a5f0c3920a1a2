package sheets

import "slices"

// maxMerges bounds how many merged ranges of a sheet are looked at; cells of others stay as they are.
const maxMerges = 10_000

// merges are the merged ranges of a sheet, by their first row.
type merges struct {
	ranges []Merge // by first row
	next   int
	active []activeMerge
}

// activeMerge is a merged column range whose value later rows repeat.
type activeMerge struct {
	Merge
	value string
}

// Merge tells of a merged range; its first row is the next one that comes.
func (w *Writer) Merge(m Merge) {
	if len(w.merges.ranges) < maxMerges {
		w.merges.ranges = append(w.merges.ranges, m)
	}
}

func newMerges(all []Merge) merges {
	all = slices.Clone(all[:min(len(all), maxMerges)])
	slices.SortFunc(all, func(a, b Merge) int { return a.Row - b.Row })
	return merges{ranges: all}
}

// fill gives rows below the first of a merged range its value, in the range's first column. Rows are asked for in ascending order.
func (m *merges) fill(n int, cells []string) []string {
	m.active = slices.DeleteFunc(m.active, func(a activeMerge) bool { return a.LastRow < n })
	for _, a := range m.active {
		if a.Col < len(cells) && cells[a.Col] == "" {
			cells[a.Col] = a.value
		}
	}
	for ; m.next < len(m.ranges) && m.ranges[m.next].Row <= n; m.next++ {
		r := m.ranges[m.next]
		if r.Row == n && r.LastRow > n && r.Col < len(cells) && cells[r.Col] != "" && len(m.active) < 256 {
			m.active = append(m.active, activeMerge{r, cells[r.Col]})
		}
	}
	return cells
}

// from are the ranges whose first row is n.
func (m *merges) from(n int) []Merge {
	i, _ := slices.BinarySearchFunc(m.ranges, n, func(r Merge, n int) int { return r.Row - n })
	j := i
	for j < len(m.ranges) && m.ranges[j].Row == n {
		j++
	}
	return m.ranges[i:j]
}
