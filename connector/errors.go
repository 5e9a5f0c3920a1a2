package connector

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"
)

// Class says what can be done about an error.
type Class int

// The classes. The engine retries Transient and Throttled ones, halves a batch refused as Invalid or TooLarge to find the item at fault, and
// gives up on the rest.
const (
	ClassUnknown     Class = iota
	ClassTransient         // may go away by itself: network, overload, a server that restarts
	ClassThrottled         // too many requests: wait (RetryAfter) and try again
	ClassInvalid           // this item will never be accepted
	ClassTooLarge          // the request is over a size limit
	ClassDenied            // credentials or rights
	ClassNotFound          // what was asked for is not there
	ClassConflict          // something is there, but of another shape
	ClassUnsupported       // the other side cannot do it
	ClassChanged           // the document changed while it was read
	ClassFull              // out of disk space or quota
	ClassCredentials       // the credentials themselves were refused or ran out: nothing more will work with them
)

var classNames = [...]string{"unknown", "transient", "throttled", "invalid", "too large", "denied", "not found", "conflict", "unsupported", "changed", "full", "credentials"}

// String is the class in words.
func (c Class) String() string {
	if c < 0 || int(c) >= len(classNames) {
		return "unknown"
	}
	return classNames[c]
}

// Error is an error with its class.
type Error struct {
	Class      Class
	RetryAfter time.Duration // for ClassThrottled: how long to wait; 0 if the other side did not say
	Err        error
}

// Error is the wrapped error's text.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap gives the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an error of a class. It formats as fmt.Errorf does, %w included.
func Errorf(class Class, format string, args ...any) error {
	return &Error{Class: class, Err: fmt.Errorf(format, args...)}
}

// ClassOf is the class of the outermost *Error in err's chain; deadline errors count as transient, others as unknown.
func ClassOf(err error) Class {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Class
	case errors.Is(err, context.DeadlineExceeded):
		return ClassTransient
	}
	return ClassUnknown
}

// Errors that callers test for with errors.Is.
var (
	ErrNoCollection = errors.New("no collection yet: run kbsync sync first")
	ErrUnsupported  = &Error{Class: ClassUnsupported, Err: errors.New("unsupported by this sink")}
)

// DocError spoils one document, or with Dir everything below one folder, and leaves the listing in order.
type DocError struct {
	Path string
	Dir  bool
	Err  error
}

// Error names the path.
func (e *DocError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *DocError) Unwrap() error { return e.Err }

// BatchError names the items of a batch that failed, by index. Every other item was done.
type BatchError struct {
	Items map[int]error
}

// Error lists the first few items in order.
func (e *BatchError) Error() string {
	idx := e.Indexes()
	var b strings.Builder
	fmt.Fprintf(&b, "%d items of the batch failed", len(idx))
	for n, i := range idx {
		if n == 3 {
			b.WriteString("; …")
			break
		}
		fmt.Fprintf(&b, "; item %d: %v", i, e.Items[i])
	}
	return b.String()
}

// Indexes are the failed items' indexes, ascending.
func (e *BatchError) Indexes() []int {
	idx := make([]int, 0, len(e.Items))
	for i := range e.Items {
		idx = append(idx, i)
	}
	sort.Ints(idx)
	return idx
}
