package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// What stands in a command for the places of files.
const (
	inFile    = "{file}"
	outFile   = "{out}"
	outFolder = "{outdir}"
)

// ExecConfig is the configuration of exec.
type ExecConfig struct {
	Command        []string                    `yaml:"command" doc:"the program and its arguments; no shell reads them"`
	Output         string                      `yaml:"output" doc:"the parser that reads what the command gives: markdown, html, text, json …"`
	Env            map[string]connector.Secret `yaml:"env" doc:"further variables of the command's environment"`
	Timeout        time.Duration               `yaml:"timeout" json:"-" doc:"the longest time for one document"`
	MaxDocument    int64                       `yaml:"max_document" json:"-" format:"size" doc:"documents over this size are an error"`
	MaxOutput      int64                       `yaml:"max_output" json:"-" format:"size" doc:"what the command may give for one document"`
	Concurrency    int                         `yaml:"concurrency" json:"-" doc:"the most commands that run at a time"`
	Version        string                      `yaml:"version" doc:"any words that name the command's version: change them to have the documents converted again"`
	VersionCommand []string                    `yaml:"version_command" doc:"a command that prints its version, run at every start: another version has the documents converted again"`

	// Found is what the version command printed. It is exported for the fingerprint of the configuration, which is taken after Open.
	Found string `yaml:"-" json:"found,omitempty"`
}

// Validate checks the configuration.
func (c *ExecConfig) Validate() error {
	switch {
	case len(c.Command) == 0 || c.Command[0] == "":
		return errors.New("command is not given: want a list such as [pandoc, -f, docbook, -t, gfm, \"{file}\"]")
	case c.Output == "":
		return errors.New("output is empty: name the parser that reads what the command gives, such as markdown, html or text")
	case c.Timeout <= 0 || c.MaxDocument <= 0 || c.MaxOutput <= 0 || c.Concurrency <= 0:
		return errors.New("timeout, max_document, max_output and concurrency must be more than 0")
	case c.uses(outFile) && c.uses(outFolder):
		return errors.New("command has both {out} and {outdir}: a command writes one of them")
	case len(c.VersionCommand) > 0 && c.VersionCommand[0] == "":
		return errors.New("version_command names no program")
	}
	for name, value := range c.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value.Reveal(), 0) {
			return fmt.Errorf("env: %q cannot be set", name)
		}
	}
	return nil
}

// uses says that an argument has the placeholder.
func (c *ExecConfig) uses(placeholder string) bool {
	return slices.ContainsFunc(c.Command, func(arg string) bool { return strings.Contains(arg, placeholder) })
}

// Exec is a parser that runs a command for every document.
type Exec struct {
	cfg     ExecConfig
	program string
	dir     string
	env     []string
	reader  reader
	slots   slots
}

var _ connector.Parser = (*Exec)(nil)

// Command is the registry entry of exec. Without a command it opens, and reads nothing.
func Command() connector.ParserPlugin {
	cfg := ExecConfig{Output: "markdown", Timeout: time.Minute, MaxDocument: 256 << 20, MaxOutput: 64 << 20, Concurrency: 2}
	return connector.Define("exec", "Documents read by a command of your own", cfg, openExec)
}

func openExec(ctx context.Context, c *ExecConfig, env connector.Env) (connector.Parser, error) {
	p := &Exec{cfg: *c, dir: env.Dir, env: environment(c.Env), slots: make(slots, max(1, c.Concurrency))}
	var err error
	if p.reader, err = openReader(ctx, env, c.Output); err != nil {
		return nil, fmt.Errorf("exec: %w", err)
	}
	if len(c.Command) == 0 {
		return p, nil // every parser is opened once with its defaults
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("exec: %w", err)
	}
	if p.program, err = find(c.Command[0], env.Dir); err != nil {
		return nil, fmt.Errorf("exec: command: %w", err)
	}
	if len(c.VersionCommand) > 0 {
		if c.Found, err = p.version(ctx); err != nil {
			return nil, fmt.Errorf("exec: version_command: %w", err)
		}
		p.cfg.Found = c.Found
	}
	return p, nil
}

