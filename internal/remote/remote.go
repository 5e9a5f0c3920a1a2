// Package remote holds what the sinks of database servers share: the common keys of their configuration, the names of physical
// collections, and the classes of errors of gRPC and HTTP.
package remote

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kbsync/kbsync/connector"
)

// Common are the keys that every server's sink takes; it is embedded with `yaml:",inline"`.
type Common struct {
	Collection string        `yaml:"collection" doc:"the name that queries use; default the pipeline's name. The real name carries the generation"`
	Fields     Fields        `yaml:"fields" doc:"names of the fields, such as { content: text }, or langchain or llamaindex"`
	Distance   string        `yaml:"distance" enum:"cosine,dot,l2" doc:"how vectors are compared"`
	Sparse     string        `yaml:"sparse" enum:"bm25,none" doc:"what lexical and hybrid queries are answered from"`
	InPlace    bool          `yaml:"in_place" doc:"one collection under its own name, without alias, rollback or building beside the old one"`
	BlueGreen  string        `yaml:"blue_green" enum:"ask,auto" doc:"whether a changed model or layout waits for --allow-rebuild or is built at once"`
	Keep       int           `yaml:"keep" doc:"how many generations that were live before are kept for kbsync rollback"`
	Batch      int           `yaml:"batch" doc:"chunks in a request; 0: the best size measured"`
	Timeout    time.Duration `yaml:"timeout" doc:"the longest time for one request"`
}

// Defaults are the values of the common keys.
func Defaults() Common {
	return Common{Distance: "cosine", Sparse: "bm25", BlueGreen: "ask", Keep: 1, Timeout: time.Minute}
}

// Validate checks the common keys and fills those that are empty, the collection from the pipeline's name.
func (c *Common) Validate() error {
	fresh := Defaults()
	fill := func(s *string, v string) {
		if *s == "" {
			*s = v
		}
	}
	fill(&c.Distance, fresh.Distance)
	fill(&c.Sparse, fresh.Sparse)
	fill(&c.BlueGreen, fresh.BlueGreen)
	if c.Timeout == 0 {
		c.Timeout = fresh.Timeout
	}
	switch {
	case c.Distance != "cosine" && c.Distance != "dot" && c.Distance != "l2":
		return fmt.Errorf("distance %q: want cosine, dot or l2", c.Distance)
	case c.Sparse != "bm25" && c.Sparse != "none":
		return fmt.Errorf("sparse %q: want bm25 or none", c.Sparse)
	case c.BlueGreen != "ask" && c.BlueGreen != "auto":
		return fmt.Errorf("blue_green %q: want ask or auto", c.BlueGreen)
	case c.Keep < 0 || c.Batch < 0 || c.Timeout < 0:
		return errors.New("keep, batch and timeout must not be negative")
	}
	return nil
}

// Policy is the part of the capabilities that the common keys decide.
func (c *Common) Policy() connector.Policy {
	return connector.Policy{InPlace: c.InPlace, Auto: c.BlueGreen == "auto", Keep: c.Keep}
}

// Modes are the modes that a sink with dense vectors answers, by the key sparse.
func (c *Common) Modes() []connector.SearchMode {
	if c.Sparse == "none" {
		return []connector.SearchMode{connector.ModeDense}
	}
	return []connector.SearchMode{connector.ModeDense, connector.ModeLexical, connector.ModeHybrid}
}

// Layout identifies the stored shape: the sink's own version of it, the names of fields and the sparse vectors.
func (c *Common) Layout(version string, names map[string]string) string {
	b, err := json.Marshal(names) // keys in order
	if err != nil {
		return version
	}
	return version + " sparse=" + c.Sparse + " " + string(b)
}

// Physical is the real name of a generation's collection.
func (c *Common) Physical(generation string) string {
	if c.InPlace {
		return c.Collection
	}
	return c.Collection + "_" + generation
}

var generationSuffix = regexp.MustCompile(`^_(g[0-9a-z]{1,12})$`)

