//go:build !onnx || !cgo

package plugins

import "github.com/kbsync/kbsync/connector"

// tagged are the embedders that a build tag adds: none here.
func tagged() []connector.EmbedderPlugin { return nil }
