//go:build !unix

package pdf

func reserve(int) ([]byte, bool) { return nil, false }

func unreserve([]byte) {}
