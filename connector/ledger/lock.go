package ledger

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// Holder is who holds a lock.
type Holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Since   time.Time `json:"since"`
	Command string    `json:"command"`
}

// Lock keeps two runs of one pipeline from interleaving. The operating system releases it when its process dies,
// however it dies, so a dead holder never blocks.
type Lock struct{ f *flock.Flock }

// LockedError says who holds the lock.
type LockedError struct {
	Path   string
	Holder Holder // zero if it could not be read
}

// Error names the holder and says what to do.
func (e *LockedError) Error() string {
	if e.Holder.PID == 0 {
		return fmt.Sprintf("another run of this pipeline holds %s: wait for it to end", e.Path)
	}
	return fmt.Sprintf("another run of this pipeline is at work: `%s`, process %d on %s since %s: wait for it or end it (lock %s)",
		e.Holder.Command, e.Holder.PID, e.Holder.Host, e.Holder.Since.Local().Format(time.DateTime), e.Path)
}

// Acquire takes the lock that belongs to the ledger at path, or fails at once with a *LockedError.
func Acquire(path, command string) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("ledger: lock: %w", err)
	}
	name := path + ".lock"
	f := flock.New(name)
	ok, err := f.TryLock()
	if err != nil {
		return nil, fmt.Errorf("ledger: lock %s: %w", name, err)
	}
	// The holder's name stands in a file beside the lock: writing into the lock file itself fails on systems with mandatory locks.
	info := name + ".json"
	if !ok {
		locked := &LockedError{Path: name}
		if b, err := os.ReadFile(info); err == nil {
			_ = json.Unmarshal(b, &locked.Holder)
		}
		return nil, locked
	}
	host, _ := os.Hostname()
	b, err := json.Marshal(Holder{PID: os.Getpid(), Host: host, Since: time.Now().UTC().Truncate(time.Second), Command: command})
	if err == nil {
		err = os.WriteFile(info, b, 0o644)
	}
	if err != nil {
		_ = f.Unlock()
		return nil, fmt.Errorf("ledger: lock: %w", err)
	}
	return &Lock{f}, nil
}

// Release gives the lock up.
func (l *Lock) Release() error {
	_ = os.Remove(l.f.Path() + ".json")
	return l.f.Unlock()
}
