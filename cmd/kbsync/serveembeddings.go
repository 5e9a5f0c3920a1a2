package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/embedserver"
	"github.com/kbsync/kbsync/connector/pipeline"
)

// defaultEmbeddingsListen is the address of serve-embeddings.
const defaultEmbeddingsListen = "127.0.0.1:8089"

// embeddingsFlags are those of serve-embeddings.
type embeddingsFlags struct {
	embedder, listen, key string
	inputType, logFormat  *choice
	aliases               []string
	withoutKey            bool
	concurrency, queue    int
	timeout               time.Duration
}

func newServeEmbeddings(a *app) *cobra.Command {
	flags := embeddingsFlags{inputType: newChoice("document", "document", "query"), logFormat: newChoice("text", "text", "json")}
	cmd := &cobra.Command{
		Use:   "serve-embeddings",
		Short: "Serve the embedder to any tool that speaks OpenAI's API",
		Long: `Answer OpenAI's embeddings API with kbsync's embedder, until interrupted: the one of the configuration that -c names, or this
build's default one.

The server answers POST /v1/embeddings, GET /v1/models, /healthz, /readyz and /metrics (Prometheus). No text is ever cut: one that is too
long for the model is refused by its index. Texts are passages unless the request says input_type: query, or names the model with
":query" at its end.

Without --api-key it answers programs of this machine alone. An interrupt or SIGTERM answers what is under way and ends with code 0; the
second one ends at once.`,
		Example: `  kbsync serve-embeddings
  kbsync serve-embeddings -c kbsync.yaml --alias text-embedding-3-small
  kbsync serve-embeddings --listen :8089 --api-key file:/run/secrets/embeddings

  curl http://127.0.0.1:8089/v1/models
  curl http://127.0.0.1:8089/v1/embeddings -d '{"model":"text-embedding-3-small","input":["one text","另一段"]}'

  # Python
  client = openai.OpenAI(base_url="http://127.0.0.1:8089/v1", api_key="none")
  client.embeddings.create(model="text-embedding-3-small:query", input="How do I …?")`,
		Args: cobra.NoArgs,
		RunE: a.action(func(cmd *cobra.Command, _ []string) error { return a.serveEmbeddings(cmd.Context(), &flags) }),
	}
	f := cmd.Flags()
	f.StringVar(&flags.embedder, "embedder", "", "the `KIND` of embedder, with its defaults, where -c names no configuration")
	f.StringVar(&flags.listen, "listen", defaultEmbeddingsListen, "`ADDRESS` to listen on")
	f.Var(flags.inputType, "input-type", "what texts are for where the request does not say it: document or query")
	f.StringArrayVar(&flags.aliases, "alias", nil, "a further `NAME` of the model, for tools with a fixed list; repeatable")
	f.StringVar(&flags.key, "api-key", "", "what requests must carry as their key: env:NAME or file:PATH")
	f.BoolVar(&flags.withoutKey, "without-key", false, "take requests of everybody who can reach --listen, though there is no key")
	f.IntVar(&flags.concurrency, "concurrency", 0, "calls of the embedder at a time (default one a core, at least two)")
	f.IntVar(&flags.queue, "queue", embedserver.DefaultQueue, "requests that may wait; further ones are answered 429")
	f.DurationVar(&flags.timeout, "timeout", embedserver.DefaultTimeout, "the longest time for one request")
	f.Var(flags.logFormat, "log-format", "form of the log on stderr: text or json")
	_ = cmd.RegisterFlagCompletionFunc("embedder", fixed(a.reg.Embedders.Kinds()...))
	_ = cmd.RegisterFlagCompletionFunc("input-type", fixed("document", "query"))
	_ = cmd.RegisterFlagCompletionFunc("log-format", fixed("text", "json"))
	return cmd
}

// serveEmbeddings opens the embedder and serves it until it is interrupted.
func (a *app) serveEmbeddings(ctx context.Context, flags *embeddingsFlags) error {
	opts, err := a.embeddingsOptions(flags)
	if err != nil {
		return err
	}
	a.events = opts.Log
	opts.Drain = a.draining()
	e, err := a.embedder(ctx, flags.embedder, opts.Log)
	if err != nil {
		return err
	}
	return errors.Join(listenAndServe(ctx, e, flags.listen, opts), e.Close())
}

