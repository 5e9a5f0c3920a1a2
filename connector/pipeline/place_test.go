package pipeline

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// TestPlaces: chunks that are embedded are numbered and linked among themselves, whatever is only stored between them.
func TestPlaces(t *testing.T) {
	for _, c := range []struct{ kinds, want string }{ // P is only stored, c is embedded
		{"", ""},
		{"ccc", "0 0 - 1; 1 1 0 2; 2 2 1 -"},
		{"P", "0 0 - -"},
		{"PcPPccP", "0 0 - -; 1 0 - 4; 2 1 - -; 3 2 - -; 4 1 1 5; 5 2 4 -; 6 3 - -"},
	} {
		names := map[string]string{"": "-"}
		pieces := func(yield func(*piece, error) bool) {
			for i, kind := range c.kinds {
				pc := &piece{ID: connector.UUID{byte(i + 1)}, StoreOnly: kind == 'P'}
				names[pc.ID.String()] = fmt.Sprint(i)
				if !yield(pc, nil) {
					return
				}
			}
		}
		var got []string
		for x, err := range placed(pieces) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%d %d %s %s", x.number, x.index, names[x.prev], names[x.next]))
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s: got %s, want %s", c.kinds, s, c.want)
		}
		for range placed(pieces) {
			break
		}
	}
	planted := errors.New("planted")
	for _, err := range placed(func(yield func(*piece, error) bool) { yield(nil, planted) }) {
		if !errors.Is(err, planted) {
			t.Error(err)
		}
	}
}

// TestDue: a parent stands for its children if more than its share of them hit.
func TestDue(t *testing.T) {
	for _, c := range []struct {
		ratio, children any
		hit             int
		want            bool
	}{
		{nil, 10, 1, true}, {0.5, 10, 5, false}, {0.5, 10, 6, true}, {0.5, int64(1), 1, true}, {float64(0), 3, 1, true}, {0.9, float64(10), 9, false},
	} {
		if got := due(c.ratio, c.children, c.hit); got != c.want {
			t.Errorf("%d of %v at %v: %v", c.hit, c.children, c.ratio, got)
		}
	}
}
