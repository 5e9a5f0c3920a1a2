//go:build nomodel

// Package e5small holds no weights in this build.
package e5small

// Weights are nil.
func Weights() []byte { return nil }
