package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/pipeline"
)

// listedDoc is a line of `sources`: a document, something that was skipped, or something that could not be listed.
type listedDoc struct {
	Source     string     `json:"source"`
	Path       string     `json:"path"`
	URI        string     `json:"uri,omitempty"`
	Size       *int64     `json:"size,omitempty"`
	Version    string     `json:"version,omitempty"`
	ModifiedAt *time.Time `json:"modified_at,omitempty"`
	Skipped    string     `json:"skipped,omitempty"`
	Error      string     `json:"error,omitempty"`
}

func newSources(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sources [NAME…]",
		Short: "List the documents of the sources",
		Long: `List the documents of the configured sources, or of those that are named: path, size and version; and what is skipped, with the
reason. Nothing is read.`,
		Example: `  kbsync sources
  kbsync sources docs --format jsonl | jq -r 'select(.skipped) | .path'`,
		RunE:              a.action(func(cmd *cobra.Command, args []string) error { return a.sources(cmd, args) }),
		ValidArgsFunction: a.completeSources,
	}
	formats(cmd, "text, or jsonl with one document a line", "text", "jsonl", "json")
	return cmd
}

func (a *app) sources(cmd *cobra.Command, names []string) error {
	ctx := cmd.Context()
	file, err := a.load()
	if err != nil {
		return err
	}
	chosen, err := chooseSources(file, names)
	if err != nil {
		return err
	}
	v, err := pipeline.OpenPreview(ctx, file, a.reg, true)
	if err != nil {
		return err
	}
	failed := 0
	for _, conf := range chosen {
		n, lerr := a.listSource(ctx, v, conf, format(cmd) == "text")
		failed += n
		err = errors.Join(err, lerr)
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d files or folders could not be listed", failed)
	}
	return errors.Join(err, v.Close())
}

func chooseSources(file *config.File, names []string) ([]config.SourceConf, error) {
	if len(names) == 0 {
		return file.Sources, nil
	}
	var out []config.SourceConf
	for _, name := range names {
		conf, err := sourceNamed(file, name)
		if err != nil {
			return nil, err
		}
		out = append(out, conf)
	}
	return out, nil
}

func sourceNamed(file *config.File, name string) (config.SourceConf, error) {
	var known []any
	for _, s := range file.Sources {
		if s.Name == name {
			return s, nil
		}
		known = append(known, s.Name)
	}
	return config.SourceConf{}, usagef("there is no source %q in the configuration; it has %v", name, known)
}

func (a *app) listSource(ctx context.Context, v *pipeline.Preview, conf config.SourceConf, text bool) (failed int, err error) {
	src, err := v.Source(ctx, conf)
	if err != nil {
		return 0, err
	}
	docs, skipped, bytes := 0, 0, int64(0)
	for ch, lerr := range v.Changes(ctx, conf.Name, src) {
		d := listedDoc{Source: conf.Name}
		var de *connector.DocError
		switch {
		case errors.As(lerr, &de):
			failed++
			d.Path, d.Error = de.Path, de.Err.Error()
		case lerr != nil:
			return failed, errors.Join(lerr, src.Close())
		case ch.Kind == connector.ChangeSkip:
			skipped++
			d.Path, d.URI, d.Skipped = ch.Document.Path, ch.Document.URI, ch.Reason
		default:
			docs++
			bytes += max(ch.Document.Size, 0)
			d.fill(&ch.Document)
		}
		if err := a.listed(&d, text); err != nil {
			return failed, errors.Join(err, src.Close())
		}
	}
	if text {
		a.printf("source %s: %s, %s, %d skipped\n", conf.Name, number(docs, "document"), size(bytes), skipped)
	}
	return failed, src.Close()
}

func (d *listedDoc) fill(doc *connector.Document) {
	d.Path, d.URI, d.Version = doc.Path, doc.URI, doc.Version
	if doc.Size >= 0 {
		d.Size = &doc.Size
	}
	if !doc.ModifiedAt.IsZero() {
		t := doc.ModifiedAt.UTC()
		d.ModifiedAt = &t
	}
}

func (a *app) listed(d *listedDoc, text bool) error {
	if !text {
		return a.line(d)
	}
	switch {
	case d.Error != "":
		a.note("failed (list): %s: %s", d.Path, d.Error)
	case d.Skipped != "":
		a.printf("%10s  %s: %s\n", "skipped", d.Path, d.Skipped)
	case d.Size != nil:
		a.printf("%10s  %s\n", size(*d.Size), d.Path)
	default:
		a.printf("%10s  %s\n", "", d.Path)
	}
	return nil
}

// completeSources completes the names of the configured sources.
func (a *app) completeSources(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	file, err := a.load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	for _, s := range file.Sources {
		names = append(names, s.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
