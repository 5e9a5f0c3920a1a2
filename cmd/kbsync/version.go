package main

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/parsers/code"
)

// build describes this program.
type build struct {
	Version   string   `json:"version"`
	Commit    string   `json:"commit"`
	Modified  bool     `json:"modified"`
	Go        string   `json:"go"`
	Platform  string   `json:"platform"`
	Code      string   `json:"code"`
	Languages []string `json:"languages"`
}

func describe() build {
	b := build{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Code: code.Backend(), Languages: code.Languages()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// codeNotice says what a build without a C compiler does with source code; empty where tree-sitter is in it.
func codeNotice() string {
	if strings.HasPrefix(code.Backend(), "tree-sitter") {
		return ""
	}
	return "this build was made without cgo: source code is cut with go/ast (Go) and by indentation (the rest)"
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the version, and what this build can do",
		Example: "  kbsync version\n  kbsync version --format json",
		Args:    cobra.NoArgs,
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			b := describe()
			if asJSON(cmd) {
				return a.line(b)
			}
			a.printf("kbsync %s", b.Version)
			if b.Commit != "" {
				a.printf(" (%s)", b.Commit[:min(12, len(b.Commit))])
			}
			a.printf("\n%s on %s\n", b.Go, b.Platform)
			a.printf("code: %s; languages: %s\n", b.Code, strings.Join(b.Languages, ", "))
			if n := codeNotice(); n != "" {
				a.printf("%s\n", n)
			}
			return nil
		}),
	}
}
