//go:build !unix

package vectorstore

import (
	"context"
	"testing"
)

func asNobody(*testing.T, string) {}

func childReadOnly(context.Context, string) error { return nil }
