package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/connector/service"
)

// The defaults of serve.
const (
	defaultListen = "127.0.0.1:9464"
	defaultStuck  = 24 * time.Hour
	tokenVariable = "KBSYNC_TOKEN"
	maxToken      = 4 << 10
	probeTimeout  = 5 * time.Second
)

// serveFlags are those of serve; watch has the log's alone.
type serveFlags struct {
	every, stuckAfter time.Duration
	watch, probe      bool
	listen, tokenFile string
	logFormat         *choice
}

func newServe(a *app) *cobra.Command {
	flags := serveFlags{logFormat: newChoice("text", "text", "json")}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Keep the database up to date, on a schedule",
		Long: `Keep the database up to date: run a sync whenever sync.schedule says, one at a time, until interrupted.

What was missed, because a run took long or the service was down, is made up for by one run. A run that fails is tried again
after 10 seconds, then ever more rarely, up to every 10 minutes. With --watch, changes of the sources set off runs as well.

The HTTP server answers /healthz, /readyz, /metrics (Prometheus) and /status; POST /sync runs a sync now, POST /notify takes
the notifications of buckets. Both need the token of --token-file or KBSYNC_TOKEN; without one they answer programs of this
machine alone.

An interrupt or SIGTERM finishes what was begun and ends with code 0; the second one ends at once. SIGHUP loads the
configuration again.`,
		Example: `  kbsync serve
  kbsync serve --every 15m --watch
  kbsync serve --listen :9464 --token-file /run/secrets/kbsync --log-format json
  kbsync serve --probe            # is the service on this machine healthy?`,
		Args: cobra.NoArgs,
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			if flags.probe {
				return probe(cmd.Context(), flags.listen)
			}
			token, err := readToken(flags.tokenFile)
			if err != nil {
				return err
			}
			return a.serve(cmd, &flags, service.Options{
				Command: "kbsync serve", Every: flags.every, Watch: flags.watch, Listen: flags.listen, Token: token, StuckAfter: flags.stuckAfter,
			})
		}),
	}
	f := cmd.Flags()
	f.DurationVar(&flags.every, "every", 0, "run so often, whatever sync.schedule says")
	f.BoolVar(&flags.watch, "watch", false, "run at the start and after changes as well")
	f.BoolVar(&flags.probe, "probe", false, "ask the service that listens there whether it is healthy, and end: for containers without a shell")
	f.StringVar(&flags.listen, "listen", defaultListen, "`ADDRESS` of the HTTP server; \"\" for none")
	f.StringVar(&flags.tokenFile, "token-file", "", "`FILE` with the token that POST /sync and /notify ask for (default: $"+tokenVariable+")")
	f.DurationVar(&flags.stuckAfter, "stuck-after", defaultStuck, "a run that takes longer makes /healthz fail; 0: none does")
	flags.register(cmd)
	_ = cmd.MarkFlagFilename("token-file")
	return cmd
}

func (s *serveFlags) register(cmd *cobra.Command) {
	cmd.Flags().Var(s.logFormat, "log-format", "form of the log on stderr: text or json")
	_ = cmd.RegisterFlagCompletionFunc("log-format", fixed("text", "json"))
}

// serve runs a service until it is interrupted.
func (a *app) serve(cmd *cobra.Command, flags *serveFlags, opts service.Options) error {
	if flags.every < 0 || flags.every > 0 && flags.every < time.Second {
		return usagef("--every %s: expected 1s or more", flags.every)
	}
	a.events = a.serviceLogger(flags.logFormat.value, slog.LevelInfo)
	opts.Log = a.events
	opts.Registry, opts.Version = a.reg, describe().Version
	opts.Pipeline = pipeline.Options{Log: a.serviceLogger(flags.logFormat.value, slog.LevelWarn)}
	opts.Load = func() (*config.File, error) {
		file, err := a.load()
		if err == nil {
			pipeline.LimitMemory(file)
		}
		return file, err
	}
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	defer signal.Stop(reload)
	opts.Reload, opts.Drain = reload, a.draining()
	s, err := service.New(opts)
	if err != nil {
		return err
	}
	return s.Run(cmd.Context())
}

// probe asks a service on this machine for its health.
func probe(ctx context.Context, listen string) error {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return usagef("--listen %q: expected HOST:PORT", listen)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/healthz", nil)
	if err != nil {
		return usagef("--listen %q: %w", listen, err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return &pipeline.UnreachableError{Err: fmt.Errorf("no service answers: %w", err)}
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxToken))
	_ = res.Body.Close() // only read from
	if res.StatusCode != http.StatusOK {
		return &pipeline.UnreachableError{Err: fmt.Errorf("the service is not healthy: %s %s", res.Status, strings.TrimSpace(string(body)))}
	}
	return nil
}

// serviceLogger writes what happens to stderr: from level up, with -q errors alone, with -v more.
func (a *app) serviceLogger(form string, level slog.Level) *slog.Logger {
	if level -= slog.Level(4 * a.verbose); a.quiet {
		level = slog.LevelError
	}
	opts := &slog.HandlerOptions{Level: level}
	if form == "json" {
		return slog.New(slog.NewJSONHandler(a.err, opts))
	}
	return slog.New(slog.NewTextHandler(a.err, opts))
}

// readToken reads the token from a file or, where none is named, from the environment.
func readToken(path string) (connector.Secret, error) {
	if path == "" {
		return connector.Secret(strings.TrimSpace(os.Getenv(tokenVariable))), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", usagef("--token-file: %w", err)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", usagef("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(b))
	switch {
	case token == "":
		return "", usagef("--token-file %s is empty", path)
	case len(b) > maxToken:
		return "", usagef("--token-file %s holds more than %d bytes", path, maxToken)
	}
	return connector.Secret(token), nil
}
