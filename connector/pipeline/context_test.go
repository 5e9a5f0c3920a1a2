package pipeline

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kbsync/kbsync/connector/ledger"
)

func pieceOf(text string, tokens int) *piece {
	sum := sha256.Sum256([]byte(text))
	return &piece{Content: text, Hash: sum[:], Tokens: tokens}
}

// sequence yields copies, so that one list can be grouped again.
func sequence(pieces []*piece) iter.Seq2[*piece, error] {
	return func(yield func(*piece, error) bool) {
		for _, pc := range pieces {
			one := *pc
			if !yield(&one, nil) {
				return
			}
		}
	}
}

// groupsOf divides pieces, and proves that all come out in order, each member at its place, within the limits.
func groupsOf(t *testing.T, pieces []*piece, limits groupLimits) (digests []ledger.Hash) {
	t.Helper()
	at, place := 0, 0
	var last *group
	for pc, err := range grouped(sequence(pieces), limits, nil) {
		if err != nil || pc.Content != pieces[at].Content {
			t.Fatalf("piece %d is %q, want %q (%v)", at, pc.Content, pieces[at].Content, err)
		}
		at++
		if pc.group != nil && pc.group != last {
			last, place = pc.group, 0
			digests = append(digests, last.digest)
			sum := groupLimits{len(last.texts), last.tokens, last.bytes}
			if sum.over(limits, 1) && len(last.texts) > 1 {
				t.Fatalf("a group of %+v, limits %+v", sum, limits)
			}
		}
		switch {
		case pc.StoreOnly && pc.group != nil && pc.place != -1, !pc.StoreOnly && (pc.group == nil || pc.place != place || last.texts[place] != pc.Content):
			t.Fatalf("piece %d: %+v, want place %d", at-1, pc, place)
		case !pc.StoreOnly:
			place++
		}
	}
	if at != len(pieces) {
		t.Fatalf("%d of %d pieces came out", at, len(pieces))
	}
	return digests
}

func TestGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := range 60 {
		var pieces []*piece
		for i := range n * 13 {
			pc := pieceOf(fmt.Sprint(n, "/", i%(1+n*7)), 1+rng.IntN(200))
			pc.StoreOnly = rng.IntN(5) == 0
			pieces = append(pieces, pc)
		}
		for _, limits := range []groupLimits{{1, 0, 0}, {7, 0, 0}, {512, 300, 0}, {100, 0, 64}, {40, 1000, 200}, {512, 1, 1}} {
			groupsOf(t, pieces, limits)
		}
	}
	parents := []*piece{pieceOf("a", 1)}
	for i := range 3 * longestRun {
		pc := pieceOf(fmt.Sprint("parent", i), 1)
		pc.StoreOnly = true
		parents = append(parents, pc)
	}
	groupsOf(t, append(parents, pieceOf("b", 1)), groupLimits{512, 0, 0})
}

// An edit moves few of the ends of groups, and none that lie more than a group before it.
func TestGroupsAreStable(t *testing.T) {
	const n, perGroup = 2000, 50
	limits := groupLimits{perGroup, 0, 0}
	rng := rand.New(rand.NewPCG(5, 6))
	var pieces []*piece
	for i := range n {
		pieces = append(pieces, pieceOf(fmt.Sprint("piece ", i), 10))
	}
	before := groupsOf(t, pieces, limits)
	had := map[ledger.Hash]bool{}
	for _, d := range before {
		had[d] = true
	}
	total, most := 0, 0
	const edits = 300
	for e := range edits {
		at := rng.IntN(n)
		edited := slices.Clone(pieces)
		switch e % 3 {
		case 0:
			edited = slices.Insert(edited, at, pieceOf(fmt.Sprint("new ", e), 10))
		case 1:
			edited[at] = pieceOf(fmt.Sprint("other ", e), 10)
		default:
			edited = slices.Delete(edited, at, at+1)
		}
		fresh := 0
		for i, d := range groupsOf(t, edited, limits) {
			if !had[d] {
				fresh++
				if (i+2)*perGroup < at/2 { // a group holds at least half: this one ends well before the edit
					t.Fatalf("an edit at %d changed group %d", at, i)
				}
			}
		}
		total, most = total+fresh, max(most, fresh)
	}
	if mean := float64(total) / edits; mean > 2.5 || most > 12 {
		t.Errorf("an edit changes %.2f of %d groups, %d at most", mean, len(before), most)
	} else {
		t.Logf("an edit changes %.2f of %d groups, %d at most", mean, len(before), most)
	}
	if one := groupsOf(t, pieces[:perGroup], limits); len(one) != 1 {
		t.Errorf("what fits into one group is %d", len(one))
	}
}

// An address tells the texts, their order and the place.
func TestAddresses(t *testing.T) {
	seen := map[ledger.Hash]string{}
	for _, texts := range [][]string{{"a"}, {"b"}, {"a", "b"}, {"b", "a"}, {"a", "a"}, {"ab"}, {"a", "b", "a"}, {"", "a"}} {
		var members []*piece
		for _, text := range texts {
			members = append(members, pieceOf(text, 1))
		}
		g := newGroup(members, nil)
		for i := range texts {
			name := fmt.Sprintf("%q at %d", texts, i)
			if other, twice := seen[g.address(i)]; twice {
				t.Errorf("%s has the address of %s", name, other)
			}
			seen[g.address(i)] = name
			if g.address(i) == sha256.Sum256([]byte(texts[i])) || g.address(i) != newGroup(members, nil).address(i) {
				t.Errorf("%s: the address is that of the text, or changes", name)
			}
		}
	}
}
