//go:build !unix

package pdf

import "time"

// processorTime is the time of the clock, where the system does not tell what a process used.
func processorTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
