package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// File is a configuration: merged, decoded and checked.
type File struct {
	Version int    `yaml:"version" doc:"version of this format: 1"`
	Name    string `yaml:"name" doc:"name of the pipeline, part of every id; default: the name of the configuration's folder"`
	// State is the file of the ledger; empty means the engine's own choice beside the configuration.
	State string `yaml:"state" doc:"file of the ledger, relative to the configuration; default: .kbsync/<name>.db beside it"`
	// Store is the file of the shared store of vectors; empty means none.
	Store string `yaml:"store" doc:"file of vectors that several pipelines share, relative to the configuration; default: none, each pipeline keeps its own alone"`
	IDs   string `yaml:"ids" enum:"content,position" doc:"what a chunk's id is made of: its content, or its position in the document"`
	Dedup string `yaml:"dedup" enum:"none,exact,near" doc:"which repeated chunks are left out"`
	Near  Near   `yaml:"near" doc:"what dedup: near takes for a copy"`
	// Keywords is nil where none are asked for.
	Keywords *Keywords `yaml:"keywords" doc:"keywords of each chunk, in its metadata and in an index for kbsync related; default: none"`

	Sources  []SourceConf `yaml:"sources" required:"true" doc:"the sources, at least one"`
	Rules    []Rule       `yaml:"rules" doc:"which documents are cut how; the first match wins, the built-in rules follow"`
	Embedder *Kinded      `yaml:"embedder" kinds:"embedder" doc:"what gives the texts their vectors; default: local, or what the pipeline began with"`
	Sink     *Kinded      `yaml:"sink" kinds:"sink" doc:"where the chunks are stored; default: sqlite beside the configuration"`
	LLM      *Kinded      `yaml:"llm" kinds:"llm" doc:"the language model that strategies may ask; default: none"`
	Sync     Sync         `yaml:"sync" doc:"how a run behaves"`
	Archives Archives     `yaml:"archives" doc:"how far archives, and mail with attachments, are unpacked"`
	// PostChunking is off while it names no strategy.
	PostChunking PostChunking `yaml:"post_chunking" doc:"cut documents when a question is asked, and not when they are stored"`
	// FrontMatter names the keys of a document's front matter that are copied to its chunks' metadata.
	FrontMatter []string `yaml:"front_matter" doc:"front matter keys that are copied to the metadata"`

	// Dir is the absolute folder of the first file: relative paths are resolved against it.
	Dir string `yaml:"-"`
	// Files are the files as they were named.
	Files []string `yaml:"-"`

	vault *vault
}

// Near says what a near copy is.
type Near struct {
	// Threshold 0 means the engine's default.
	Threshold float64 `yaml:"threshold" doc:"the share of three-word runs that two chunks must have in common, 0.8 to 1; default: 0.9"`
}

// Keywords says how the keywords of chunks are found.
type Keywords struct {
	Top       int    `yaml:"top" doc:"the most keywords of a chunk, 1 to 50; default: 5"`
	Method    string `yaml:"method" enum:"tfidf,textrank" doc:"how words are ranked; default: tfidf"`
	Segmenter string `yaml:"segmenter" enum:"none,jieba-like" doc:"what cuts Chinese into words: none takes statistics, no dictionary; default: none"`
}

// Kinded is a plugin's kind and its own configuration: the pointer that the plugin's Config made, decoded over its
// defaults and validated.
type Kinded struct {
	Kind   string
	Config any
	// Pos is where the kind stands.
	Pos Position
}

// SourceConf is one source. Name defaults to the kind.
type SourceConf struct {
	Name string
	Kinded
}

// Rule says how the documents that it matches are cut.
type Rule struct {
	Match Match `yaml:"match" doc:"which documents: several keys must all hold, of a list one must; an empty one matches all"`
	// Strategy is nil where the rule adds metadata or names a parser; later rules, and the built-in ones, then choose.
	Strategy *Kinded `yaml:"strategy" kinds:"strategy" doc:"how they are cut; default: as the built-in rules say"`
	// Parser is nil where the type of a document chooses. A document that no parser claims is read if a rule that names one matches.
	Parser   *Kinded        `yaml:"parser" kinds:"parser" doc:"what reads them, with its settings; default: by the type of the document"`
	Metadata map[string]any `yaml:"metadata" doc:"what is added to their chunks' metadata"`
	// Preset is expanded into Strategy; what stands beside it in the strategy wins.
	Preset string `yaml:"preset" enum:"faq,policy,api_docs,source_code,spreadsheet,paper,blog,legal" doc:"a strategy with settings that suit a kind of document; a strategy beside it changes settings"`
	// Name identifies the rule for people: rules[0] (kbsync.yaml:9).
	Name string `yaml:"-"`
}

// PostChunking says how documents are cut that are stored whole.
type PostChunking struct {
	Strategy *Kinded `yaml:"strategy" kinds:"strategy" doc:"how they are cut when a question is asked; default: they are not, and are cut by the rules when they are stored"`
	// Documents is how many are cut for one question.
	Documents int `yaml:"documents" doc:"how many of the documents that answer best are cut, 1 to 100"`
}

