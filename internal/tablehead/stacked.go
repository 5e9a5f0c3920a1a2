package tablehead

import "strings"

// maxHeaderRows bounds how many records are looked at as one header.
const maxHeaderRows = 3

// Stacked is how many of the first records are a header of several rows, of which the upper ones name groups of columns; 0 if there is no
// such header. Since such a header is easily taken for data, much has to agree: no cell is a number (years apart), cells of upper rows
// are merged (they stand before empty ones that have a name below them), the names put together are complete and distinct, and below at
// least one of them stand numbers.
func Stacked(records [][]string) int {
	for n := min(maxHeaderRows, len(records)-1); n > 1; n-- {
		if isStacked(records[:n], records[n:]) {
			return n
		}
	}
	return 0
}

func isStacked(head, rows [][]string) bool {
	width, _ := Mode(rows)
	last := head[len(head)-1]
	if width < 2 || len(last) != width || 2*Filled(last) < width {
		return false
	}
	merged := false
	for k, h := range head {
		if Filled(h) == 0 || len(h) > width {
			return false
		}
		for _, c := range h {
			if t := classify(c); t == boolean || t == number && !isYear(c) || len(c) > maxHeaderCell {
				return false
			}
		}
		merged = merged || k < len(head)-1 && spans(h, head[k+1])
	}
	if !merged {
		return false
	}
	names := make([]string, width)
	for _, h := range Fill(head) {
		for j, c := range h {
			names[j] = strings.TrimSpace(names[j] + " " + strings.TrimSpace(c))
		}
	}
	return namesColumns(names) && numbersBelow(last, rows)
}

// spans tells whether a cell of h stands for several columns, which row names.
func spans(h, row []string) bool {
	for j := 1; j < len(row); j++ {
		if blankAt(h, j) && !blankAt(h, j-1) && !blankAt(row, j) && !blankAt(row, j-1) {
			return true
		}
	}
	return false
}

func blankAt(h []string, j int) bool { return j >= len(h) || strings.TrimSpace(h[j]) == "" }

// numbersBelow tells whether numbers, not all of them years, stand below a cell of h.
func numbersBelow(h []string, rows [][]string) bool {
	for j := range h {
		values := column(rows, j)
		numbers, years := 0, 0
		for _, v := range values {
			if classify(v) == number {
				numbers++
			}
			if isYear(v) {
				years++
			}
		}
		if numbers > 0 && numbers*5 >= len(values)*4 && years < numbers {
			return true
		}
	}
	return false
}

// Fill writes the cells of upper rows into the empty ones after them, as far as the row below has a name there.
func Fill(head [][]string) [][]string {
	out := make([][]string, len(head))
	width := len(head[len(head)-1])
	for k := len(head) - 1; k >= 0; k-- {
		row := make([]string, width)
		copy(row, head[k])
		for j := 1; j < width && k < len(head)-1; j++ {
			if blankAt(row, j) && !blankAt(out[k+1], j) {
				row[j] = row[j-1]
			}
		}
		out[k] = row
	}
	return out
}
