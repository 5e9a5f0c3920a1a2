package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/connector/service"
)

func newWatch(a *app) *cobra.Command {
	flags := serveFlags{logFormat: newChoice("text", "text", "json")}
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Keep the database up to date while documents are edited",
		Long: `Keep the database up to date while documents are edited: run a sync now, and again after every change, until interrupted.

Folders are watched; a source that does not tell of changes, or cannot be watched, is listed every sync.poll. A run waits until
it has been quiet for sync.debounce. Each run that did something is summed up on stdout, with --format json as one line of JSON.

An interrupt finishes what was begun and ends with code 0; the second one ends at once.`,
		Example: "  kbsync watch\n  kbsync watch --format json | jq .documents",
		Args:    cobra.NoArgs,
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			broken := make(chan error, 1)
			err := a.serve(cmd, &flags, service.Options{Command: "kbsync watch", Watch: true, Unscheduled: true, Ended: func(r pipeline.Result, _ error) {
				if err := a.ran(cmd, &r); err != nil {
					select {
					case broken <- err:
					default: // told once
					}
				}
			}})
			select {
			case werr := <-broken:
				err = errors.Join(err, werr)
			default:
			}
			return err
		}),
	}
	flags.register(cmd)
	return cmd
}

// ran prints what a run did, if it did anything.
func (a *app) ran(cmd *cobra.Command, r *pipeline.Result) error {
	d := &r.Documents
	if d.Added+d.Updated+d.Moved+d.Deleted+d.Failed == 0 {
		return nil
	}
	var err error
	if asJSON(cmd) {
		err = a.line(r)
	} else {
		a.summary(r)
	}
	return errors.Join(err, a.out.Flush())
}