// find is the program that a name means: in the folder of the configuration if it has a slash, else in PATH.
func find(name, dir string) (string, error) {
	if strings.ContainsAny(name, `/\`) && !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", connector.Errorf(connector.ClassNotFound, "the program %q is not there, or may not be run: install it, or name another: %w", name, err)
	}
	return path, nil
}

// environment is what a command sees: where programs, homes and temporary files are, the language, and what is configured. Keys of services that
// kbsync knows from its own environment are none of its business.
func environment(more map[string]connector.Secret) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch name = strings.ToUpper(name); {
		case strings.HasPrefix(name, "LC_"), slices.Contains([]string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "SYSTEMROOT", "WINDIR", "COMSPEC",
			"PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES", "PROGRAMDATA", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "XDG_RUNTIME_DIR",
			"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "JAVA_HOME", "VIRTUAL_ENV", "PYTHONPATH", "TESSDATA_PREFIX"}, name):
			env = append(env, kv)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		env = append(env, name+"="+more[name].Reveal())
	}
	return env
}

// version runs the version command.
func (p *Exec) version(ctx context.Context) (string, error) {
	program, err := find(p.cfg.VersionCommand[0], p.dir)
	if err != nil {
		return "", err
	}
	out, err := p.run(ctx, call{program: program, args: p.cfg.VersionCommand[1:], timeout: 30 * time.Second, limit: 64 << 10})
	if err != nil {
		return "", err
	}
	return shorten(string(out)), nil
}

// Info names the parser, with the version of its command.
func (p *Exec) Info() connector.ParserInfo {
	return p.reader.info("exec", strings.TrimSpace(p.cfg.Version+" "+p.cfg.Found))
}

// Parse runs the command for the document and yields what the parser makes of what it gave.
func (p *Exec) Parse(ctx context.Context, doc *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		if err := p.parse(ctx, doc, r, yield); err != nil && !errors.Is(err, errStopped) {
			yield(connector.Element{}, fmt.Errorf("exec: %w", err))
		}
	}
}

func (p *Exec) parse(ctx context.Context, doc *connector.Document, r io.Reader, yield func(connector.Element, error) bool) error {
	if p.program == "" {
		return connector.Errorf(connector.ClassUnsupported, "command is not given: name it in a rule")
	}
	out, err := p.convert(ctx, doc, r)
	if errors.Is(err, errNoBytes) {
		return nil // it has no text either
	}
	if err != nil {
		return err
	}
	return p.reader.elements(ctx, doc, out, yield)
}

// errNoBytes says that the document has none.
var errNoBytes = errors.New("no bytes")

// convert runs the command.
func (p *Exec) convert(ctx context.Context, doc *connector.Document, r io.Reader) (out []byte, err error) {
	if err := p.slots.take(ctx); err != nil {
		return nil, err
	}
	defer p.slots.give()
	dir, err := os.MkdirTemp("", "kbsync-exec-")
	if err != nil {
		return nil, local(err)
	}
	defer func() {
		if rerr := os.RemoveAll(dir); rerr != nil && err == nil {
			err = local(rerr)
		}
	}()
	file := filepath.Join(dir, "document"+extension(doc.Path))
	n, err := p.spool(file, r)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, errNoBytes
	}
	written, folder := filepath.Join(dir, "out"), filepath.Join(dir, "outdir")
	c := call{program: p.program, tmp: dir, timeout: p.cfg.Timeout, limit: p.cfg.MaxOutput}
	places := strings.NewReplacer(inFile, file, outFile, written, outFolder, folder)
	for _, arg := range p.cfg.Command[1:] {
		c.args = append(c.args, places.Replace(arg))
	}
	if !p.cfg.uses(inFile) {
		c.stdin = file
	}
	if p.cfg.uses(outFolder) {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return nil, local(err)
		}
	}
	if out, err = p.run(ctx, c); err != nil {
		return nil, err
	}
	switch {
	case p.cfg.uses(outFolder):
		return p.only(folder)
	case p.cfg.uses(outFile):
		return p.written(written)
	}
	return out, nil
}