func listenAndServe(ctx context.Context, e connector.Embedder, listen string, opts embedserver.Options) error {
	s, err := embedserver.New(e, opts)
	if err != nil {
		return &pipeline.UsageError{Err: err}
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", listen)
	if err != nil {
		return usagef("--listen %s: %w; name another address", listen, err)
	}
	err = s.Serve(ctx, l)
	if errors.Is(err, embedserver.ErrExposed) {
		return usagef("--listen %s: %w", listen, err)
	}
	return err
}

func (a *app) embeddingsOptions(flags *embeddingsFlags) (embedserver.Options, error) {
	opts := embedserver.Options{
		Aliases: flags.aliases, WithoutKey: flags.withoutKey, Concurrency: flags.concurrency, Queue: flags.queue, Timeout: flags.timeout,
		Log: a.serviceLogger(flags.logFormat.value, slog.LevelInfo), Version: describe().Version,
	}
	switch {
	case flags.concurrency < 0 || flags.queue < 0:
		return opts, usagef("--concurrency and --queue must not be negative")
	case flags.timeout <= 0:
		return opts, usagef("--timeout %s: expected more than nothing", flags.timeout)
	case flags.key != "" && flags.withoutKey:
		return opts, usagef("--api-key and --without-key exclude each other")
	case flags.embedder != "" && len(a.configs) > 0:
		return opts, usagef("--embedder and -c exclude each other: name the embedder in the configuration")
	}
	if flags.queue == 0 {
		opts.Queue = -1
	}
	var err error
	if opts.Role, err = embedserver.ParseRole(flags.inputType.value); err != nil {
		return opts, usagef("--input-type: %w", err)
	}
	opts.Key, err = readKey(flags.key)
	return opts, err
}

// embedder opens the embedder of the configuration, if -c names one, or one of a kind with its defaults.
func (a *app) embedder(ctx context.Context, kind string, log *slog.Logger) (connector.Embedder, error) {
	if len(a.configs) > 0 {
		file, err := config.Load(a.configs, a.reg, config.Options{Partial: true})
		if err != nil {
			return nil, err
		}
		return pipeline.OpenEmbedder(ctx, file, a.reg, log)
	}
	if kind == "" {
		kind = a.reg.DefaultEmbedder()
	}
	return pipeline.OpenEmbedder(ctx, &config.File{Name: "kbsync", Dir: ".", Embedder: &config.Kinded{Kind: kind}}, a.reg, log)
}

// keyConfig is a configuration that holds a secret alone.
type keyConfig struct {
	Key connector.Secret `yaml:"key"`
}

// readKey reads env:NAME or file:PATH exactly as a configuration does. The key itself is not taken: everybody on a machine sees the
// command lines of its processes.
func readKey(reference string) (connector.Secret, error) {
	if reference == "" {
		return "", nil
	}
	if !strings.HasPrefix(reference, "env:") && !strings.HasPrefix(reference, "file:") {
		return "", usagef("--api-key: expected env:NAME or file:PATH, not the key itself, which others could read off the command line")
	}
	reg := new(connector.Registry)
	if err := reg.Embedders.Add("key", connector.EmbedderPlugin{Kind: "key", Config: func() any { return new(keyConfig) }}); err != nil {
		return "", err
	}
	file, err := config.Parse("--api-key", []byte("embedder: { key: { key: "+strconv.Quote(reference)+" } }"), reg, config.Options{Partial: true})
	var faults config.Errors
	if errors.As(err, &faults) {
		return "", usagef("--api-key: %s", faults[0].Msg)
	} else if err != nil {
		return "", usagef("--api-key: %w", err)
	}
	key := connector.Secret("")
	if conf, ok := file.Embedder.Config.(*keyConfig); ok {
		key = connector.Secret(strings.TrimSpace(conf.Key.Reveal()))
	}
	if key == "" {
		return "", usagef("--api-key %s is empty", reference)
	}
	return key, nil
}
