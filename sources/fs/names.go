package fs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
)

// names holds the names of one folder in a few blocks of bytes: a million names need no million strings, and blocks
// that are full are never copied to grow.
type names struct {
	blocks  [][]byte // length (two bytes) and name, one after the other
	offsets []uint32 // block number and place of each entry, sorted by name
}

const (
	readBatch = 1024
	blockBits = 20
	blockSize = 1 << blockBits
	maxBlocks = 1 << (32 - blockBits)
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
			if !n.add(name) {
				return names{}, errors.New("too many names in one folder")
			}
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

// add is false if there is no room: at 4 GiB, or for a name of 64 KiB.
func (n *names) add(name string) bool {
	if len(name) > 1<<16-1 {
		return false
	}
	last := len(n.blocks) - 1
	if last < 0 || len(n.blocks[last])+2+len(name) > blockSize {
		if last+1 == maxBlocks {
			return false
		}
		size := blockSize
		if last < 0 {
			size = 4096 // grows: most folders are small
		}
		n.blocks = append(n.blocks, make([]byte, 0, size))
		last++
	}
	n.offsets = append(n.offsets, uint32(last)<<blockBits|uint32(len(n.blocks[last])))
	n.blocks[last] = binary.LittleEndian.AppendUint16(n.blocks[last], uint16(len(name)))
	n.blocks[last] = append(n.blocks[last], name...)
	return true
}

func (n *names) at(offset uint32) []byte {
	b := n.blocks[offset>>blockBits][offset&(blockSize-1):]
	return b[2:][:binary.LittleEndian.Uint16(b)]
}

func (n *names) len() int { return len(n.offsets) }

func (n *names) name(i int) []byte { return n.at(n.offsets[i]) }
