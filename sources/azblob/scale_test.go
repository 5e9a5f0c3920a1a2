package azblob

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"testing"
)

// TestHundredThousand lists more than an emulator takes in reasonable time, from pages in Azure's form: an unchanged container costs one
// call a page and nothing else, and the heap does not grow with the listing.
func TestHundredThousand(t *testing.T) {
	const n = 100_000
	calls, readings := 0, 0
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("comp") != "list" {
			readings++
			return
		}
		calls++
		from, _ := strconv.Atoi(q.Get("marker"))
		size, _ := strconv.Atoi(q.Get("maxresults"))
		writePage(w, from, min(from+size, n), n)
	}))
	defer store.Close()
	c := defaults()
	c.Account, c.Container, c.Endpoint, c.Anonymous = "corp", "docs", store.URL, true
	s, err := Open(t.Context(), c)
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
		t.Errorf("%d blobs, %d calls, %d readings; the heap grows from %d to %d bytes", seen, calls, readings, first, last)
	}
	t.Logf("%d calls; heap %d and %d KiB", calls, first>>10, last>>10)
}

func writePage(w http.ResponseWriter, from, to, n int) {
	var b bytes.Buffer
	b.WriteString("<?xml version='1.0' encoding='utf-8'?><EnumerationResults><Blobs>")
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "<Blob><Name>docs/%06d.md</Name><Properties><Last-Modified>Mon, 05 Jan 2026 03:04:05 GMT</Last-Modified><Etag>0x%X</Etag>"+
			"<Content-Length>12</Content-Length><Content-Type>text/markdown</Content-Type></Properties></Blob>", i, i+1<<40)
	}
	b.WriteString("</Blobs><NextMarker>")
	if to < n {
		b.WriteString(strconv.Itoa(to))
	}
	b.WriteString("</NextMarker></EnumerationResults>")
	w.Header().Set("Content-Type", "application/xml")
	_, _ = w.Write(b.Bytes())
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
