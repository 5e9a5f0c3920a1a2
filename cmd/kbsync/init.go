package main

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	urlpath "path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/kbsync/kbsync/connector/config"
)

func newInit(a *app) *cobra.Command {
	var source, name string
	var force bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a kbsync.yaml",
		Long: `Write a commented kbsync.yaml for a folder of documents. It works as it is: the embedded embedder and database need no
service and no key.`,
		Example: `  kbsync init --source ./docs
  kbsync init --source ~/notes --name notes -c notes.yaml`,
		Args: cobra.NoArgs,
		RunE: a.action(func(*cobra.Command, []string) error {
			path := defaultConfig
			switch len(a.configs) {
			case 0:
			case 1:
				path = a.configs[0]
			default:
				return usagef("init writes one file: give -c once")
			}
			return a.init(path, source, name, force)
		}),
	}
	cmd.Flags().StringVar(&source, "source", ".", "`DIR` with the documents")
	cmd.Flags().StringVar(&name, "name", "", "`NAME` of the pipeline (default: of the configuration's folder)")
	cmd.Flags().BoolVar(&force, "force", false, "replace a file that exists")
	_ = cmd.MarkFlagDirname("source")
	return cmd
}

func (a *app) init(path, source, name string, force bool) error {
	if _, err := os.Lstat(path); err == nil && !force {
		return usagef("%s exists: edit it, or run with --force to replace it", path)
	} else if err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return usagef("%w", err)
	}
	if info, err := os.Stat(source); err != nil || !info.IsDir() {
		return usagef("--source %s: there is no such folder", source)
	}
	root, own, err := relativeRoot(path, source)
	if err != nil {
		return err
	}
	named, err := config.Parse(path, nil, a.reg, config.Options{Partial: true})
	if err != nil {
		return err
	}
	if name == "" {
		name = named.Name
	}
	text := initText(name, root, own)
	if _, err := config.Parse(path, []byte(text), a.reg, config.Options{}); err != nil {
		return err
	}
	err = writeFile(path, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	if err != nil {
		return err
	}
	if a.quiet {
		return nil
	}
	flag := ""
	if path != defaultConfig {
		flag = " -c " + path
	}
	a.printf("wrote %s\n\nNext:\n", path)
	a.printf("  kbsync validate%s\n  kbsync sync%s\n  kbsync query%s \"…\"\n\n", flag, flag, flag)
	a.printf("The ledger lives in .kbsync/ and the database in %s.db beside %s: add both to .gitignore.\n", name, filepath.Base(path))
	return nil
}

// relativeRoot is the source's folder as the file names it, and, where that folder holds the configuration, the path of the
// configuration in it: that and the database beside it are no documents.
func relativeRoot(path, source string) (root, own string, err error) {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return "", "", err
	}
	abs, err := filepath.Abs(source)
	if err != nil {
		return "", "", err
	}
	rel, err := filepath.Rel(dir, abs)
	if err != nil || filepath.IsAbs(source) {
		return filepath.ToSlash(abs), "", nil //nolint:nilerr // another volume: the absolute path serves
	}
	if root = filepath.ToSlash(rel); !strings.HasPrefix(root, ".") {
		root = "./" + root
	}
	file := filepath.Join(dir, filepath.Base(path))
	if at, err := filepath.Rel(abs, file); err == nil && inside(file, abs) {
		own = filepath.ToSlash(at)
	}
	return root, own, nil
}

// quoted is a value as YAML writes it, with dollars that stand for themselves.
func quoted(s string) string {
	b, err := yaml.Marshal(strings.ReplaceAll(s, "$", "$$"))
	if err != nil {
		return fmt.Sprintf("%q", s)
	}
	return strings.TrimSpace(string(b))
}

// escaped is a pattern that matches the path alone.
func escaped(path string) string {
	return regexp.MustCompile(`[\\*?\[\]{}]`).ReplaceAllString(path, `\$0`)
}

func initText(name, root, own string) string {
	excluded := `# exclude: ["drafts/**"]`
	if own != "" {
		database := urlpath.Join(urlpath.Dir(own), name+".db")
		excluded = "exclude:\n        - " + quoted(escaped(own)) + "\n        - " + quoted(escaped(database)+"*")
	}
	return strings.NewReplacer("{NAME}", quoted(name), "{ROOT}", quoted(root), "{EXCLUDE}", excluded).Replace(initTemplate)
}

const initTemplate = `# Configuration of kbsync. "kbsync validate" checks it, "kbsync schema" prints the JSON Schema for editors.
version: 1

# Part of every id: change it and everything is stored anew.
name: {NAME}

sources:
  - name: docs
    fs:
      root: {ROOT}
      # include: ["**/*.md", "**/*.html"]
      {EXCLUDE}

# Built-in rules cut every known file type. Rules of your own come first; the first match wins.
# rules:
#   - match: { path: "**/*.md" }
#     strategy: { markdown: { max_tokens: 512 } }
#     metadata: { team: docs }

# Embedded and offline: hashed words, no model.
# embedder: { lexical: {} }

# Embedded: one file beside this one.
# sink: { sqlite: { path: ./knowledge.db } }

# sync:
#   max_delete: 50%      # a source that lost more deletes nothing until you say --allow-delete
#   concurrency: 0       # 0: one document per processor
`
