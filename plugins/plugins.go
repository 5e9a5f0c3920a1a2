// Package plugins is the one list of the plugins of kbsync: the program and whoever uses the engine as a library register them here.
package plugins

import (
	"errors"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/embedders/bedrock"
	"github.com/kbsync/kbsync/embedders/cohere"
	"github.com/kbsync/kbsync/embedders/gemini"
	"github.com/kbsync/kbsync/embedders/jina"
	"github.com/kbsync/kbsync/embedders/lexical"
	"github.com/kbsync/kbsync/embedders/local"
	"github.com/kbsync/kbsync/embedders/ollama"
	"github.com/kbsync/kbsync/embedders/openai"
	"github.com/kbsync/kbsync/embedders/voyage"
	"github.com/kbsync/kbsync/llms/anthropic"
	geminillm "github.com/kbsync/kbsync/llms/gemini"
	openaillm "github.com/kbsync/kbsync/llms/openai"
	"github.com/kbsync/kbsync/parsers/apidoc"
	"github.com/kbsync/kbsync/parsers/archive"
	"github.com/kbsync/kbsync/parsers/asciidoc"
	"github.com/kbsync/kbsync/parsers/code"
	"github.com/kbsync/kbsync/parsers/convert"
	"github.com/kbsync/kbsync/parsers/delimited"
	"github.com/kbsync/kbsync/parsers/dialogue"
	"github.com/kbsync/kbsync/parsers/docx"
	"github.com/kbsync/kbsync/parsers/epub"
	"github.com/kbsync/kbsync/parsers/html"
	"github.com/kbsync/kbsync/parsers/ical"
	"github.com/kbsync/kbsync/parsers/jsondoc"
	"github.com/kbsync/kbsync/parsers/latex"
	"github.com/kbsync/kbsync/parsers/mail"
	"github.com/kbsync/kbsync/parsers/man"
	"github.com/kbsync/kbsync/parsers/markdown"
	"github.com/kbsync/kbsync/parsers/mhtml"
	"github.com/kbsync/kbsync/parsers/notebook"
	"github.com/kbsync/kbsync/parsers/odf"
	"github.com/kbsync/kbsync/parsers/ods"
	"github.com/kbsync/kbsync/parsers/org"
	"github.com/kbsync/kbsync/parsers/parquet"
	"github.com/kbsync/kbsync/parsers/pdf"
	"github.com/kbsync/kbsync/parsers/pptx"
	"github.com/kbsync/kbsync/parsers/rst"
	"github.com/kbsync/kbsync/parsers/rtf"
	"github.com/kbsync/kbsync/parsers/text"
	"github.com/kbsync/kbsync/parsers/xlsx"
	"github.com/kbsync/kbsync/parsers/xmldoc"
	"github.com/kbsync/kbsync/sinks/chroma"
	"github.com/kbsync/kbsync/sinks/milvus"
	"github.com/kbsync/kbsync/sinks/opensearch"
	"github.com/kbsync/kbsync/sinks/pgvector"
	"github.com/kbsync/kbsync/sinks/qdrant"
	"github.com/kbsync/kbsync/sinks/sqlite"
	"github.com/kbsync/kbsync/sinks/weaviate"
	"github.com/kbsync/kbsync/sources/azblob"
	"github.com/kbsync/kbsync/sources/fs"
	"github.com/kbsync/kbsync/sources/gcs"
	"github.com/kbsync/kbsync/sources/git"
	httpsource "github.com/kbsync/kbsync/sources/http"
	"github.com/kbsync/kbsync/sources/s3"
	"github.com/kbsync/kbsync/sources/sql"
	"github.com/kbsync/kbsync/strategies"
)

// Registry is the one list of the plugins of this program. A new plugin is one line here. Weights are those of the model that the
// embedder local has without being given one; with none, lexical is the default.
func Registry(weights []byte) (*connector.Registry, error) {
	reg := &connector.Registry{DefaultEmbedders: []string{"local", "lexical"}}
	if len(weights) == 0 {
		reg.DefaultEmbedders = []string{"lexical", "local"}
	}
	return reg, errors.Join(
		add(&reg.Sources,
			fs.Plugin(),
			s3.Plugin(),
			gcs.Plugin(),
			azblob.Plugin(),
			httpsource.Plugin(),
			git.Plugin(),
			sql.Plugin(),
		),
		add(&reg.Parsers,
			text.Plugin(),
			markdown.Plugin(code.NewDivider()),
			html.Plugin(code.NewDivider()),
			delimited.Plugin(),
			jsondoc.Plugin(),
			jsondoc.LinesPlugin(),
			code.Plugin(),
			notebook.Plugin(),
			latex.Plugin(),
			rst.Plugin(),
			asciidoc.Plugin(),
			org.Plugin(),
			dialogue.Plugin(),
			apidoc.Plugin(),
			xlsx.Plugin(),
			odf.Plugin(),
			ods.Plugin(),
			parquet.Plugin(),
			epub.Plugin(),
			docx.Plugin(),
			pptx.Plugin(),
			mhtml.Plugin(),
			rtf.Plugin(),
			man.Plugin(),
			xmldoc.Plugin(),
			ical.Plugin(),
			ical.CardPlugin(),
			pdf.Plugin(),
			archive.ZipPlugin(),
			archive.TarPlugin(),
			archive.GzipPlugin(),
			convert.Command(),
			convert.Tika(),
			convert.Docling(),
			convert.Unstructured(),
			convert.Mineru(),
			convert.Kreuzberg(),
			mail.Plugin(),
			mail.MailboxPlugin(),
		),
		add(&reg.Strategies,
			strategies.Fixed(),
			strategies.Recursive(),
			strategies.Sentence(),
			strategies.Paragraph(),
			strategies.Markdown(),
			strategies.HTML(),
			strategies.Code(),
			strategies.Table(),
			strategies.Whole(),
			strategies.Semantic(),
			strategies.Cluster(),
			strategies.Late(),
			strategies.Auto(),
			strategies.Agentic(),
			strategies.Adaptive(),
			strategies.Layout(),
			strategies.Latex(),
			strategies.Dialogue(),
			strategies.API(),
			strategies.ParentChild(),
			strategies.Hierarchical(),
			strategies.Sliding(),
			strategies.Propositions(),
			strategies.LLM(),
			strategies.Contextual(),
		),
		add(&reg.Embedders,
			local.Plugin(weights),
			lexical.Plugin(),
			openai.Plugin(),
			ollama.Plugin(),
			cohere.Plugin(),
			voyage.Plugin(),
			jina.Plugin(),
			gemini.Plugin(),
			bedrock.Plugin(),
		),
		add(&reg.Embedders, tagged()...),
		add(&reg.LLMs,
			openaillm.Plugin(),
			anthropic.Plugin(),
			geminillm.Plugin(),
		),
		add(&reg.Sinks,
			sqlite.Plugin(),
			qdrant.Plugin(),
			weaviate.Plugin(),
			milvus.Plugin(),
			pgvector.Plugin(),
			chroma.Plugin(),
			opensearch.Plugin(),
		),
	)
}

func add[E, T any](set *connector.Set[connector.Plugin[E, T]], plugins ...connector.Plugin[E, T]) error {
	var errs []error
	for _, p := range plugins {
		errs = append(errs, set.Add(p.Kind, p))
	}
	return errors.Join(errs...)
}
