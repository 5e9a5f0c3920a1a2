//go:build !cgo

package code

import "context"

// backend names what divides source text in this build.
const backend = "go/ast+indent"

// engine parses Go alone.
type engine struct{}

func newEngine() *engine { return &engine{} }

func (e *engine) languages() []string { return []string{"go"} }

// parse divides text by its syntax. ok is false if it is not Go, or does not parse.
func (e *engine) parse(_ context.Context, language, text string) (list []decl, ok bool, err error) {
	if language != "go" {
		return nil, false, nil
	}
	list, ok = parseGo(text)
	return list, ok, nil
}
