package objectstest

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
)

// Listing is a store that has listings alone, in its own form: for more objects than an emulator takes in reasonable time.
type Listing struct {
	// Page says from which object on a request lists, and how many; ok is false if it asks for something else.
	Page func(r *http.Request) (from, size int, ok bool)
	// Write answers with the objects from … to-1; Page is given to as the next page's start, if more is true.
	Write func(w http.ResponseWriter, from, to int, more bool)
	// Open makes the source of the store at a URL, until the test ends.
	Open func(tb testing.TB, url string) Source
}

// HundredThousand lists as many objects: unchanged, they cost one call a page and nothing else, and the heap does not grow with the
// listing.
func HundredThousand(t *testing.T, l Listing) {
	const n = 100_000
	calls, others := 0, 0
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, size, ok := l.Page(r)
		if !ok {
			others++
			return
		}
		calls++
		to := min(from+size, n)
		l.Write(w, from, to, to < n)
	}))
	defer store.Close()
	var first, last uint64
	seen := 0
	for _, err := range l.Open(t, store.URL).Changes(t.Context()) {
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
	if seen != n || calls != n/1000 || others != 0 || last > first+4<<20 {
		t.Errorf("%d objects, %d calls, %d others; the heap grows from %d to %d bytes", seen, calls, others, first, last)
	}
	t.Logf("%d calls; heap %d and %d KiB", calls, first>>10, last>>10)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
