package pgvector

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// fail says what was done where when err came, and what can be done about it. The context's own error stays what it is.
func (s *Sink) fail(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("pgvector: %s: %w", what, ctx.Err())
	}
	var batch *connector.BatchError
	if errors.As(err, &batch) {
		return err
	}
	return fmt.Errorf("pgvector: %s: %s: %w", s.address, what, s.classify(err))
}

func (s *Sink) classify(err error) error {
	var classed *connector.Error
	if errors.As(err, &classed) || errors.Is(err, connector.ErrNoCollection) {
		return err
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		class := remote.Network(err)
		var connect *pgconn.ConnectError
		if errors.As(err, &connect) || strings.Contains(err.Error(), "conn closed") {
			class = connector.ClassTransient
		}
		return &connector.Error{Class: class, Err: err}
	}
	class, advice := classOf(pg.Code)
	text := fmt.Sprintf("%s (SQLSTATE %s)", pg.Message, pg.Code)
	if advice != "" {
		text += ": " + advice
	}
	return &connector.Error{Class: class, Err: &serverError{text, pg}}
}

// serverError is an error of the server in words of this sink.
type serverError struct {
	text  string
	cause *pgconn.PgError
}

// Error is the text.
func (e *serverError) Error() string { return e.text }

// Unwrap gives the server's error.
func (e *serverError) Unwrap() error { return e.cause }

// classOf classes an SQLSTATE, with advice for people where there is some.
func classOf(code string) (class connector.Class, advice string) {
	switch code {
	case "53100":
		return connector.ClassFull, "the server's disk is full: free some space and run again"
	case "53400", "54000", "54001", "54011", "54023":
		return connector.ClassTooLarge, ""
	case "55P03":
		return connector.ClassTransient, "another transaction holds the table"
	case "57014":
		return connector.ClassTransient, "no answer within sink.pgvector.timeout"
	case "25006":
		return connector.ClassDenied, "this server only reads: write to the primary"
	case "42501":
		return connector.ClassDenied, "the role of the url lacks a right; the owner of the tables may GRANT it"
	case "3D000":
		return connector.ClassNotFound, "make it with CREATE DATABASE, or correct the url"
	case "3F000":
		return connector.ClassNotFound, "make it with CREATE SCHEMA, or correct sink.pgvector.schema"
	case "42P01":
		return connector.ClassNotFound, "somebody dropped the table; kbsync sync makes it again from the store"
	case "42703", "42P07", "42804", "42710":
		return connector.ClassConflict, "the table has another shape than kbsync gave it"
	case "40001", "40P01", "57P01", "57P02", "57P03", "57P05", "25P03":
		return connector.ClassTransient, ""
	}
	switch code[:min(2, len(code))] {
	case "08", "53":
		return connector.ClassTransient, ""
	case "28":
		return connector.ClassDenied, "check the user and password of sink.pgvector.url, and pg_hba.conf"
	case "22", "23":
		return connector.ClassInvalid, ""
	case "54":
		return connector.ClassTooLarge, ""
	}
	return connector.ClassUnknown, ""
}
