package gcs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"testing"
)

// TestHundredThousand lists more than an emulator takes in reasonable time, from pages in Google's form: an unchanged bucket costs one call
// a page and nothing else, and the heap does not grow with the listing.
func TestHundredThousand(t *testing.T) {
	const n = 100_000
	calls, readings := 0, 0
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/storage/v1/b/docs/o" {
			readings++
			return
		}
		calls++
		q := r.URL.Query()
		from, _ := strconv.Atoi(q.Get("pageToken"))
		size, _ := strconv.Atoi(q.Get("maxResults"))
		writePage(w, from, min(from+size, n), n)
	}))
	defer store.Close()
	c := defaults()
	c.Bucket, c.Endpoint = "docs", store.URL
	s, err := Open(t.Context(), c, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	var first, last uint64
	seen := 0
	for _, err := range s.Changes(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		switch seen++; seen {
		case 10_000:
			first = heap()
		case n - 1:
			last = heap()
		}
	}
	if seen != n || calls != n/1000 || readings != 0 || last > first+4<<20 {
		t.Errorf("%d objects, %d calls, %d readings; the heap grows from %d to %d bytes", seen, calls, readings, first, last)
	}
	t.Logf("%d calls; heap %d and %d KiB", calls, first>>10, last>>10)
}

func writePage(w http.ResponseWriter, from, to, n int) {
	type item struct {
		Name       string `json:"name"`
		Generation string `json:"generation"`
		Size       string `json:"size"`
		Updated    string `json:"updated"`
	}
	page := struct {
		Kind  string `json:"kind"`
		Next  string `json:"nextPageToken,omitempty"`
		Items []item `json:"items"`
	}{Kind: "storage#objects"}
	for i := from; i < to; i++ {
		page.Items = append(page.Items, item{fmt.Sprintf("docs/%06d.md", i), strconv.Itoa(1_700_000_000_000_000 + i), "12", "2026-01-02T03:04:05.678Z"})
	}
	if to < n {
		page.Next = strconv.Itoa(to)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(page)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
