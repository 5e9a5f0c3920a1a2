package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/ledger"
)

// embedderKey is where the ledger notes the default embedder that the pipeline began with.
const embedderKey = "default_embedder"

// noteEmbedder records the default embedder of a pipeline that names none: a later default does not change it, whatever
// becomes of the sink.
func (p *Pipeline) noteEmbedder(ctx context.Context, l *ledger.Ledger) error {
	if p.file.Embedder != nil {
		return nil
	}
	was, err := l.Meta(ctx, embedderKey)
	if err != nil || was == p.model.Provider {
		return err
	}
	return l.SetMeta(ctx, embedderKey, p.model.Provider)
}

// defaultEmbedder is the kind of embedder that a pipeline has whose configuration names none: what it began with, as its live
// collections or else its ledger say, or the default of this build. It asks no server.
func defaultEmbedder(ctx context.Context, file *config.File, reg *connector.Registry, live []connector.Schema) (string, error) {
	var began string
	if len(live) > 0 {
		began, _, _ = strings.Cut(live[0].Model, "/")
	}
	if !slices.Contains(reg.DefaultEmbedders, began) {
		var err error
		if began, err = notedEmbedder(ctx, file); err != nil {
			return "", err
		}
	}
	if slices.Contains(reg.DefaultEmbedders, began) {
		return began, nil
	}
	return reg.DefaultEmbedder(), nil
}

// notedEmbedder is what noteEmbedder noted; empty without a ledger.
func notedEmbedder(ctx context.Context, file *config.File) (string, error) {
	path := LedgerPath(file)
	if _, err := os.Stat(path); err != nil {
		return "", nil //nolint:nilerr // a ledger that cannot be read is reported by who needs it
	}
	l, err := ledger.Open(ctx, path, ledger.Options{ReadOnly: true})
	if err != nil {
		return "", nil //nolint:nilerr // as above
	}
	noted, err := l.Meta(ctx, embedderKey)
	if cerr := l.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", fmt.Errorf("ledger %s: %w", path, err)
	}
	return noted, nil
}

// OpenEmbedder opens the embedder of a configuration: the one that it names or, where it names none, what its pipeline began with, as
// its ledger says, or this build's default. No sink is asked.
func OpenEmbedder(ctx context.Context, file *config.File, reg *connector.Registry, log *slog.Logger) (connector.Embedder, error) {
	return openEmbedder(ctx, file, reg, Env(file, log), nil)
}

// openEmbedder opens the configured embedder or, where none is named, the pipeline's default one.
func openEmbedder(ctx context.Context, file *config.File, reg *connector.Registry, env connector.Env, live []connector.Schema) (connector.Embedder, error) {
	var kind string
	var conf any
	if file.Embedder != nil {
		kind, conf = file.Embedder.Kind, file.Embedder.Config
	} else {
		var err error
		if kind, err = defaultEmbedder(ctx, file, reg, live); err != nil {
			return nil, err
		}
	}
	plugin, ok := reg.Embedders.Get(kind)
	switch {
	case kind == "":
		return nil, UsageErrorf("the configuration names no embedder and this build has no default: choose one of %s", strings.Join(reg.Embedders.Kinds(), ", "))
	case !ok:
		return nil, UsageErrorf("embedder %q is not in this build: choose one of %s", kind, strings.Join(reg.Embedders.Kinds(), ", "))
	}
	if conf == nil {
		conf = plugin.Config()
	}
	e, err := plugin.Open(ctx, conf, env)
	if err != nil {
		return nil, fmt.Errorf("embedder %s: %w", kind, err)
	}
	return e, nil
}
