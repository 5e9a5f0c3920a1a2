package fs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
)

// names holds the names of one folder in one block of bytes: a million names need no million strings.
type names struct {
	block   []byte   // length (two bytes) and name, one after the other
	offsets []uint32 // where each entry starts, sorted by name
}

const (
	readBatch = 1024
	maxBlock  = 1<<32 - 1<<17
)

// readNames lists f, sorted as bytes. Names for which keep is false are left out.
func readNames(f *os.File, keep func(string) bool) (names, error) {
	var n names
	for {
		batch, err := f.Readdirnames(readBatch)
		for _, name := range batch {
			if !keep(name) {
				continue
			}
			if len(name) > 1<<16-1 || uint64(len(n.block)) > maxBlock {
				return names{}, errors.New("too many names in one folder")
			}
			n.add(name)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return names{}, bare(err)
		}
	}
	slices.SortFunc(n.offsets, func(a, b uint32) int { return bytes.Compare(n.at(a), n.at(b)) })
	return n, nil
}

func (n *names) add(name string) {
	n.offsets = append(n.offsets, uint32(len(n.block)))
	n.block = binary.LittleEndian.AppendUint16(n.block, uint16(len(name)))
	n.block = append(n.block, name...)
}

func (n *names) at(offset uint32) []byte {
	size := binary.LittleEndian.Uint16(n.block[offset:])
	return n.block[offset+2:][:size]
}

func (n *names) len() int { return len(n.offsets) }

func (n *names) name(i int) []byte { return n.at(n.offsets[i]) }
