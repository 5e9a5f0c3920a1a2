package config

import (
	"fmt"
	"sort"
	"strings"
)

// Position is a place in a configuration file. Line and Column count from 1, columns in characters; Line is 0 where the
// whole file is meant.
type Position struct {
	File         string
	Line, Column int
}

// String is file:line:column.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Error is one fault of a configuration. Its text quotes no values.
type Error struct {
	Pos Position
	// Path is the key path, as in sources[0].fs.root; empty where the fault is not at a key.
	Path string
	// Msg says what was expected.
	Msg string
}

// Error is "file:line:column: key path: message".
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Pos.String() + ": " + e.Msg
	}
	return e.Pos.String() + ": " + e.Path + ": " + e.Msg
}

// Errors are all faults of a configuration, in the order of their positions within each file.
type Errors []*Error

// Error has one fault a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap serves errors.Is and errors.As.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, err := range e {
		errs[i] = err
	}
	return errs
}

// maxErrors bounds what is collected: a person reads a few of them.
const maxErrors = 100

func (e Errors) sorted() Errors {
	sort.SliceStable(e, func(i, j int) bool {
		a, b := e[i].Pos, e[j].Pos
		if a.File != b.File {
			return false
		}
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Column < b.Column
	})
	return e
}
