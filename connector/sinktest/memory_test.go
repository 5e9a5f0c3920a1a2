package sinktest

import (
	"testing"

	"github.com/kbsync/kbsync/connector"
)

func TestMemory(t *testing.T) {
	for _, distance := range []string{"cosine", "dot", "l2"} {
		t.Run(distance, func(t *testing.T) {
			var last *Memory
			Run(t, func(*testing.T) connector.Sink { last = NewMemory(); return last },
				Options{Distance: distance, Reopen: func(*testing.T) connector.Sink { return last }})
		})
	}
}
