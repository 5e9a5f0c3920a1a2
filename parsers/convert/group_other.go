//go:build !unix

package convert

import "os/exec"

// group leaves the program alone: only it is killed when its context ends.
func group(*exec.Cmd) {}

func endGroup(*exec.Cmd) {}
