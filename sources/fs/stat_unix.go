//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package fs

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// openFlags keep the opening of something that became a pipe from waiting for its other end.
const openFlags = os.O_RDONLY | unix.O_NONBLOCK | unix.O_NOFOLLOW

// statAt is the status of a name in an open folder; a link is not followed.
func statAt(_ *os.Root, dir *os.File, _ string, name string) (status, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return status{}, err
		}
		return fromStat(&st), nil
	}
}

func statFile(f *os.File) (status, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstat(int(f.Fd()), &st)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return status{}, err
		}
		return fromStat(&st), nil
	}
}

// openDirAt opens a folder by its name in an open folder: whatever happens to the path meanwhile, it is no link and
// lies where the listing is.
func openDirAt(_ *os.Root, dir *os.File, rel, name string) (*os.File, error) {
	for {
		fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), rel), nil
	}
}

func fromStat(st *unix.Stat_t) status {
	return status{
		kind:  kindOf(uint32(st.Mode)), //nolint:unconvert // 16 bits wide on some systems
		size:  st.Size,
		mtime: st.Mtim.Nano(),
		ctime: st.Ctim.Nano(),
		dev:   uint64(st.Dev), //nolint:unconvert // the type differs between systems
		ino:   st.Ino,
	}
}

func kindOf(mode uint32) fs.FileMode {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	case unix.S_IFIFO:
		return fs.ModeNamedPipe
	case unix.S_IFSOCK:
		return fs.ModeSocket
	case unix.S_IFBLK, unix.S_IFCHR:
		return fs.ModeDevice
	}
	return fs.ModeIrregular
}
