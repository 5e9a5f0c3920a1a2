package main

import (
	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/connector/config"
)

func newSchema(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration",
		Long: `Print the JSON Schema of the configuration, for editors that complete and check kbsync.yaml. The file that kbsync init writes
names it in its first line.`,
		Example: "  kbsync schema > kbsync.schema.json",
		Args:    cobra.NoArgs,
		RunE: a.action(func(*cobra.Command, []string) error {
			b, err := config.Schema(a.reg)
			if err != nil {
				return err
			}
			_, err = a.out.Write(b)
			return err
		}),
	}
	formats(cmd, "json", "json")
	return cmd
}
