package convert

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// call is one run of a program.
type call struct {
	program string
	args    []string
	stdin   string // a file; empty: nothing
	tmp     string // the folder of its temporary files
	timeout time.Duration
	limit   int64 // of its output
}

// lingering is how long a program's children may hold its output after it has ended.
const lingering = 2 * time.Second

// Causes for which a program is stopped.
var (
	errTimeout = errors.New("timeout")
	errTooMuch = errors.New("too much output")
)

// run runs a program to its end and returns what it printed. A program that takes too long or prints too much is killed, with all that it started.
func (p *Exec) run(ctx context.Context, c call) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	stopped, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	limited, cancel := context.WithTimeoutCause(stopped, c.timeout, errTimeout)
	defer cancel()
	cmd := exec.CommandContext(limited, c.program, c.args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.dir, p.env, lingering
	if c.tmp != "" {
		cmd.Env = append([]string{"TMPDIR=" + c.tmp, "TMP=" + c.tmp, "TEMP=" + c.tmp}, p.env...)
	}
	out := &capped{left: c.limit, over: func() { stop(errTooMuch) }}
	said := &tail{}
	cmd.Stdout, cmd.Stderr = out, said
	if c.stdin != "" {
		f, err := os.Open(c.stdin)
		if err != nil {
			return nil, local(err)
		}
		defer f.Close() //nolint:errcheck // it was read
		cmd.Stdin = f
	}
	group(cmd)
	err := cmd.Run()
	endGroup(cmd)
	switch cause := context.Cause(limited); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case out.full:
		return nil, tooMuch(c.limit)
	case errors.Is(cause, errTimeout) && err != nil:
		return nil, connector.Errorf(connector.ClassInvalid, "the command took longer than timeout (%s) and was stopped%s", c.timeout, said.words())
	case errors.Is(err, exec.ErrWaitDelay):
		return nil, connector.Errorf(connector.ClassInvalid, "the command ended and left a program behind that went on writing: it was stopped%s", said.words())
	}
	return out.text.Bytes(), failed(err, said)
}

// failed is the error of a program that did not succeed.
func failed(err error, said *tail) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit):
		return connector.Errorf(connector.ClassInvalid, "the command failed (%s)%s", exit.ProcessState, said.words())
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		return connector.Errorf(connector.ClassNotFound, "the command cannot be run: install it, or name another: %w", err)
	}
	return connector.Errorf(connector.ClassTransient, "the command cannot be run: %w", err)
}

// capped keeps what is written, up to a limit.
type capped struct {
	text bytes.Buffer
	left int64
	full bool
	over func()
}

// Write keeps b, or refuses it.
func (c *capped) Write(b []byte) (int, error) {
	if c.left -= int64(len(b)); c.left < 0 {
		c.full = true
		c.over()
		return 0, io.ErrShortWrite
	}
	return c.text.Write(b)
}

// tail keeps the end of what is written.
type tail struct{ b []byte }

const maxTail = 4 << 10

// Write keeps the end of b.
func (t *tail) Write(b []byte) (int, error) {
	t.b = append(t.b, b[max(0, len(b)-maxTail):]...)
	if over := len(t.b) - maxTail; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(b), nil
}

// words are the last lines, for an error.
func (t *tail) words() string {
	s := strings.TrimSpace(strings.ToValidUTF8(string(t.b), "?"))
	lines := strings.Split(s, "\n")
	if n := len(lines) - 3; n > 0 {
		lines = lines[n:]
	}
	if s = shorten(strings.Join(lines, " ")); s == "" {
		return "; it said nothing"
	}
	return ": " + s
}
