//go:build onnx && cgo

package plugins

import (
	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/embedders/onnx"
)

// tagged are the embedders that a build tag adds.
func tagged() []connector.EmbedderPlugin { return []connector.EmbedderPlugin{onnx.Plugin()} }
