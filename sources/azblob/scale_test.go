package azblob

import (
	"bytes"
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
			from, _ = strconv.Atoi(q.Get("marker"))
			size, _ = strconv.Atoi(q.Get("maxresults"))
			return from, size, q.Get("comp") == "list"
		},
		Write: writePage,
		Open: func(tb testing.TB, url string) objectstest.Source {
			c := defaults()
			c.Account, c.Container, c.Endpoint, c.Anonymous = "corp", "docs", url, true
			return open(tb, c)
		},
	})
}

// writePage answers in Azure's form.
func writePage(w http.ResponseWriter, from, to int, more bool) {
	var b bytes.Buffer
	b.WriteString("<?xml version='1.0' encoding='utf-8'?><EnumerationResults><Blobs>")
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "<Blob><Name>docs/%06d.md</Name><Properties><Last-Modified>Mon, 05 Jan 2026 03:04:05 GMT</Last-Modified><Etag>0x%X</Etag>"+
			"<Content-Length>12</Content-Length><Content-Type>text/markdown</Content-Type></Properties></Blob>", i, i+1<<40)
	}
	b.WriteString("</Blobs><NextMarker>")
	if more {
		b.WriteString(strconv.Itoa(to))
	}
	b.WriteString("</NextMarker></EnumerationResults>")
	w.Header().Set("Content-Type", "application/xml")
	_, _ = w.Write(b.Bytes())
}
