package connector

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"testing"
)

// FuzzTreeKey: the key is injective and orders paths component by component.
func FuzzTreeKey(f *testing.F) {
	f.Add("a/b", "a.txt")
	f.Add("a\x01b", "a/b")
	f.Add("a\x02\x01", "a\x02/b")
	f.Fuzz(func(t *testing.T, a, b string) {
		if TreePath(TreeKey(a)) != a || TreePath(TreeKey(b)) != b {
			t.Fatalf("%q, %q do not come back", a, b)
		}
		want := slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
		if got := strings.Compare(TreeKey(a), TreeKey(b)); got != want {
			t.Fatalf("%q and %q compare as %d, want %d", a, b, got, want)
		}
	})
}

// TestIDs pins the forms of ids: a change of any of them would rewrite every collection.
func TestIDs(t *testing.T) {
	// The DNS example of RFC 9562, appendix A.4.
	dns, err := ParseUUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
	if err != nil || NewUUID5(dns, "www.example.com").String() != "2ed6657d-e927-568b-95e1-2665a8aea6a2" {
		t.Errorf("%v %s", err, NewUUID5(dns, "www.example.com"))
	}
	doc := DocID("handbook", "docs", "a/q1.pdf")
	if doc == DocID("handbook", "docs", "b/q1.pdf") || doc == DocID("handbook", "docsa", "/q1.pdf") || doc == DocID("other", "docs", "a/q1.pdf") {
		t.Error("two documents share an id")
	}
	hash := ContentHash("text")
	if ChunkIDByContent("handbook", doc, hash, 0) == ChunkIDByContent("handbook", doc, hash, 1) {
		t.Error("two occurrences share an id")
	}
	for _, bad := range []string{"", "6ba7b810-9dad-11d1-80b4-00c04fd430c", "6ba7b810x9dad-11d1-80b4-00c04fd430c8", "6ba7b810-9dad-11d1-80b4-00c04fd430cg"} {
		if _, err := ParseUUID(bad); err == nil {
			t.Errorf("%q passes for a UUID", bad)
		}
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	type config struct {
		Key Secret
	}
	c := config{"hunter2"}
	js, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("opened", "config", c, "key", c.Key)
	all := strings.Join([]string{string(js), log.String(), fmt.Sprintf("%v %+v %#v %s %q %x %d", c, c, c, c.Key, c.Key, c.Key, c.Key), fmt.Errorf("key %v", c.Key).Error()}, "\n")
	if strings.Contains(all, "hunter2") || strings.Contains(all, fmt.Sprintf("%x", "hunter2")) || c.Key.Reveal() != "hunter2" {
		t.Error(all)
	}
}

func TestErrors(t *testing.T) {
	err := fmt.Errorf("wrapped: %w", Errorf(ClassThrottled, "cause %w", path.ErrBadPattern))
	if ClassOf(err) != ClassThrottled || !errors.Is(err, path.ErrBadPattern) || ClassOf(errors.New("x")) != ClassUnknown {
		t.Error(err)
	}
	be := &BatchError{Items: map[int]error{7: errors.New("seven"), 2: errors.New("two")}}
	if !slices.Equal(be.Indexes(), []int{2, 7}) || !strings.Contains(be.Error(), "item 2: two; item 7: seven") {
		t.Error(be)
	}
	if c := (Chunk{Context: "A > B\n", Text: "body"}); c.EmbedText() != "A > B\nbody" {
		t.Error(c.EmbedText())
	}
}
