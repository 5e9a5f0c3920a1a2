//go:build unix

package pdf

import (
	"syscall"
	"time"
)

// processorTime is what this process has used of the processors.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
