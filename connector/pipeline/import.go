package pipeline

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/vectorstore"
)

// Imported is the report of an import.
type Imported struct {
	Imported int `json:"imported"`
	// Skipped are lines with a text and no vector, which the shared store has no use for.
	Skipped int `json:"skipped"`
	Bad     int `json:"bad"`
	// Errors are the first of the bad lines, as "file:line: reason".
	Errors []string `json:"errors"`
}

// importLine is one line of an exported store.
type importLine struct {
	Hash string `json:"hash"`
	// Text is nil in the lines of a shared store, which keeps none, and empty where the vector is one in context, whose hash is its address.
	Text   *string   `json:"text"`
	Model  string    `json:"model"`
	Vector []float32 `json:"vector"`
	// Answer is one of a language model, which has neither text nor vector.
	Answer *keptAnswer `json:"answer"`

	sum [sha256.Size]byte
}

const (
	importLines   = 512      // lines that are put together
	maxImportLine = 64 << 20 // bytes of one line
)

// importer reads lines and puts them where they belong.
type importer struct {
	report *Imported
	name   string
	dims   map[string]int // of the models seen
	known  func(ctx context.Context, model string) (int, error)
	take   func(*importLine) (bool, error) // false: skipped; an error: bad
	put    func(ctx context.Context, model string, lines []importLine) error

	pending map[string][]importLine // by model
	waiting int
}

func (im *importer) run(ctx context.Context, r io.Reader) error {
	im.report.Errors = []string{}
	br := bufio.NewReaderSize(r, 256<<10)
	for n := 1; ; n++ {
		raw, tooLong, err := readLine(br)
		if err != nil && !errors.Is(err, io.EOF) {
			return errors.Join(fmt.Errorf("%s:%d: %w", im.name, n, err), im.flush(ctx))
		}
		switch {
		case tooLong:
			im.bad(n, fmt.Errorf("the line is longer than %d MiB", maxImportLine>>20))
		case len(bytes.TrimSpace(raw)) > 0:
			if err := im.line(ctx, n, raw); err != nil {
				return err
			}
		}
		if err != nil {
			break
		}
	}
	if err := im.flush(ctx); err != nil {
		return err
	}
	if im.report.Bad > 0 {
		return fmt.Errorf("%s: %d lines could not be taken over; the others were", im.name, im.report.Bad)
	}
	return nil
}

// readLine reads to the end of a line. Of one that is too long nothing is kept.
func readLine(br *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		part, err := br.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > maxImportLine; tooLong {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

func (im *importer) bad(n int, err error) {
	im.report.Bad++
	if len(im.report.Errors) < maxRows {
		im.report.Errors = append(im.report.Errors, fmt.Sprintf("%s:%d: %v", im.name, n, err))
	}
}

// line checks one line and sets it among those to be put; the error returned ends the import.
func (im *importer) line(ctx context.Context, n int, raw []byte) error {
	x := new(importLine)
	if err := json.Unmarshal(raw, x); err != nil {
		im.bad(n, fmt.Errorf("it is no line of kbsync cache export: %w", err))
		return nil
	}
	if err := x.check(); err != nil {
		im.bad(n, err)
		return nil
	}
	if x.Vector != nil {
		if im.dims[x.Model] == 0 {
			known, err := im.known(ctx, x.Model)
			if err != nil {
				return err
			}
			if known == 0 {
				known = len(x.Vector)
			}
			im.dims[x.Model] = known
		}
		if len(x.Vector) != im.dims[x.Model] {
			im.bad(n, fmt.Errorf("its vector has %d dimensions, and those of %s have %d", len(x.Vector), x.Model, im.dims[x.Model]))
			return nil
		}
	}
	ok, err := im.take(x)
	switch {
	case err != nil:
		im.bad(n, err)
		return nil
	case !ok:
		im.report.Skipped++
		return nil
	}
	im.pending[x.Model] = append(im.pending[x.Model], *x)
	if im.waiting++; im.waiting >= importLines {
		return im.flush(ctx)
	}
	return nil
}

// check compares the parts of a line with each other.
func (x *importLine) check() error {
	b, err := hex.DecodeString(x.Hash)
	if err != nil || len(b) != sha256.Size {
		return errors.New("the hash is no SHA-256 in hexadecimal")
	}
	x.sum = [sha256.Size]byte(b)
	switch {
	case x.Answer != nil && (x.Model == "" || x.Answer.Prompt == "" || x.Text != nil || x.Vector != nil):
		return errors.New("it has an answer, and no model or prompt, or a text or vector too")
	case x.Answer != nil && (x.Answer.Finish < 0 || x.Answer.Finish > int(connector.FinishRefused)):
		return errors.New("its answer ended in no way that is known")
	case x.Answer != nil:
		return nil
	case x.Text != nil && *x.Text != "" && sha256.Sum256([]byte(*x.Text)) != x.sum:
		return errors.New("the hash is not that of the text")
	case x.Vector == nil && (x.Text == nil || *x.Text == ""):
		return errors.New("it has neither a text nor a vector")
	case x.Vector == nil:
		return nil
	case x.Model == "":
		return errors.New("it has a vector and no model")
	}
	return vectorstore.Check(x.Vector)
}

func (im *importer) flush(ctx context.Context) error {
	for model, lines := range im.pending {
		if err := im.put(ctx, model, lines); err != nil {
			return fmt.Errorf("%s: %w", im.name, err)
		}
		im.report.Imported += len(lines)
	}
	im.waiting = 0
	clear(im.pending)
	return nil
}
