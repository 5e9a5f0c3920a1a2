package pipeline

import (
	"errors"
	"fmt"
	"os"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/ledger"
)

// The exit codes of every command.
const (
	ExitDone        = 0
	ExitFailed      = 1 // some documents failed, or verify found drift
	ExitUsage       = 2 // usage or configuration
	ExitRefused     = 3 // a guard refused
	ExitUnreachable = 4 // a service is unreachable
)

// UsageError is a fault of the configuration or the command line.
type UsageError struct{ Err error }

// Error is the text of the fault.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap gives the fault.
func (e *UsageError) Unwrap() error { return e.Err }

// UsageErrorf makes a UsageError.
func UsageErrorf(format string, args ...any) error {
	return &UsageError{fmt.Errorf(format, args...)}
}

// GuardError says that a guard refused, and which flag overrides it.
type GuardError struct{ Reason string }

// Error is the reason.
func (e *GuardError) Error() string { return e.Reason }

// UnreachableError says that a service did not answer, or broke off, after all retries.
type UnreachableError struct{ Err error }

// Error is the cause in words.
func (e *UnreachableError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// ExitCode maps an error to the exit code of a command; nil is ExitDone.
func ExitCode(err error) int {
	var usage *UsageError
	var conf config.Errors
	var guard *GuardError
	var unreachable *UnreachableError
	var locked *ledger.LockedError
	switch {
	case err == nil, errors.Is(err, ErrDrained) && !errors.As(err, &guard) && !errors.As(err, &unreachable):
		return ExitDone
	case errors.As(err, &guard), errors.As(err, &locked):
		return ExitRefused
	case errors.As(err, &unreachable):
		return ExitUnreachable
	case errors.As(err, &usage), errors.As(err, &conf), errors.Is(err, connector.ErrNoCollection):
		return ExitUsage
	}
	switch connector.ClassOf(err) {
	case connector.ClassTransient, connector.ClassThrottled, connector.ClassDenied, connector.ClassCredentials:
		return ExitUnreachable
	case connector.ClassConflict:
		return ExitRefused
	}
	return ExitFailed
}

// missingLedger makes a ledger that was never written no error.
func missingLedger(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
