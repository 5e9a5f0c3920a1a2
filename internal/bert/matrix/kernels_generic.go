//go:build !amd64 && !arm64

package matrix

func best() Engine { return Generic }
