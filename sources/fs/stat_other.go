//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package fs

import (
	"io/fs"
	"os"
)

const openFlags = os.O_RDONLY

func statAt(root *os.Root, _ *os.File, rel, _ string) (status, error) {
	info, err := root.Lstat(rel)
	if err != nil {
		return status{}, err
	}
	return fromInfo(info), nil
}

func statFile(f *os.File) (status, error) {
	info, err := f.Stat()
	if err != nil {
		return status{}, err
	}
	return fromInfo(info), nil
}

func openDirAt(root *os.Root, _ *os.File, rel, _ string) (*os.File, error) { return root.Open(rel) }

func fromInfo(info fs.FileInfo) status {
	return status{kind: info.Mode().Type(), size: info.Size(), mtime: info.ModTime().UnixNano()}
}
