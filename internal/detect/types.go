package detect

import (
	"slices"

	"github.com/kbsync/kbsync/internal/apiformat"
)

// The kinds of files that some parser reads.
const (
	kindText      = "text"
	kindSubtitles = "subtitles"
	kindCues      = "cues"
	kindLaTeX     = "latex"
	kindAPI       = "api"
	kindXML       = "xml"
	kindMarkdown  = "markdown"
	kindHTML      = "html"
	kindCSV       = "csv"
	kindTSV       = "tsv"
	kindJSON      = "json"
	kindJSONL     = "jsonl"
	kindNotebook  = "notebook"
	kindCode      = "code"
	kindRST       = "rst"
	kindAsciiDoc  = "asciidoc"
	kindOrg       = "org"

	kindPDF     = "pdf"
	kindDOCX    = "docx"
	kindPPTX    = "pptx"
	kindXLSX    = "xlsx"
	kindODT     = "odt"
	kindODP     = "odp"
	kindODS     = "ods"
	kindRTF     = "rtf"
	kindMan     = "man"
	kindICal    = "ical"
	kindVCard   = "vcard"
	kindEPUB    = "epub"
	kindParquet = "parquet"
	kindMHTML   = "mhtml"
	kindEML     = "eml"
	kindMbox    = "mbox"
	kindZip     = "zip"
	kindTar     = "tar"
	kindGzip    = "gzip"
)

// presetOf is how a kind of file is read and cut by default.
type presetOf struct {
	mediaType string
	parser    string
	strategy  string
	params    map[string]any
	tree      bool
	binary    bool // cannot be read as plain text where a tree would be too large
}

// The beginnings of media types of office documents.
const (
	ooxml = "application/vnd.openxmlformats-officedocument."
	odf   = "application/vnd.oasis.opendocument."
)

// presets are the built-in rules.
var presets = map[string]presetOf{
	kindText:      {mediaType: "text/plain", parser: "text", strategy: "recursive"},
	kindSubtitles: {mediaType: "text/vtt", parser: "text", strategy: "recursive"},
	kindCues:      {mediaType: "text/vtt", parser: "dialogue", strategy: "dialogue"},
	kindLaTeX:     {mediaType: "text/x-tex", parser: "latex", strategy: "latex", tree: true},
	kindAPI:       {mediaType: "application/vnd.oai.openapi", parser: "apidoc", strategy: "api", tree: true},
	kindXML:       {mediaType: "text/xml", parser: "xml", strategy: "layout", tree: true},
	kindMarkdown:  {mediaType: "text/markdown", parser: "markdown", strategy: "markdown", tree: true},
	kindRST:       {mediaType: "text/x-rst", parser: "rst", strategy: "markdown", tree: true},
	kindAsciiDoc:  {mediaType: "text/asciidoc", parser: "asciidoc", strategy: "markdown", tree: true},
	kindOrg:       {mediaType: "text/org", parser: "org", strategy: "markdown", tree: true},
	kindMHTML:     {mediaType: "multipart/related", parser: "mhtml", strategy: "html", tree: true, binary: true},
	kindEML:       {mediaType: "message/rfc822", parser: "eml", strategy: "layout"},
	kindMbox:      {mediaType: "application/mbox", parser: "mbox", strategy: "recursive"},
	kindZip:       {mediaType: zip, parser: "zip", strategy: "recursive"},
	kindTar:       {mediaType: "application/x-tar", parser: "tar", strategy: "recursive"},
	kindGzip:      {mediaType: "application/gzip", parser: "gzip", strategy: "recursive"},
	kindHTML:      {mediaType: "text/html", parser: "html", strategy: "html", tree: true},
	kindCSV:       {mediaType: "text/csv", parser: "csv", strategy: "table"},
	kindTSV:       {mediaType: "text/tab-separated-values", parser: "csv", strategy: "table"},
	kindJSON:      {mediaType: "application/json", parser: "json", strategy: "table", tree: true},
	kindJSONL:     {mediaType: "application/jsonl", parser: "jsonl", strategy: "table"},
	kindNotebook:  {mediaType: "application/x-ipynb+json", parser: "notebook", strategy: "markdown"},
	kindCode:      {mediaType: "text/plain", parser: "code", strategy: "code", tree: true},
	kindPDF:       {mediaType: "application/pdf", parser: "pdf", strategy: "layout", tree: true, binary: true},
	kindDOCX:      {mediaType: ooxml + "wordprocessingml.document", parser: "docx", strategy: "layout", tree: true, binary: true},
	kindPPTX:      {mediaType: ooxml + "presentationml.presentation", parser: "pptx", strategy: "layout", tree: true, binary: true},
	kindXLSX:      {mediaType: ooxml + "spreadsheetml.sheet", parser: "xlsx", strategy: "table", tree: true, binary: true},
	kindODT:       {mediaType: odf + "text", parser: "odf", strategy: "layout", tree: true, binary: true},
	kindODP:       {mediaType: odf + "presentation", parser: "odf", strategy: "layout", tree: true, binary: true},
	kindODS:       {mediaType: odf + "spreadsheet", parser: "ods", strategy: "table", tree: true, binary: true},
	kindMan:       {mediaType: "text/troff", parser: "man", strategy: "layout", tree: true},
	kindRTF:       {mediaType: "application/rtf", parser: "rtf", strategy: "layout", tree: true, binary: true},
	kindICal:      {mediaType: "text/calendar", parser: "ical", strategy: "layout", tree: true},
	kindVCard:     {mediaType: "text/vcard", parser: "vcard", strategy: "layout", tree: true},
	kindEPUB:      {mediaType: "application/epub+zip", parser: "epub", strategy: "layout", tree: true, binary: true},
	kindParquet:   {mediaType: "application/vnd.apache.parquet", parser: "parquet", strategy: "table", tree: true, binary: true},
}

