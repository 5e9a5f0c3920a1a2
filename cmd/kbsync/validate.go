package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/sources/fs"
)

// validation is the report of validate.
type validation struct {
	Valid    bool          `json:"valid"`
	Name     string        `json:"name,omitempty"`
	Files    []string      `json:"files,omitempty"`
	Sources  []named       `json:"sources,omitempty"`
	Rules    []named       `json:"rules,omitempty"`
	Embedder *embedderInfo `json:"embedder,omitempty"`
	Sink     string        `json:"sink,omitempty"`
	Target   string        `json:"target,omitempty"` // with --connect
	Live     string        `json:"generation,omitempty"`
	Code     string        `json:"code,omitempty"`
	// Findings say what the sink makes of metadata that the configuration names.
	Findings []pipeline.Finding `json:"findings,omitempty"`
	Warnings []string           `json:"warnings"`
	Errors   []fault            `json:"errors"`
}

type named struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Preset that a rule names.
	Preset string `json:"preset,omitempty"`
}

type embedderInfo struct {
	Kind       string `json:"kind"`
	Model      string `json:"model"`
	Dimensions int    `json:"dimensions"`
}

// fault is an error with its place in the configuration, if it has one.
type fault struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

func newValidate(a *app) *cobra.Command {
	var connect bool
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check the configuration",
		Long: `Check the configuration: every key, every rule, strategy, embedder and source. Nothing is contacted; with --connect the database is
asked too, and the folders of file sources must exist.`,
		Example: `  kbsync validate
  kbsync validate --connect
  kbsync validate -c base.yaml -c production.yaml --format json`,
		Args: cobra.NoArgs,
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			r := &validation{Warnings: []string{}, Errors: []fault{}}
			err := a.validate(cmd.Context(), r, connect)
			r.Valid = err == nil
			if asJSON(cmd) {
				r.Errors = faultsOf(err)
				return errors.Join(err, a.line(r))
			}
			if err == nil {
				a.showValidation(r)
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&connect, "connect", false, "also ask the database")
	return cmd
}

func (a *app) validate(ctx context.Context, r *validation, connect bool) error {
	file, err := a.load()
	if err != nil {
		return err
	}
	r.Name, r.Files, r.Code = file.Name, file.Files, describe().Code
	if n := codeNotice(); n != "" {
		r.Warnings = append(r.Warnings, n)
	}
	v, err := pipeline.OpenPreview(ctx, file, a.reg, false)
	if err != nil {
		return &pipeline.UsageError{Err: err}
	}
	if alone := v.LateAlone(); alone != "" {
		r.Warnings = append(r.Warnings, alone)
	}
	r.Embedder = &embedderInfo{Kind: kindOr(file.Embedder, v.Model().Provider), Model: v.Model().Identity(), Dimensions: v.Model().Dimensions}
	r.Sink = kindOr(file.Sink, pipeline.DefaultSink)
	if err := a.compile(ctx, file, v.Model(), r); err != nil {
		return errors.Join(err, v.Close())
	}
	for i := range file.Rules {
		kind := "metadata only"
		if p := file.Rules[i].Parser; p != nil {
			kind = "parser " + p.Kind
		}
		if s := file.Rules[i].Strategy; s != nil {
			kind = s.Kind
		}
		r.Rules = append(r.Rules, named{file.Rules[i].Name, kind, file.Rules[i].Preset})
	}
	for _, conf := range file.Sources {
		r.Sources = append(r.Sources, named{Name: conf.Name, Kind: conf.Kind})
		err = errors.Join(err, a.checkSource(ctx, v, conf, r, connect))
	}
	if err = errors.Join(err, v.Close()); err != nil || !connect {
		return err
	}
	return a.connect(ctx, file, r)
}

// compile says what the sink would make of the metadata that the configuration names.
func (a *app) compile(ctx context.Context, file *config.File, model connector.Model, r *validation) error {
	caps, err := pipeline.SinkCapabilities(ctx, file, a.reg)
	if err != nil {
		return &pipeline.UsageError{Err: err}
	}
	r.Findings, err = pipeline.Compile(file, model, caps)
	return err
}

func kindOr(k *config.Kinded, kind string) string {
	if k == nil {
		return kind
	}
	return k.Kind
}

// checkSource opens a source, and looks whether a folder is there.
func (a *app) checkSource(ctx context.Context, v *pipeline.Preview, conf config.SourceConf, r *validation, connect bool) error {
	src, err := v.Source(ctx, conf)
	switch {
	case err == nil:
	case connector.ClassOf(err) != connector.ClassCredentials:
		return &pipeline.UsageError{Err: err}
	case connect:
		return &pipeline.UnreachableError{Err: err}
	default: // those of another machine may be meant
		r.Warnings = append(r.Warnings, err.Error())
		return nil
	}
	if _, local := conf.Config.(*fs.Config); local || connect {
		for _, lerr := range src.Changes(ctx) {
			var de *connector.DocError
			switch {
			case lerr == nil || errors.As(lerr, &de):
			case connect:
				err = &pipeline.UnreachableError{Err: fmt.Errorf("source %s: %w", conf.Name, lerr)}
			default:
				r.Warnings = append(r.Warnings, fmt.Sprintf("source %s: %v", conf.Name, lerr))
			}
			break // one item shows that it can be listed
		}
	}
	return errors.Join(err, src.Close())
}

// connect opens everything as a sync would and asks the sink what it holds.
func (a *app) connect(ctx context.Context, file *config.File, r *validation) error {
	p, err := pipeline.Open(ctx, file, a.reg, pipeline.Options{Log: a.logger()})
	if err != nil {
		return err
	}
	s, err := p.Status(ctx)
	if err == nil {
		r.Target, r.Live = s.Target, s.Live
		if s.Live != "" && s.Model != p.Model().Identity() {
			r.Warnings = append(r.Warnings, fmt.Sprintf("the live collection was made by %s and the configuration names %s: the next sync needs --allow-rebuild", s.Model, p.Model().Identity()))
		}
	}
	return errors.Join(err, p.Close())
}

func faultsOf(err error) []fault {
	out := []fault{}
	var faults config.Errors
	switch {
	case err == nil:
	case errors.As(err, &faults):
		for _, f := range faults {
			out = append(out, fault{f.Pos.File, f.Pos.Line, f.Pos.Column, f.Path, f.Msg})
		}
	default:
		out = append(out, fault{Message: err.Error()})
	}
	return out
}

func (a *app) showValidation(r *validation) {
	a.printf("%s: the configuration is valid (%s)\n", r.Name, strings.Join(r.Files, ", "))
	for _, s := range r.Sources {
		a.printf("  source    %s (%s)\n", s.Name, s.Kind)
	}
	for _, rule := range r.Rules {
		kind := rule.Kind
		if rule.Preset != "" {
			kind += " (preset " + rule.Preset + ")"
		}
		a.printf("  rule      %s: %s\n", rule.Name, kind)
	}
	a.printf("  embedder  %s: %s, %d dimensions\n", r.Embedder.Kind, r.Embedder.Model, r.Embedder.Dimensions)
	a.printf("  sink      %s", r.Sink)
	switch {
	case r.Live != "":
		a.printf(": %s, generation %s", r.Target, r.Live)
	case r.Target != "":
		a.printf(": %s, nothing stored yet", r.Target)
	}
	a.printf("\n  code      %s\n", r.Code)
	for _, f := range r.Findings {
		a.note("note: %s: %s", f.Where, f.Finding)
	}
	for _, w := range r.Warnings {
		a.note("warning: %s", w)
	}
}
