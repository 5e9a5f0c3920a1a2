package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/connector/pipeline"
)

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "kbsync",
		Short: "Keep vector databases in step with documents",
		Long: `kbsync keeps a vector database in step with documents: exact, incremental, and without losing a character.

It lists the documents of your sources, cuts what changed into chunks, gives each chunk a vector and makes the
database hold exactly the chunks of the documents that are there now.`,
		Example: `  kbsync init --source ./docs     write a kbsync.yaml
  kbsync sync                     bring the database up to date
  kbsync query "How do I …?"      ask it`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          group,
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	f := root.PersistentFlags()
	f.StringArrayVarP(&a.configs, "config", "c", nil, "configuration `FILE`; several are merged left to right (default kbsync.yaml)")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "print errors only on stderr")
	f.CountVarP(&a.verbose, "verbose", "v", "log what happens to stderr; -vv with details")
	f.Var(a.color, "color", "colour the output: auto, always or never")
	f.BoolVar(&a.noProgress, "no-progress", false, "show no progress bar")
	f.Var(newChoice("text", "text", "json"), "format", "form of the output: text or json")
	_ = root.MarkPersistentFlagFilename("config", "yaml", "yml")
	_ = root.RegisterFlagCompletionFunc("color", fixed("auto", "always", "never"))
	_ = root.RegisterFlagCompletionFunc("format", fixed("text", "json"))
	root.AddCommand(
		newInit(a), newValidate(a), newSchema(a), newConfig(a), newSources(a), newParse(a), newChunk(a), newPlan(a), newSync(a),
		newWatch(a), newServe(a), newServeEmbeddings(a),
		newQuery(a), newRelated(a), newExport(a), newVerify(a), newMigrate(a), newAdopt(a), newRollback(a), newStatus(a), newForget(a), newCache(a), newVersion(a),
	)
	return root
}

// action makes fn a command's RunE and notes that the command line was in order.
func (a *app) action(fn func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.began = true
		return fn(cmd, args)
	}
}

// group is the RunE of a command that only holds others: help, or an error about a word that is none of them.
func group(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	msg := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("%s; did you mean %s?", msg, strings.Join(near, " or "))
	}
	return fmt.Errorf("%s", msg)
}

// choice is a flag that takes one of a few words.
type choice struct {
	value   string
	allowed []string
}

func newChoice(value string, allowed ...string) *choice { return &choice{value, allowed} }

// String is the word that was chosen.
func (c *choice) String() string { return c.value }

// Set takes one of the allowed words.
func (c *choice) Set(s string) error {
	for _, word := range c.allowed {
		if s == word {
			c.value = s
			return nil
		}
	}
	return fmt.Errorf("choose one of %s", strings.Join(c.allowed, ", "))
}

// Type is what help shows for the value.
func (c *choice) Type() string { return strings.Join(c.allowed, "|") }

// formats gives a command output forms of its own; the first one is the default.
func formats(cmd *cobra.Command, usage string, allowed ...string) {
	cmd.Flags().Var(newChoice(allowed[0], allowed...), "format", usage)
	_ = cmd.RegisterFlagCompletionFunc("format", fixed(allowed...))
}

// format is the output form that was chosen for the command.
func format(cmd *cobra.Command) string { return cmd.Flag("format").Value.String() }

// asJSON says whether JSON was asked for.
func asJSON(cmd *cobra.Command) bool { return format(cmd) == "json" }

// fixed completes one of a few words.
func fixed(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// usagef is an error of the command line.
func usagef(format string, args ...any) error { return pipeline.UsageErrorf(format, args...) }

func dirOf(path string) string { return filepath.Dir(path) }
