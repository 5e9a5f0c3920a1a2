package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/pipeline"
)

func newMigrate(a *app) *cobra.Command {
	var to string
	var opts pipeline.MigrateOptions
	cmd := &cobra.Command{
		Use:   "migrate --to FILE",
		Short: "Fill another database from this one",
		Long: `Fill another database with the texts, metadata and vectors that this one holds: nothing is embedded and no source is read. FILE is a
configuration of which only the sink is looked at. What an interrupted migration wrote is not written again, and what the other
database holds beside it is deleted. Then both are compared (kbsync verify).

Afterwards put the new sink into kbsync.yaml: the next sync finds everything unchanged.`,
		Example: `  kbsync migrate --to qdrant.yaml
  kbsync migrate --to qdrant.yaml --format json`,
		Args: cobra.NoArgs,
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			file, err := a.sinkFile(to, "--to")
			if err != nil {
				return err
			}
			return a.migrate(cmd, file, opts)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&to, "to", "", "configuration `FILE` with the other sink")
	f.BoolVar(&opts.AllowRebuild, "allow-rebuild", false, "replace what another model or layout left in the other sink's collection")
	f.BoolVar(&opts.NoVerify, "no-verify", false, "do not compare afterwards")
	_ = cmd.MarkFlagFilename("to", "yaml", "yml")
	return cmd
}

// sinkFile reads a configuration of which only the sink counts.
func (a *app) sinkFile(path, flag string) (*config.File, error) {
	if path == "" {
		return nil, usagef("name the configuration with the other sink: %s FILE", flag)
	}
	return config.Load([]string{path}, a.reg, config.Options{Partial: true})
}

func (a *app) migrate(cmd *cobra.Command, to *config.File, opts pipeline.MigrateOptions) error {
	progress, stop := a.progress()
	defer stop()
	return a.with(cmd.Context(), progress, func(p *pipeline.Pipeline) error {
		r, err := p.Migrate(cmd.Context(), to, opts)
		stop()
		a.failures(r.Errors)
		if asJSON(cmd) {
			return errors.Join(err, a.line(r))
		}
		if err == nil || r.Chunks > 0 {
			a.printf("%s of %s: %s\n", number(r.Chunks, "chunk"), number(r.Documents, "document"),
				counted("nothing to do", r.Written, "written", r.Unchanged, "unchanged", r.Deleted, "deleted", r.Failed, "refused"))
		}
		if r.Verified != nil && err == nil {
			a.printf("verified: %s as they should be\n", number(r.Verified.Checked, "chunk"))
		}
		return err
	})
}

func newRollback(a *app) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "rollback",
		Short: "Go back to the collection that was live before",
		Long: `Make the generation of the collection live that was live before the last rebuild, or the one named by --to. Nothing is copied and
nothing is deleted; rollback again returns. kbsync status lists the generations; the sink's key keep says how many are kept.

The configuration still names the newer model or layout: queries by vector are refused until it is restored, and a sync asks
for --allow-rebuild to return to the newer generation.`,
		Example: `  kbsync rollback
  kbsync rollback --to g0123456789ab`,
		Args: cobra.NoArgs,
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), nil, func(p *pipeline.Pipeline) error {
				r, err := p.Rollback(cmd.Context(), to)
				if err != nil {
					return err
				}
				if asJSON(cmd) {
					return a.line(r)
				}
				a.printf("generation %s (%s) is live again; %s is kept\n", r.To, r.Model, r.From)
				return nil
			})
		}),
	}
	cmd.Flags().StringVar(&to, "to", "", "`GENERATION` to go back to")
	return cmd
}

func newAdopt(a *app) *cobra.Command {
	var opts pipeline.AdoptOptions
	var from string
	var fields map[string]string
	cmd := &cobra.Command{
		Use:   "adopt COLLECTION",
		Short: "Take over a collection that kbsync did not write",
		Long: `Read texts and vectors of a collection that another program wrote, so that nobody pays for their embeddings again.

The vectors go to the store under the configured model, after some of them were compared with its own. The chunks go to the
pipeline's collection as documents of --source, where they can be queried; the next sync replaces them by its own cut of the same
documents, and embeds no text that was adopted. The other collection is only read. --field content=NAME names the field with the
text, --field path=NAME the one with the document; dots reach into objects.`,
		Example: `  kbsync adopt old_docs --field content=page_content --field path=metadata.source --source docs
  kbsync adopt LangChain_docs --from weaviate.yaml --field content=text --vectors-only`,
		Args: cobra.ExactArgs(1),
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			opts.Collection = args[0]
			for name, field := range fields {
				switch name {
				case "content":
					opts.Content = field
				case "path":
					opts.Path = field
				default:
					return usagef("--field %s=%s: the fields are content and path", name, field)
				}
			}
			if from != "" {
				var err error
				if opts.From, err = a.sinkFile(from, "--from"); err != nil {
					return err
				}
			}
			return a.adopt(cmd, opts)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "configuration `FILE` whose sink holds the collection (default: the configured sink)")
	f.StringToStringVar(&fields, "field", nil, "`content=NAME` and path=NAME of the collection's fields")
	f.StringVar(&opts.Source, "source", "", "`NAME` of the source that the documents belong to")
	f.BoolVar(&opts.VectorsOnly, "vectors-only", false, "fill the store and write no chunks")
	f.BoolVar(&opts.NoCheck, "no-check", false, "do not compare some vectors with the model's own")
	_ = cmd.MarkFlagFilename("from", "yaml", "yml")
	_ = cmd.RegisterFlagCompletionFunc("source", a.completeSources)
	return cmd
}

func (a *app) adopt(cmd *cobra.Command, opts pipeline.AdoptOptions) error {
	progress, stop := a.progress()
	defer stop()
	return a.with(cmd.Context(), progress, func(p *pipeline.Pipeline) error {
		r, err := p.Adopt(cmd.Context(), opts)
		stop()
		if asJSON(cmd) {
			return errors.Join(err, a.line(r))
		}
		if err == nil {
			a.printf("%s read: %s\n", number(r.Items, "item"), counted("nothing taken over", r.Vectors, "vectors stored", r.Documents, "documents", r.Chunks, "chunks",
				r.Repeated, "repeated", r.Held, "of documents that are synced", r.NoText, "without text", r.BadVector, "with a vector that does not fit"))
		}
		return err
	})
}