// apiMediaTypes of the formats of kindAPI.
var apiMediaTypes = map[apiformat.Format]string{
	apiformat.OpenAPI: "application/vnd.oai.openapi", apiformat.JSONSchema: "application/schema+json", apiformat.GraphQL: "application/graphql",
	apiformat.Protobuf: "text/x-protobuf",
}

// kindByExtension holds the extensions that mean one thing; others are go-enry's to tell.
var kindByExtension = map[string]string{
	".1": kindMan, ".2": kindMan, ".3": kindMan, ".4": kindMan, ".5": kindMan, ".6": kindMan, ".7": kindMan, ".8": kindMan, ".9": kindMan, ".1p": kindMan, ".3p": kindMan, ".3x": kindMan,
	".man": kindMan, ".mdoc": kindMan, ".troff": kindMan, ".roff": kindMan,
	".txt": kindText, ".text": kindText, ".log": kindText, ".textile": kindText,
	".wiki": kindText, ".mediawiki": kindText, ".nfo": kindText, ".diff": kindText, ".patch": kindText,
	".ics": kindICal, ".ical": kindICal, ".ifb": kindICal, ".vcs": kindICal, ".vcf": kindVCard, ".vcard": kindVCard,
	".vtt": kindCues, ".srt": kindCues, ".ass": kindSubtitles, ".ssa": kindSubtitles, ".lrc": kindSubtitles,
	".tex": kindLaTeX, ".latex": kindLaTeX, ".ltx": kindLaTeX,
	".proto": kindAPI, ".graphql": kindAPI, ".graphqls": kindAPI, ".gql": kindAPI,
	".xml": kindXML, ".rss": kindXML, ".atom": kindXML, ".svg": kindXML,
	".md": kindMarkdown, ".markdown": kindMarkdown, ".mdx": kindMarkdown, ".mdown": kindMarkdown, ".mkd": kindMarkdown, ".mkdn": kindMarkdown, ".mdwn": kindMarkdown,
	".rmd": kindMarkdown, ".qmd": kindMarkdown, ".mdc": kindMarkdown,
	".rst": kindRST, ".rest": kindRST, ".adoc": kindAsciiDoc, ".asciidoc": kindAsciiDoc, ".org": kindOrg,
	".eml": kindEML, ".emlx": kindEML, ".mbox": kindMbox,
	".mht": kindMHTML, ".mhtml": kindMHTML, ".fodt": kindODT, ".fodp": kindODP,
	".html": kindHTML, ".htm": kindHTML, ".xhtml": kindHTML, ".xht": kindHTML, ".shtml": kindHTML,
	".csv": kindCSV, ".tsv": kindTSV, ".tab": kindTSV, ".psv": kindCSV,
	".json": kindJSON, ".geojson": kindJSON, ".ipynb": kindNotebook, ".har": kindJSON, ".webmanifest": kindJSON,
	".jsonl": kindJSONL, ".ndjson": kindJSONL, ".ldjson": kindJSONL,
}

