//go:build unix

package servers

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Kill ends the server at once, as a crash does.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Stop asks the server to end and waits.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Pause and Continue stop and wake the process: it holds connections and answers nothing. A thread that is at work when the signal
// comes may answer a request more, so Pause waits until all of them stand still.
func (s *Server) Pause() {
	_ = syscall.Kill(s.pid, syscall.SIGSTOP)
	for range 200 {
		if stopped(s.pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// stopped says whether every thread of a process is stopped, as far as the system tells.
func stopped(pid int) bool {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(stats) == 0 {
		return true // no such system
	}
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if _, state, ok := strings.Cut(string(stat), ") "); err == nil && ok && !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return true
}

// Continue wakes what Pause stopped.
func (s *Server) Continue() { _ = syscall.Kill(s.pid, syscall.SIGCONT) }

func (s *Server) end(sig syscall.Signal) {
	if s.gone {
		return
	}
	s.gone = true
	_ = syscall.Kill(s.pid, syscall.SIGCONT)
	_ = syscall.Kill(s.pid, sig)
	for range 300 {
		if alive := syscall.Kill(s.pid, 0); (alive != nil || zombie(s.pid)) && !s.answers() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	_ = syscall.Kill(s.pid, syscall.SIGKILL)
}

// zombie says whether a process has ended and nobody has collected it.
func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z")
}
