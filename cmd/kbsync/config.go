package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"
)

func newConfig(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Show the configuration",
		Example: "  kbsync config show",
		RunE:    group,
	}
	show := &cobra.Command{
		Use:   "show",
		Short: "Print the merged configuration, secrets as ***",
		Long: `Print the configuration as it is understood: files merged, variables expanded, defaults filled in, secrets
as ***.`,
		Example: "  kbsync config show\n  kbsync config show -c base.yaml -c production.yaml",
		Args:    cobra.NoArgs,
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			file, err := a.load()
			if err != nil {
				return err
			}
			text, err := file.Show()
			if err != nil {
				return err
			}
			if !asJSON(cmd) {
				_, err = a.out.Write(text)
				return err
			}
			var v any
			if err := yaml.Unmarshal(text, &v); err != nil {
				return fmt.Errorf("config show: %w", err)
			}
			return a.line(v)
		}),
	}
	cmd.AddCommand(show)
	return cmd
}
