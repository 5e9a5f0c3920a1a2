package pipeline

import (
	"os"
	"runtime/debug"

	"github.com/kbsync/kbsync/connector/config"
)

// LimitMemory tells Go's collector to keep this process's heap within sync.memory, unless GOMEMLIMIT says otherwise. A part is left
// for what the collector does not see: the page caches of SQLite, stacks, the program itself.
func LimitMemory(file *config.File) {
	if os.Getenv("GOMEMLIMIT") == "" && file.Sync.Memory > 0 {
		debug.SetMemoryLimit(file.Sync.Memory / 2)
	}
}
