package archive

import (
	"io"
	"os"
	"runtime"

	"github.com/kbsync/kbsync/connector"
)

// spoolMemory is up to which size a spool stays in memory.
const spoolMemory = 4 << 20

// spool keeps what was unpacked once: first it is written, then it is read, by anybody. Nobody tells it when the last reader is gone, so
// the file has no name where the system allows it, and is closed when no member refers to the spool any more.
type spool struct {
	memory []byte
	file   *os.File
	n      int64
}

// Write implements io.Writer.
func (s *spool) Write(p []byte) (int, error) {
	if s.file == nil && len(s.memory)+len(p) > spoolMemory {
		f, err := os.CreateTemp("", "kbsync-archive-*")
		if err != nil {
			return 0, connector.Errorf(connector.ClassFull, "a temporary file for what the archive holds: %w", err)
		}
		_ = os.Remove(f.Name()) // else when it is closed
		s.file = f
		runtime.AddCleanup(s, forget, f)
		if _, err := f.Write(s.memory); err != nil {
			return 0, connector.Errorf(connector.ClassFull, "a temporary file for what the archive holds: %w", err)
		}
		s.memory = nil
	}
	if s.file == nil {
		s.memory = append(s.memory, p...)
		s.n += int64(len(p))
		return len(p), nil
	}
	n, err := s.file.Write(p)
	s.n += int64(n)
	if err != nil {
		err = connector.Errorf(connector.ClassFull, "a temporary file for what the archive holds: %w", err)
	}
	return n, err
}

// ReadAt implements io.ReaderAt.
func (s *spool) ReadAt(p []byte, off int64) (int, error) {
	if s.file != nil {
		return s.file.ReadAt(p, off)
	}
	if off >= int64(len(s.memory)) {
		return 0, io.EOF
	}
	n := copy(p, s.memory[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// drop closes a spool of which nothing is read.
func (s *spool) drop() {
	if s.file != nil {
		forget(s.file)
	}
}

func forget(f *os.File) {
	_ = f.Close()           // what was written is no longer wanted
	_ = os.Remove(f.Name()) // already gone on most systems
}
