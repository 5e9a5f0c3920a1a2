package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/embedders/lexical"
	"github.com/kbsync/kbsync/parsers/markdown"
	"github.com/kbsync/kbsync/parsers/text"
	"github.com/kbsync/kbsync/sinks/sqlite"
	"github.com/kbsync/kbsync/sources/fs"
	"github.com/kbsync/kbsync/strategies"
)

// A sync of a folder, and a question, in ten lines.
func Example() {
	file, reg := handbook()
	ctx := context.Background()
	p, err := pipeline.Open(ctx, file, reg, pipeline.Options{})
	if err != nil {
		log.Fatal(err)
	}
	result, err := p.Sync(ctx, pipeline.SyncOptions{})
	hits, qerr := p.Query(ctx, pipeline.QueryOptions{Text: "How do I reset my password?", K: 1})
	if err := errors.Join(err, qerr, p.Close()); err != nil {
		log.Fatal(err)
	}
	_ = os.RemoveAll(file.Dir)
	fmt.Println(result.Documents.Added, "documents;", hits[0].Path, "line", hits[0].LineStart)
	// Output: 2 documents; password.md line 1
}

// handbook makes a folder of documents, its configuration, and the registry of the plugins that it needs.
func handbook() (*config.File, *connector.Registry) {
	reg := new(connector.Registry)
	check(reg.Sources.Add("fs", fs.Plugin()))
	check(reg.Parsers.Add("markdown", markdown.Plugin()))
	check(reg.Parsers.Add("text", text.Plugin()))
	check(reg.Strategies.Add("markdown", strategies.Markdown()))
	check(reg.Strategies.Add("recursive", strategies.Recursive()))
	check(reg.Embedders.Add("lexical", lexical.Plugin()))
	reg.DefaultEmbedders = []string{"lexical"}
	check(reg.Sinks.Add("sqlite", sqlite.Plugin()))

	dir, err := os.MkdirTemp("", "handbook-")
	check(err)
	check(os.Mkdir(filepath.Join(dir, "docs"), 0o755))
	check(os.WriteFile(filepath.Join(dir, "docs", "password.md"), []byte("# Password\n\nTo reset your password, open the settings.\n"), 0o644))
	check(os.WriteFile(filepath.Join(dir, "docs", "refunds.md"), []byte("# Refunds\n\nWe pay back within fourteen days.\n"), 0o644))

	file, err := config.Parse(filepath.Join(dir, "kbsync.yaml"), []byte("name: handbook\nsources: [{ fs: { root: docs } }]\n"), reg, config.Options{})
	check(err)
	return file, reg
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