// kindByLanguage are the languages of go-enry that are no source code here.
var kindByLanguage = map[string]string{
	"reStructuredText": kindRST, "AsciiDoc": kindAsciiDoc, "Org": kindOrg, "Markdown": kindMarkdown, "RMarkdown": kindMarkdown, "MDX": kindMarkdown, "HTML": kindHTML, "CSV": kindCSV, "TSV": kindTSV,
	"JSON": kindJSON, "JSONLD": kindJSON, "Jupyter Notebook": kindNotebook, "TeX": kindLaTeX, "BibTeX": kindText, "XML": kindXML, "SVG": kindXML,
	"XML Property List": kindXML, "WebVTT": kindCues, "SubRip Text": kindCues, "Text": kindText, "Diff": kindText, "Roff": kindMan, "Roff Manpage": kindMan,
	"GraphQL": kindAPI, "Protocol Buffer": kindAPI, "OpenAPI Specification v2": kindAPI, "OpenAPI Specification v3": kindAPI,
}

// codeLike are the markup and data languages of go-enry that read like source code.
var codeLike = map[string]bool{
	"CSS": true, "SCSS": true, "Sass": true, "Less": true, "Stylus": true, "PostCSS": true, "YAML": true, "TOML": true, "SQL": true,
	"Thrift": true, "JSON with Comments": true, "JSON5": true, "Jsonnet": true, "Vue": true, "Svelte": true, "Astro": true, "HCL": true,
	"INI": true, "Nix": true, "HTML+ERB": true, "HTML+EEX": true, "HTML+PHP": true, "Jinja": true, "Handlebars": true, "Pug": true, "Haml": true, "Twig": true, "Smithy": true,
	"Cap'n Proto": true, "Dotenv": true,
}

// kindByMediaType is for documents whose names say nothing.
var kindByMediaType = map[string]string{
	"text/troff": kindMan, "application/x-troff-man": kindMan,
	"text/x-rst": kindRST, "text/prs.fallenstein.rst": kindRST, "text/asciidoc": kindAsciiDoc, "text/x-asciidoc": kindAsciiDoc, "text/org": kindOrg, "text/x-org": kindOrg,
	"text/markdown": kindMarkdown, "text/x-markdown": kindMarkdown, "text/html": kindHTML, "application/xhtml+xml": kindHTML, "text/csv": kindCSV,
	"text/tab-separated-values": kindTSV, "application/json": kindJSON, "application/ld+json": kindJSON, "application/jsonl": kindJSONL, "application/x-ndjson": kindJSONL,
	"application/x-jsonlines": kindJSONL, "application/x-ipynb+json": kindNotebook, "multipart/related": kindMHTML, "message/rfc822": kindEML, "application/mbox": kindMbox, zip: kindZip, "application/x-zip-compressed": kindZip, "application/x-tar": kindTar,
	"application/gzip": kindGzip, "application/x-gzip": kindGzip, "application/x-bzip2": kindGzip, "application/zstd": kindGzip, "application/x-mimearchive": kindMHTML, "text/vtt": kindCues, "text/calendar": kindICal, "text/vcard": kindVCard, "text/x-vcard": kindVCard, "application/x-subrip": kindCues, "text/x-tex": kindLaTeX, "application/x-tex": kindLaTeX,
	"application/x-latex": kindLaTeX, "text/xml": kindXML, "application/xml": kindXML, "image/svg+xml": kindXML,
}

// Strategies are those that a built-in rule may choose.
func Strategies() []string {
	var kinds []string
	for _, p := range presets {
		if !slices.Contains(kinds, p.strategy) {
			kinds = append(kinds, p.strategy)
		}
	}
	slices.Sort(kinds)
	return kinds
}
