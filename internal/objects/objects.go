// Package objects is what the sources of object stores share: listing a bucket page by page, names, reading and resuming, and the
// classes of errors. What differs between the stores is a [Provider].
//
// A listing is flat and costs one call a page; nothing is read. It goes on at the very page that it could not get, and at the very
// object within a page. A document's path is its key without the folders of the prefix, its version the ETag or generation of the
// listing. A reading says which version it reads; bytes are passed on as they are stored, never unpacked.
package objects

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"gocloud.dev/blob"

	"github.com/kbsync/kbsync/internal/globs"
)

// Config are the keys that every object store's source takes; it is embedded with `yaml:",inline"`.
type Config struct {
	Prefix      string   `yaml:"prefix" doc:"what the keys to list start with; paths and globs are relative to its last slash"`
	Include     []string `yaml:"include" doc:"globs of the objects to list"`
	Exclude     []string `yaml:"exclude" doc:"globs of objects and folders to leave out"`
	MaxSize     int64    `yaml:"max_size" format:"size" doc:"larger objects are skipped; 0: no limit"`
	MaxTreeSize int64    `yaml:"max_tree_size" format:"size" doc:"larger objects are cut as plain text, in bounded memory"`
	Tags        bool     `yaml:"tags" doc:"whether the tags of objects become metadata; one more call for each object that is read"`

	// PageSize is how many objects a call lists; 0 means 1,000. Tests make it small.
	PageSize int `yaml:"-"`
}

// Defaults lists everything.
func Defaults() Config {
	return Config{Include: []string{"**/*"}, MaxTreeSize: 64 << 20}
}

// Validate checks the patterns and limits.
func (c *Config) Validate() error {
	var errs []error
	if err := globs.Validate(c.Include, c.Exclude); err != nil {
		errs = append(errs, err)
	}
	if !utf8.ValidString(c.Prefix) {
		errs = append(errs, errors.New("prefix: not valid UTF-8"))
	}
	if c.MaxSize < 0 || c.MaxTreeSize < 0 {
		errs = append(errs, fmt.Errorf("max_size and max_tree_size: expected 0 or more"))
	}
	return errors.Join(errs...)
}

// Options are what a source of one bucket is made of.
type Options struct {
	// Kind stands before every error: "s3".
	Kind string
	// Base is the URI that escaped keys are put behind, such as s3://bucket/.
	Base   string
	Bucket *blob.Bucket
	Provider
	// Release frees what the client holds, such as idle connections, after the bucket is closed; may be nil.
	Release func() error
}

const (
	pageSize = 1000
	// pageTimeout bounds the call for one page, stallTimeout the time in which a reading gives no byte: a server that hangs
	// looks like a network that is down.
	pageTimeout  = 2 * time.Minute
	stallTimeout = 2 * time.Minute
	// maxCalls bounds the calls for one page: some stores give short and empty pages where much was deleted.
	maxCalls = 10_000
)
