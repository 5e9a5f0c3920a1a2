package gcs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/kbsync/kbsync/internal/objects/objectstest"
)

func TestHundredThousand(t *testing.T) {
	objectstest.HundredThousand(t, objectstest.Listing{
		Page: func(r *http.Request) (from, size int, ok bool) {
			q := r.URL.Query()
			from, _ = strconv.Atoi(q.Get("pageToken"))
			size, _ = strconv.Atoi(q.Get("maxResults"))
			return from, size, r.URL.Path == "/storage/v1/b/docs/o"
		},
		Write: writePage,
		Open: func(tb testing.TB, url string) objectstest.Source {
			c := defaults()
			c.Bucket, c.Endpoint = "docs", url
			return open(tb, c)
		},
	})
}

// writePage answers in Google's form.
func writePage(w http.ResponseWriter, from, to int, more bool) {
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
	if more {
		page.Next = strconv.Itoa(to)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(page)
}
