//go:build unix

package pdf

import (
	"strconv"
	"syscall"
)

// reserve gives addresses that take no memory until they are written.
func reserve(size int) ([]byte, bool) {
	if strconv.IntSize < 64 {
		return nil, false
	}
	buf, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	return buf, err == nil
}

func unreserve(buf []byte) { _ = syscall.Munmap(buf) }