// Generation is the generation in the name of a collection of this pipeline; ok is false for other names. It says nothing of
// collections in place.
func (c *Common) Generation(physical string) (generation string, ok bool) {
	rest, ok := strings.CutPrefix(physical, c.Collection)
	if !ok {
		return "", false
	}
	m := generationSuffix.FindStringSubmatch(rest)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// Meta is what a physical collection says of itself, as JSON in a description, a comment or a property.
type Meta struct {
	Kbsync int              `json:"kbsync"` // version of this form: 1
	Schema connector.Schema `json:"schema"`
	Marker string           `json:"marker"`
}

// NewMeta makes the description of a new collection, with a marker that no other one has.
func NewMeta(schema connector.Schema) Meta {
	return Meta{Kbsync: 1, Schema: schema, Marker: rand.Text()}
}

// String is the JSON.
func (m Meta) String() string {
	b, err := json.Marshal(m)
	if err != nil {
		return "{}"
	}
	return string(b)
}

// ParseMeta reads a description; ok is false for one that kbsync did not write.
func ParseMeta(s string) (m Meta, ok bool) {
	err := json.Unmarshal([]byte(s), &m)
	return m, err == nil && m.Kbsync > 0 && m.Schema.Generation != ""
}

// Conflict is the error for an existing collection of another shape: it names every difference.
func Conflict(where string, have, want connector.Schema) error {
	var diff []string
	add := func(what string, h, w any) {
		if h != w {
			diff = append(diff, fmt.Sprintf("%s is %v, wanted %v", what, h, w))
		}
	}
	add("generation", have.Generation, want.Generation)
	add("model", have.Model, want.Model)
	add("dimensions", have.Dimensions, want.Dimensions)
	add("distance", have.Distance, want.Distance)
	add("layout", have.Layout, want.Layout)
	return connector.Errorf(connector.ClassConflict, "%s exists with another shape: %s", where, strings.Join(diff, "; "))
}

// Foreign is the error for a collection of that name which kbsync did not make.
func Foreign(where string) error {
	return connector.Errorf(connector.ClassConflict, "%s exists and was not made by kbsync: choose another collection, or take its chunks over with kbsync adopt", where)
}

// GRPC classifies an error of a gRPC call. The context's own error stays what it is.
func GRPC(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var classed *connector.Error
	if errors.As(err, &classed) {
		return err
	}
	class := connector.ClassUnknown
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Aborted, codes.Internal, codes.Canceled:
		class = connector.ClassTransient
	case codes.ResourceExhausted:
		class = connector.ClassThrottled
		if strings.Contains(err.Error(), "larger than max") {
			class = connector.ClassTooLarge
		}
	case codes.InvalidArgument, codes.OutOfRange, codes.FailedPrecondition:
		class = connector.ClassInvalid
	case codes.NotFound:
		class = connector.ClassNotFound
	case codes.AlreadyExists:
		class = connector.ClassConflict
	case codes.PermissionDenied, codes.Unauthenticated:
		class = connector.ClassDenied
	case codes.Unimplemented:
		class = connector.ClassUnsupported
	case codes.Unknown:
		class = Network(err)
	}
	return full(class, err)
}

// full makes an error of a class; a message that speaks of a full disk wins over the class.
func full(class connector.Class, err error) error {
	if s := strings.ToLower(err.Error()); strings.Contains(s, "no space left") || strings.Contains(s, "disk full") || strings.Contains(s, "disk is full") ||
		strings.Contains(s, "read-only") && strings.Contains(s, "disk") {
		class = connector.ClassFull
	}
	return &connector.Error{Class: class, Err: err}
}

// Network is the class of an error below the protocol: ClassTransient for connections and timeouts, else ClassUnknown.
func Network(err error) connector.Class {
	var ne net.Error
	var oe *net.OpError
	var ue *url.Error
	switch {
	case errors.As(err, &oe), errors.As(err, &ne) && ne.Timeout(), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EPIPE), errors.Is(err, context.DeadlineExceeded):
		return connector.ClassTransient
	case errors.As(err, &ue):
		return connector.ClassTransient
	}
	return connector.ClassUnknown
}

// HTTP classifies an answer by its status code; the message is the server's. 2xx gives nil.
func HTTP(code int, header http.Header, message string) error {
	if code >= 200 && code < 300 {
		return nil
	}
	err := fmt.Errorf("HTTP %d: %s", code, strings.TrimSpace(message))
	class := connector.ClassUnknown
	switch {
	case code == http.StatusTooManyRequests:
		return &connector.Error{Class: connector.ClassThrottled, RetryAfter: RetryAfter(header), Err: err}
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		class = connector.ClassDenied
	case code == http.StatusNotFound:
		class = connector.ClassNotFound
	case code == http.StatusConflict:
		class = connector.ClassConflict
	case code == http.StatusRequestEntityTooLarge:
		class = connector.ClassTooLarge
	case code == http.StatusInsufficientStorage:
		class = connector.ClassFull
	case code == http.StatusNotImplemented || code == http.StatusMethodNotAllowed:
		class = connector.ClassUnsupported
	case code == http.StatusRequestTimeout || code >= 500:
		class = connector.ClassTransient
	case code >= 400:
		class = connector.ClassInvalid
	}
	return full(class, err)
}

// RetryAfter is the wait that a Retry-After header asks for, in seconds or until a date; 0 if there is none.
func RetryAfter(h http.Header) time.Duration {
	s := h.Get("Retry-After")
	if n, err := strconv.Atoi(s); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(s); err == nil {
		return max(0, time.Until(t))
	}
	return 0
}
