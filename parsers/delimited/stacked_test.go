package delimited_test

import (
	"reflect"
	"strings"
	"testing"
)

// Headers of several rows: merged cells are filled, and what only looks like one is data.
func TestStackedHeaders(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		header [][]string
	}{
		"two rows": {"Region,2023,,2024,\n,Q1,Q2,Q1,Q2\nNorth,1,2,3,4\nSouth,5,6,7,8\n",
			[][]string{{"Region", "2023", "2023", "2024", "2024"}, {"", "Q1", "Q2", "Q1", "Q2"}}},
		"name below": {",Sales,,Cost,\nRegion,2023,2024,2023,2024\nNorth,1,2,3,4\nSouth,5,6,7,8\n",
			[][]string{{"", "Sales", "Sales", "Cost", "Cost"}, {"Region", "2023", "2024", "2023", "2024"}}},
		"three rows": {",2023,,,,2024,\n,甲,,乙,,甲,\n部门,收入,成本,收入,成本,收入,成本\n北,1,2,3,4,5,6\n南,1,2,3,4,5,6\n",
			[][]string{{"", "2023", "2023", "2023", "2023", "2024", "2024"}, {"", "甲", "甲", "乙", "乙", "甲", "甲"}, {"部门", "收入", "成本", "收入", "成本", "收入", "成本"}}},
		"one row":             {"id,name,note\n1,a,\n2,b,x\n", [][]string{{"id", "name", "note"}}},
		"data below":          {"id,name,,\n1,Bob,x,y\n2,Ann,z,w\n", nil},
		"words alone":         {"a,b,,d\nfoo,bar,baz,qux\none,two,three,four\n", nil},
		"unnamed is no group": {"Name,,Age,City\nAnn,,30,Oslo\nBo,,40,Bonn\n", nil},
		"the same twice":      {"A,,B,\nx,x,x,x\n1,2,3,4\n5,6,7,8\n", nil},
	} {
		els := parse(t, open(t, nil), "x.csv", strings.NewReader(c.text))
		if got := tiled(t, els); got != c.text {
			t.Errorf("%s: %q", name, got)
		}
		var got [][]string
		for _, el := range els {
			if el.Table != nil {
				got = el.Table.Header
			}
		}
		if c.header == nil && len(got) > 1 || c.header != nil && !reflect.DeepEqual(got, c.header) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
