package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/term"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/embedders/local/e5small"
	"github.com/kbsync/kbsync/plugins"
)

// defaultConfig is read where -c names no other file.
const defaultConfig = "kbsync.yaml"

// app is one invocation: where it prints, and what the common flags say.
type app struct {
	in  io.Reader
	out *bufio.Writer
	err *console
	reg *connector.Registry

	configs    []string
	quiet      bool
	verbose    int
	color      *choice
	noProgress bool

	began bool // a command's own work began: errors from now on are no usage errors of cobra's
	drain chan struct{}
	drops atomic.Bool // the first interrupt drains rather than cancels

	events *slog.Logger // where a command that goes on for long tells what happens; nil: notes are enough
}

// console is stderr; while a progress bar is shown, lines go above it.
type console struct {
	mu sync.Mutex
	w  io.Writer
}

// Write writes to where stderr goes now.
func (c *console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.w.Write(b)
}

func (c *console) redirect(w io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.w = w
}

// run is the whole command; it returns the exit code.
func run(args []string) int {
	a := &app{
		in: os.Stdin, out: bufio.NewWriterSize(os.Stdout, 64<<10), err: &console{w: os.Stderr},
		color: newChoice("auto", "auto", "always", "never"), drain: make(chan struct{}),
	}
	var err error
	if a.reg, err = plugins.Registry(e5small.Weights()); err != nil {
		a.report(err)
		return pipeline.ExitFailed
	}
	ctx, stop := a.signals(context.Background())
	defer stop()
	root := newRoot(a)
	root.SetArgs(args)
	failed, err := root.ExecuteContextC(ctx)
	if err != nil && !a.began {
		err = &pipeline.UsageError{Err: fmt.Errorf("%w\nRun '%s --help' for usage", trimmed(err), failed.CommandPath())}
	}
	if ferr := a.out.Flush(); ferr != nil {
		err = errors.Join(err, fmt.Errorf("standard output: %w", ferr))
	}
	a.report(err)
	return pipeline.ExitCode(err)
}

// trimmed is cobra's error without the line ends around its suggestions.
func trimmed(err error) error {
	s := strings.TrimSpace(err.Error())
	s = strings.ReplaceAll(s, "\n\nDid you mean this?\n\t", "; did you mean ")
	return errors.New(strings.Join(strings.Fields(s), " "))
}

// report prints an error once: every fault of a configuration, and every one of several errors, is a line of its own.
func (a *app) report(err error) {
	if err == nil {
		return
	}
	var faults config.Errors
	if errors.As(err, &faults) {
		for _, f := range faults {
			a.note("%s", f.Error())
		}
		return
	}
	if several := joined(err); len(several) > 0 {
		for _, e := range several {
			a.report(e)
		}
		return
	}
	a.note("%s", err.Error())
}

// joined are the errors that errors.Join made err of, and nothing where err says more than they do.
func joined(err error) []error {
	j, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	if all := errors.Join(j.Unwrap()...); all == nil || all.Error() != err.Error() {
		return nil
	}
	return j.Unwrap()
}

// note prints a line on stderr.
func (a *app) note(format string, args ...any) {
	_, _ = fmt.Fprintf(a.err, "kbsync: "+format+"\n", args...)
}

// remark is a note that --quiet suppresses.
func (a *app) remark(format string, args ...any) {
	if !a.quiet {
		a.note(format, args...)
	}
}

// printf prints on stdout; the error of a write is reported when the command ends.
func (a *app) printf(format string, args ...any) { _, _ = fmt.Fprintf(a.out, format, args...) }

// line prints one JSON value on a line of stdout.
func (a *app) line(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// writeJSON writes v, indented, to a file that appears whole or not at all.
func writeJSON(path string, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return writeFile(path, func(w io.Writer) error {
		_, err := w.Write(b.Bytes())
		return err
	})
}

// writeFile writes a file beside its place and moves it there when it is whole.
func writeFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(dirOf(path), ".kbsync-*")
	if err != nil {
		return pipeline.UsageErrorf("%s cannot be written: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriterSize(f, 64<<10)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// logger writes text to stderr: warnings, with -v what happens, with -vv details.
func (a *app) logger() *slog.Logger {
	level := slog.LevelWarn
	switch {
	case a.quiet:
		level = slog.LevelError
	case a.verbose == 1:
		level = slog.LevelInfo
	case a.verbose > 1:
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level}))
}

// load reads the configuration that -c names, or kbsync.yaml.
func (a *app) load() (*config.File, error) {
	paths := a.configs
	if len(paths) == 0 {
		paths = []string{defaultConfig}
	}
	return config.Load(paths, a.reg, config.Options{})
}

// open opens the configured pipeline.
func (a *app) open(ctx context.Context, progress pipeline.Progress) (*pipeline.Pipeline, error) {
	file, err := a.load()
	if err != nil {
		return nil, err
	}
	pipeline.LimitMemory(file)
	return pipeline.Open(ctx, file, a.reg, pipeline.Options{Log: a.logger(), Progress: progress})
}

// with opens the pipeline, calls fn and closes it.
func (a *app) with(ctx context.Context, progress pipeline.Progress, fn func(*pipeline.Pipeline) error) error {
	p, err := a.open(ctx, progress)
	if err != nil {
		return err
	}
	return errors.Join(fn(p), p.Close())
}

// colored says whether stdout is coloured.
func (a *app) colored() bool {
	switch a.color.value {
	case "always":
		return true
	case "never":
		return false
	}
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(os.Stdout.Fd()))
}
