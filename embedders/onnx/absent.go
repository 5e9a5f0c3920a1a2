//go:build !onnx || !cgo

package onnx

import "github.com/kbsync/kbsync/connector"

// Open fails: this program was built without ONNX Runtime.
func Open(Config) (connector.Embedder, error) {
	return nil, connector.Errorf(connector.ClassUnsupported, "onnx: this program was built without it: build it with cgo and -tags onnx")
}
