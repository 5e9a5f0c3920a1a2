package objects

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/kbsync/kbsync/connector"
)

// maxPage bounds the answer that lists one page: 1,000 names of 1 KiB with metadata of 8 KiB each have room.
const maxPage = 32 << 20

// CheckPage is for the transport of a client: it reads the answer that lists one page before the client parses it, and lets it pass if
// check finds that it is a listing. The page of a proxy or of a portal that answers 200 would otherwise be taken for an
// empty bucket, and everything in it for deleted.
func CheckPage(answer *http.Response, check func(page []byte) error) error {
	page, err := io.ReadAll(io.LimitReader(answer.Body, maxPage+1))
	_ = answer.Body.Close() // it was read
	switch {
	case err != nil:
		return connector.Errorf(connector.ClassTransient, "the listing was cut off: %w", err)
	case len(page) > maxPage:
		return connector.Errorf(connector.ClassInvalid, "one page of the listing is over %d bytes", maxPage)
	}
	if err := check(page); err != nil {
		return connector.Errorf(connector.ClassTransient, "%w (does a proxy or a portal answer in place of the store?)", err)
	}
	answer.Body = io.NopCloser(bytes.NewReader(page))
	return nil
}

// ErrNoListing is for the check of CheckPage.
var ErrNoListing = errors.New("the answer is no listing of objects")

// Start is where a body begins, by the Content-Range of its answer ("bytes 5-9/10"), and how long the whole object is.
func Start(contentRange string) (from, size int64, err error) {
	var last int64
	if _, err := fmt.Sscanf(contentRange, "bytes %d-%d/%d", &from, &last, &size); err != nil || from < 0 || last < from || size <= last {
		return 0, 0, connector.Errorf(connector.ClassTransient, "the answer's Content-Range %.60q cannot be read", contentRange)
	}
	return from, size, nil
}
