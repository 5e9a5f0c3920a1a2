package convert

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// spool writes the document to a file.
func (p *Exec) spool(file string, r io.Reader) (int64, error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, local(err)
	}
	n, err := io.Copy(f, io.LimitReader(r, p.cfg.MaxDocument+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return n, err
	}
	if n > p.cfg.MaxDocument {
		return n, tooLarge(p.cfg.MaxDocument)
	}
	return n, nil
}

// written is the text that the command wrote to its file.
func (p *Exec) written(file string) ([]byte, error) {
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, connector.Errorf(connector.ClassInvalid, "the command succeeded and wrote no file")
	}
	if err != nil {
		return nil, local(err)
	}
	if !info.Mode().IsRegular() {
		return nil, connector.Errorf(connector.ClassInvalid, "the command wrote something else than a file")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, local(err)
	}
	defer f.Close() //nolint:errcheck // it was read
	out, err := io.ReadAll(io.LimitReader(f, p.cfg.MaxOutput+1))
	switch {
	case err != nil:
		return nil, local(err)
	case int64(len(out)) > p.cfg.MaxOutput:
		return nil, tooMuch(p.cfg.MaxOutput)
	}
	return out, nil
}

// only is the text of the one file in the folder that the command wrote to.
func (p *Exec) only(folder string) ([]byte, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, local(err)
	}
	if len(entries) != 1 {
		return nil, connector.Errorf(connector.ClassInvalid, "the command wrote %d files to {outdir}: want one", len(entries))
	}
	return p.written(filepath.Join(folder, entries[0].Name()))
}

// extension is that of a document, where it is harmless in a file's name.
func extension(path string) string {
	ext := filepath.Ext(path)
	if len(ext) < 2 || len(ext) > 17 || strings.ContainsFunc(ext[1:], func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return ""
	}
	return ext
}

// local is a fault of this machine: its temporary files.
func local(err error) error {
	return connector.Errorf(connector.ClassTransient, "temporary files: %w", err)
}