// Sync says how a run behaves.
type Sync struct {
	// Schedule is empty for runs by hand.
	Schedule string        `yaml:"schedule" doc:"when serve runs a sync: \"@every 15m\", or a cron line such as \"0 3 * * *\", with CRON_TZ=ZONE before it if need be"`
	Jitter   time.Duration `yaml:"jitter" doc:"each scheduled run waits a random time up to this, so that many pipelines do not start at once"`
	Debounce time.Duration `yaml:"debounce" doc:"after a change, how long watch waits for quiet; after ten times as long it runs anyway"`
	Poll     time.Duration `yaml:"poll" doc:"how often watch lists a source that does not tell of changes"`
	// Concurrency 0 means one per processor.
	Concurrency int `yaml:"concurrency" doc:"documents worked on at a time; 0: one per processor"`
	// MaxDelete guards against a source that lost documents by accident.
	MaxDelete       Amount        `yaml:"max_delete" doc:"a source that lost more than this deletes nothing: a share (of more than 10 documents) or a number"`
	OnError         string        `yaml:"on_error" enum:"continue,stop" doc:"what follows when a document fails"`
	Retries         int           `yaml:"retries" doc:"how often a call is tried again after a passing fault"`
	DocumentTimeout time.Duration `yaml:"document_timeout" doc:"the longest time for one document; 0: no limit"`
	// Memory is in bytes.
	Memory int64 `yaml:"memory" format:"size" doc:"what a run may hold in memory"`
}

// Archives says how far containers are unpacked: archives, and mail with attachments. The limits are those of what one file of a source holds,
// with all that is nested in it; a file that breaks one fails, and what was read of it before stays.
type Archives struct {
	MaxDepth   int   `yaml:"max_depth" doc:"how deep archives may be nested; what is deeper is skipped; 0: nothing is unpacked"`
	MaxMembers int   `yaml:"max_members" doc:"the most files that one archive may hold"`
	MaxSize    int64 `yaml:"max_size" format:"size" doc:"the most that the files of one archive may come to, unpacked"`
}

// Options of Load and Parse.
type Options struct {
	// Getenv looks up an environment variable; nil means os.LookupEnv.
	Getenv func(string) (string, bool)
	// Partial allows a configuration without sources: a part to be merged, or the sink alone.
	Partial bool
}

// Version is the version of the format that this package reads.
const Version = 1

func defaults() *File {
	return &File{
		Version: Version, IDs: "content", Dedup: "none", PostChunking: PostChunking{Documents: 10},
		Sync: Sync{
			MaxDelete: Amount{Value: 50, Percent: true}, OnError: "continue", Retries: 5,
			DocumentTimeout: 5 * time.Minute, Memory: 512 << 20,
			Debounce: time.Second, Poll: 30 * time.Second,
		},
		Archives: Archives{MaxDepth: 3, MaxMembers: 100_000, MaxSize: 8 << 30},
	}
}

// Load reads and merges files, left to right. The error is of type [Errors] and holds every fault that was found.
func Load(paths []string, reg *connector.Registry, opts Options) (*File, error) {
	var inputs []input
	var errs Errors
	for _, path := range paths {
		data, err := readFile(path)
		if err != nil {
			errs = append(errs, &Error{Pos: Position{File: path}, Msg: err.Error()})
			continue
		}
		inputs = append(inputs, input{path, data})
	}
	if len(errs) > 0 {
		return nil, errs
	}
	if len(inputs) == 0 {
		return nil, Errors{{Pos: Position{File: "kbsync.yaml"}, Msg: "no configuration file is named"}}
	}
	return load(inputs, reg, opts)
}

// Parse reads one configuration from memory; name stands in for its path.
func Parse(name string, data []byte, reg *connector.Registry, opts Options) (*File, error) {
	return load([]input{{name, data}}, reg, opts)
}

type input struct {
	name string
	data []byte
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errors.New("there is no such file; kbsync init writes one, -c names another")
		}
		if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	return data, nil
}

func load(inputs []input, reg *connector.Registry, opts Options) (*File, error) {
	if reg == nil {
		reg = &connector.Registry{}
	}
	if opts.Getenv == nil {
		opts.Getenv = os.LookupEnv
	}
	first, err := filepath.Abs(inputs[0].name)
	if err != nil {
		return nil, Errors{{Pos: Position{File: inputs[0].name}, Msg: err.Error()}}
	}
	file := defaults()
	file.Dir, file.vault = filepath.Dir(first), &vault{}
	var errs Errors
	var root *node
	unreadable := false
	for _, in := range inputs {
		file.Files = append(file.Files, in.name)
		n := readNodes(in.name, in.data, &errs)
		unreadable = unreadable || n == nil
		root = merge(root, n, "")
	}
	if root == nil || unreadable {
		return nil, errs.sorted()
	}
	if root.kind == nullNode {
		root = &node{kind: mapNode, pos: root.pos}
	}
	d := &decoder{
		expander: expander{getenv: opts.Getenv, vault: file.vault},
		reg:      reg, dir: file.Dir, partial: opts.Partial,
	}
	d.structure(root, reflect.ValueOf(file).Elem(), "")
	d.check(file, root)
	if errs = append(errs, d.errs...); len(errs) > 0 {
		return nil, errs.sorted()
	}
	return file, nil
}

// namePattern is what pipelines and sources may be called.
var namePattern = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N}\p{M} ._-]*$`)

const (
	maxName  = 100
	nameRule = "expected a letter or digit, then letters, digits, spaces and . _ -, at most 100 bytes"
)

func validName(s string) bool {
	return len(s) <= maxName && namePattern.MatchString(s) && strings.TrimSpace(s) == s
}

var notName = regexp.MustCompile(`[^\p{L}\p{N}\p{M} ._-]+`)

// nameOf makes a pipeline's name from its folder.
func nameOf(dir string) string {
	name := notName.ReplaceAllString(filepath.Base(dir), "-")
	name = strings.TrimSpace(strings.TrimLeft(name, "-. _"))
	if validName(name) {
		return name
	}
	return "kbsync"
}
