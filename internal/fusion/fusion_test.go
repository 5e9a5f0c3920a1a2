package fusion

import (
	"math"
	"reflect"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

func ids(list []Ranked) []string {
	out := []string{}
	for _, r := range list {
		out = append(out, r.ID)
	}
	return out
}

func TestRelative(t *testing.T) {
	dense := []Ranked{{"a", 0.9}, {"b", 0.8}, {"c", 0.7}}
	lexical := []Ranked{{"b", 12}, {"d", 2}}
	for _, tt := range []struct {
		name    string
		lists   [][]Ranked
		weights []float64
		want    []Ranked
	}{
		{"equal weights", [][]Ranked{dense, lexical}, nil, []Ranked{{"b", 0.75}, {"a", 0.5}, {"c", 0}, {"d", 0}}},
		{"weighted", [][]Ranked{dense, lexical}, []float64{3, 1}, []Ranked{{"a", 0.75}, {"b", 0.625}, {"c", 0}, {"d", 0}}},
		{"all scores equal", [][]Ranked{{{"y", 1}, {"x", 1}}, nil}, nil, []Ranked{{"x", 0.5}, {"y", 0.5}}},
		{"negative scores", [][]Ranked{{{"x", -1}, {"y", -3}}}, nil, []Ranked{{"x", 1}, {"y", 0}}},
		{"nothing", nil, nil, []Ranked{}},
		{"no weight at all", [][]Ranked{dense}, []float64{0}, []Ranked{{"a", 0}, {"b", 0}, {"c", 0}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Relative(tt.lists, tt.weights)
			if !reflect.DeepEqual(ids(got), ids(tt.want)) {
				t.Fatalf("got %v, want %v", got, tt.want)
			}
			for i := range got {
				if math.Abs(got[i].Score-tt.want[i].Score) > 1e-12 {
					t.Errorf("got %v, want %v", got[i], tt.want[i])
				}
			}
		})
	}
}

func TestRRF(t *testing.T) {
	got := RRF([][]Ranked{{{"a", 9}, {"b", 8}}, {{"b", 1}, {"c", 0}}}, RRFConstant)
	if !reflect.DeepEqual(ids(got), []string{"b", "a", "c"}) || math.Abs(got[0].Score-(1.0/62+1.0/61)) > 1e-12 || got[1].Score != 1.0/61 {
		t.Errorf("got %v", got)
	}
	// Equal scores come in order of id whatever the order of the lists.
	if got := RRF([][]Ranked{{{"z", 1}}, {{"y", 1}}}, RRFConstant); got[0].ID != "y" {
		t.Errorf("ties are not broken by id: %v", got)
	}
}

func TestHybrid(t *testing.T) {
	dense := []Ranked{{"a", 0.9}, {"b", 0.89}, {"c", 0.88}, {"d", 0.87}, {"e", 0.5}}
	for _, tt := range []struct {
		name    string
		q       connector.Query
		lexical []Ranked
		want    []string
	}{
		{"both agree", connector.Query{}, []Ranked{{"b", 7}, {"a", 6}, {"x", 1}}, []string{"b", "a", "c", "d", "e", "x"}},
		{"the best by words alone is among the first", connector.Query{}, []Ranked{{"x", 7}, {"b", 3}, {"y", 1}}, []string{"b", "a", "x", "c", "d", "e", "y"}},
		{"words weigh more", connector.Query{Share: 0.1}, []Ranked{{"x", 7}, {"y", 6}, {"z", 1}}, []string{"x", "y", "a", "b", "c", "d", "e", "z"}},
		{"vectors weigh more", connector.Query{Share: 0.7}, []Ranked{{"x", 7}, {"d", 6}, {"y", 1}}, []string{"d", "a", "b", "c", "x", "e", "y"}},
		{"no words", connector.Query{}, nil, []string{"a", "b", "c", "d", "e"}},
		{"reciprocal ranks", connector.Query{Fusion: connector.FusionRRF, Share: 0.1}, []Ranked{{"x", 7}, {"y", 6}}, []string{"a", "x", "b", "y", "c", "d", "e"}},
	} {
		got := Hybrid(tt.q, dense, tt.lexical)
		if !reflect.DeepEqual(ids(got), tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
		for i := 1; i < len(got); i++ {
			if got[i].Score > got[i-1].Score {
				t.Errorf("%s: scores out of order: %v", tt.name, got)
			}
		}
	}
	for _, share := range []float64{-1, 0, 1.5, math.NaN(), math.Inf(1)} {
		if got, want := Hybrid(connector.Query{Share: share}, dense, dense[:2]), Hybrid(connector.Query{Share: DefaultShare}, dense, dense[:2]); !reflect.DeepEqual(got, want) {
			t.Errorf("share %v: got %v, want the default's %v", share, got, want)
		}
	}
	if got := Hybrid(connector.Query{}, nil, []Ranked{{"x", 1}}); len(got) != 1 {
		t.Errorf("words alone: %v", got)
	}
	if Depth(1) != 100 || Depth(50) != 250 {
		t.Error("depth")
	}
}
