package connector

import (
	"context"
	"io"
	"iter"
	"time"
)

// Container is a Parser of files that hold other files: archives, and mail with attachments. Parse yields the text of the container itself
// (that of a mail; an archive has none); the engine takes each member for a document of its own, whose path is the container's, a slash and
// the member's.
type Container interface {
	Parser
	// Members yields what the container holds, in the order of the file. r gives the whole file, of size bytes; it may be read until the
	// sequence ends and all readers of Open are closed. A member that cannot be had (encrypted, of an unknown method, over a limit) is
	// yielded with Reason; folders, links and devices are not yielded. An error ends the sequence: whoever listed nothing knows nothing of
	// what the container holds. The same bytes give the same members. The limits of the whole container (members, bytes, ratio) are the
	// container's own; those of nesting are the engine's.
	Members(ctx context.Context, doc *Document, r io.ReaderAt, size int64) iter.Seq2[Member, error]
}

// Member is a file in a container.
type Member struct {
	// Path is slash-separated, relative, never empty, without "." and ".." components, and unique in its container.
	Path string
	// Version changes whenever the content may have changed: a checksum with the size, or a digest. Never empty.
	Version string
	// Size is the unpacked size in bytes, -1 if unknown. ModifiedAt is zero and MediaType empty where unknown.
	Size       int64
	ModifiedAt time.Time
	MediaType  string
	// Metadata as in [Document]; may be nil.
	Metadata map[string]any
	// Reason says why the member cannot be read; then Open is nil.
	Reason string
	// Open gives a fresh reader of the unpacked content. A content that breaks a limit or its checksum is an error of class [ClassInvalid].
	// It may be called concurrently, and until the readers of the container go away.
	Open func(ctx context.Context) (io.ReadCloser, error)
}
