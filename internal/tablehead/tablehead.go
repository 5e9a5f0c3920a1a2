// Package tablehead tells whether the first rows of a table name its columns.
package tablehead

import (
	"strings"
	"unicode/utf8"
)

const maxHeaderCell = 200 // bytes

// Filled counts the cells that are not blank.
func Filled(cells []string) int {
	n := 0
	for _, c := range cells {
		if strings.TrimSpace(c) != "" {
			n++
		}
	}
	return n
}

// Like judges whether h names the columns of rows: there are as many cells (or one less: an unnamed index), they
// are filled, distinct and not numbers (years apart), and they differ from what stands below them in type or length.
func Like(h []string, rows [][]string) bool {
	if cells, _ := Mode(rows); len(rows) == 0 || !namesColumns(h) || len(h) != cells && len(h) != cells-1 {
		return false
	}
	numbers := 0
	for _, c := range h {
		if classify(c) == number && !isYear(c) {
			numbers++
		}
	}
	if numbers > 0 {
		return numbers == len(h) && noNumbers(rows)
	}
	votes := 0
	for j, c := range h {
		votes += vote(c, column(rows, j))
	}
	if votes == 0 {
		for _, c := range h {
			if commonName(c) {
				return true
			}
		}
	}
	return votes > 0
}

// namesColumns says that the cells are filled, short and distinct. The first may be empty (an index column).
func namesColumns(h []string) bool {
	seen := map[string]bool{}
	for i, c := range h {
		c = strings.TrimSpace(c)
		if c == "" && i == 0 && len(h) > 1 {
			continue
		}
		if c == "" || len(c) > maxHeaderCell || seen[c] {
			return false
		}
		seen[c] = true
	}
	return true
}

func noNumbers(rows [][]string) bool {
	for _, r := range rows {
		for _, c := range r {
			if classify(c) == number {
				return false
			}
		}
	}
	return true
}

func column(rows [][]string, j int) []string {
	var values []string
	for _, r := range rows {
		if j < len(r) && strings.TrimSpace(r[j]) != "" {
			values = append(values, strings.TrimSpace(r[j]))
		}
	}
	return values
}

// vote is positive if name differs from the values in type or length, negative if it is one of them.
func vote(name string, values []string) int {
	if len(values) == 0 {
		return 0
	}
	name = strings.TrimSpace(name)
	length := utf8.RuneCountInString(name)
	typed, sum, sameLength := 0, 0, true
	for _, v := range values {
		if v == name {
			return -2
		}
		if classify(v) != text {
			typed++
		}
		n := utf8.RuneCountInString(v)
		sameLength = sameLength && n == utf8.RuneCountInString(values[0])
		sum += n
	}
	mean := float64(sum) / float64(len(values))
	differs := max(mean-float64(length), float64(length)-mean)
	switch {
	case typed*5 >= len(values)*4 && classify(name) == text:
		return 2
	case sameLength && len(values) > 2 && differs != 0, differs > 2 && differs > mean/4:
		return 1
	}
	return 0
}

// commonName knows words that are column names far more often than values.
func commonName(c string) bool {
	switch strings.ToLower(strings.TrimSpace(c)) {
	case "id", "no", "no.", "name", "title", "date", "time", "type", "kind", "key", "value", "text", "url", "email", "phone", "city", "country", "code",
		"category", "label", "description", "question", "answer", "编号", "序号", "姓名", "名称", "标题", "日期", "时间", "类型", "类别", "城市", "国家",
		"地址", "电话", "邮箱", "性别", "年龄", "价格", "数量", "备注", "内容", "问题", "答案", "描述", "部门":
		return true
	}
	return false
}

// cellType is what a cell looks like.
type cellType int

const (
	text cellType = iota
	number
	boolean
)

// classify tells numbers (with signs, separators, currency, per cent), dates and times, which count as numbers, and booleans from text.
func classify(s string) cellType {
	s = strings.TrimSpace(s)
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "是", "否", "nan", "inf", "-inf":
		return boolean
	}
	digits := 0
	for i, r := range s {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case strings.ContainsRune("+-.,:/%$€£¥' ()", r):
		case (r == 'e' || r == 'E' || r == 'T' || r == 'Z') && digits > 0 && i > 0:
		default:
			return text
		}
	}
	if digits == 0 {
		return text
	}
	return number
}

func isYear(s string) bool {
	s = strings.TrimSpace(s)
	return len(s) == 4 && (strings.HasPrefix(s, "19") || strings.HasPrefix(s, "20")) && classify(s) == number
}

// Mode is the commonest number of cells of rows, the larger of equals, and how many rows have it.
func Mode(rows [][]string) (cells, count int) {
	counts := map[int]int{}
	for _, r := range rows {
		counts[len(r)]++
	}
	for c, n := range counts {
		if n > count || n == count && c > cells {
			cells, count = c, n
		}
	}
	return cells, count
}

// Number says that a cell looks like a number, a date or a time.
func Number(s string) bool { return classify(s) == number }
