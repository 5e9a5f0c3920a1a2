package acceptance

import (
	"context"
	"errors"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/embedders/lexical"
	"github.com/kbsync/kbsync/parsers/delimited"
	"github.com/kbsync/kbsync/parsers/jsondoc"
	"github.com/kbsync/kbsync/parsers/markdown"
	"github.com/kbsync/kbsync/parsers/text"
	"github.com/kbsync/kbsync/sinks/sqlite"
	"github.com/kbsync/kbsync/sources/fs"
	"github.com/kbsync/kbsync/strategies"
)

type remoteConfig struct {
	Socket string `yaml:"socket"`
}

func registry(tb testing.TB, r *rig) *connector.Registry {
	tb.Helper()
	reg := &connector.Registry{}
	err := errors.Join(
		reg.Sources.Add("fs", fs.Plugin()),
		reg.Sources.Add("faulty", faultyPlugin()),
		reg.Parsers.Add("text", text.Plugin()), reg.Parsers.Add("markdown", markdown.Plugin()), reg.Parsers.Add("delimited", delimited.Plugin()),
		reg.Parsers.Add("json", jsondoc.Plugin()), reg.Parsers.Add("jsonl", jsondoc.LinesPlugin()),
		reg.Strategies.Add("recursive", strategies.Recursive()), reg.Strategies.Add("markdown", strategies.Markdown()), reg.Strategies.Add("table", strategies.Table()),
		reg.Strategies.Add("sentence", strategies.Sentence()), reg.Strategies.Add("paragraph", strategies.Paragraph()), reg.Strategies.Add("whole", strategies.Whole()),
		reg.Strategies.Add("fixed", strategies.Fixed()),
		reg.Embedders.Add("lexical", lexical.Plugin()),
		reg.Sinks.Add("sqlite", sqlite.Plugin()),
		reg.Sinks.Add("memory", connector.Define("memory", "the reference sink", struct{}{}, func(context.Context, *struct{}, connector.Env) (connector.Sink, error) {
			return r.memory, nil
		})),
		reg.Sinks.Add("remote", connector.Define("remote", "a sink in another process", remoteConfig{}, func(_ context.Context, c *remoteConfig, _ connector.Env) (connector.Sink, error) {
			return &remote{socket: c.Socket}, nil
		})),
	)
	if err != nil {
		tb.Fatal(err)
	}
	return reg
}
