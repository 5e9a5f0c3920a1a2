package objects

import (
	"context"
	"io"
	"strings"
	"time"

	"gocloud.dev/blob"

	"github.com/kbsync/kbsync/connector"
)

// Provider is what one kind of object store does in its own way. Keys are always the store's own, never those that gocloud.dev/blob
// escapes; so reading goes through the client that [blob.Bucket.As] gives.
type Provider interface {
	// BeforeList sets the prefix in the request of a page, as it is (gocloud.dev escapes it), and what else the store's listings need. as is
	// that of [blob.ListOptions].BeforeList.
	BeforeList(as func(any) bool, prefix string) error
	// Entry reads what the listing says of one object from the store's own type. Its error spoils that object alone.
	Entry(o *blob.ListObject) (Entry, error)
	// Read opens the object for reading, as it is stored, from byte from on (0 is the whole of it and must work for an empty
	// object). A range that lies behind the end is to be classed as [connector.ClassChanged].
	Read(ctx context.Context, key string, from int64) (Reading, error)
	// Tags are those of the object; it is called where the configuration asks for tags, after Read.
	Tags(ctx context.Context, key string) (map[string]string, error)
	// Classify gives an error of the store its class and a message for people; nil where it knows nothing about it. Errors of the
	// network and of gocloud.dev need not be known.
	Classify(err error) error
}

// Entry is what a listing says of one object.
type Entry struct {
	// Key as the store holds it; it need not be UTF-8.
	Key string
	// Version is the ETag or the generation, in the form that Reading has too.
	Version string
	// MediaType and Metadata are set where the store lists them; most do not.
	MediaType string
	Metadata  map[string]string
}

// Reading is an object that is being read.
type Reading struct {
	Body io.ReadCloser
	// Start is where Body begins: servers may ignore the range that was asked for.
	Start int64
	// Size is that of the whole object, as it is stored; -1 where the answer does not say.
	Size int64
	// Version of what Body gives.
	Version string
	// ContentType and ContentEncoding as stored.
	ContentType, ContentEncoding string
	ModTime                      time.Time
	// Metadata is the user's.
	Metadata map[string]string
}

// ETag takes the quotes and the mark of a weak one off, which listings and answers write differently.
func ETag(s string) string { return strings.Trim(strings.TrimPrefix(s, "W/"), `"`) }

// mediaType leaves out the types that say nothing: what clients send when they do not know better.
func mediaType(contentType string) string {
	base, _, _ := strings.Cut(contentType, ";")
	switch strings.ToLower(strings.TrimSpace(base)) {
	case "application/octet-stream", "binary/octet-stream", "application/x-www-form-urlencoded", "application/x-directory":
		return ""
	}
	return contentType
}

// encoding is that of Facts. aws-chunked is about the transfer; some stores keep it by mistake.
func encoding(contentEncoding string) (string, error) {
	out := ""
	for part := range strings.SplitSeq(contentEncoding, ",") {
		switch part = strings.ToLower(strings.TrimSpace(part)); part {
		case "", "identity", "aws-chunked", "utf-8":
		case "gzip", "x-gzip":
			if out != "" {
				return "", connector.Errorf(connector.ClassInvalid, "Content-Encoding %q: it is packed twice", contentEncoding)
			}
			out = "gzip"
		default:
			return "", connector.Errorf(connector.ClassInvalid, "Content-Encoding %q: gzip alone can be read; store the object without it", contentEncoding)
		}
	}
	return out, nil
}
