package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/internal/quality"
)

// reportFlags are the flags of chunk that belong to its report.
type reportFlags struct {
	on     bool
	sample string
}

func (f *reportFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.on, "report", false, "report on the quality of the chunks instead of printing them: text, json or html")
	cmd.Flags().StringVar(&f.sample, "sample", "100", "with --report, how many chunks are looked at closely: `N` or all")
}

// printer is the report's printer for the form that was chosen.
func (f *reportFlags) printer(a *app, cmd *cobra.Command, model *connector.Model) (chunkPrinter, error) {
	n := 0
	if f.sample != "all" {
		var err error
		if n, err = strconv.Atoi(f.sample); err != nil || n < 1 {
			return nil, usagef("--sample is %q: expected a number from 1 on, or all", f.sample)
		}
	}
	form := format(cmd)
	if form == "jsonl" {
		return nil, usagef("--report is one thing: --format takes text, json or html with it")
	}
	unit := "cl100k"
	if model.Counter != nil {
		unit = model.Counter.Name()
	}
	return &reportPrinter{a: a, form: form, c: quality.New(quality.Options{Sample: n, Unit: unit})}, nil
}

// maxFlagged bounds the flagged chunks that a terminal shows.
const maxFlagged = 20

// reportPrinter collects chunks and prints what is worth knowing of them.
type reportPrinter struct {
	a       *app
	form    string
	c       *quality.Collector
	leftOut int
}

func (r *reportPrinter) chunk(rec *connector.Record) error {
	c := *rec
	r.c.Add(&c)
	return nil
}

func (r *reportPrinter) document(_ *found, x *pipeline.Explanation, _ int) error {
	r.leftOut += x.LeftOut
	return nil
}

func (r *reportPrinter) end() error {
	rep := r.c.Report()
	rep.LeftOut = r.leftOut
	switch r.form {
	case "json":
		return r.a.line(rep)
	case "html":
		return quality.WriteHTML(r.a.out, rep)
	}
	if err := quality.WriteText(r.a.out, rep, maxFlagged); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
