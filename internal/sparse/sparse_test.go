package sparse

import (
	"slices"
	"testing"
)

func dot(q, d Vector) (sum float32) {
	for i, index := range q.Indices {
		if at, ok := slices.BinarySearch(d.Indices, index); ok {
			sum += q.Values[i] * d.Values[at]
		}
	}
	return sum
}

func TestTermsMeet(t *testing.T) {
	doc := Document("The ZANZIBAR protocol. 中华人民共和国的首都是北京，ＦＵＬＬ width.")
	for question, want := range map[string]bool{
		"zanzibar": true, "北京": true, "首都在哪里": true, "full": true, "京": true, "中": true, "华": true, // single characters of pairs
		"qwertyuiop": false, "龘": false, "": false, "zan": false, "。": false,
	} {
		if got := dot(Query(question), doc) > 0; got != want {
			t.Errorf("%q matches: %v, want %v", question, got, want)
		}
	}
}

func TestVectorsAscend(t *testing.T) {
	v := Document("b a c a b 手册的第三段 handbook")
	if !slices.IsSorted(v.Indices) || len(slices.Compact(slices.Clone(v.Indices))) != len(v.Indices) || len(v.Values) != len(v.Indices) {
		t.Errorf("indexes %v, values %v", v.Indices, v.Values)
	}
	if e := Document(""); len(e.Indices) != 0 {
		t.Errorf("the empty text has terms: %v", e)
	}
}

func TestFrequencySaturates(t *testing.T) {
	once, often := dot(Query("a"), Document("a b c d")), dot(Query("a"), Document("a a a a"))
	if once >= often || often > K1+1 {
		t.Errorf("once %v, four times %v", once, often)
	}
}
