package pdf

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	gopdfium "github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// maxSandboxes is how many documents are read at once, at most.
const maxSandboxes = 4

// engine compiles PDFium once and gives out sandboxes. Its zero value is ready.
type engine struct {
	mu     sync.Mutex
	cache  string // a folder of the pipeline, where the user has none
	pool   gopdfium.Pool
	err    error
	slots  chan struct{}
	big    chan struct{} // who holds its token may take more memory than its share
	memory *memory       // of the sandbox that is being made
}

// offer names a folder where compiled code may be kept.
func (e *engine) offer(dir string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cache == "" {
		e.cache = dir
	}
}

// sandbox waits for a free place and makes a sandbox there.
func (e *engine) sandbox(ctx context.Context, timeout time.Duration) (*sandbox, error) {
	e.mu.Lock()
	if e.slots == nil {
		e.slots, e.big = make(chan struct{}, min(runtime.GOMAXPROCS(0), maxSandboxes)), make(chan struct{}, 1)
	}
	slots := e.slots
	e.mu.Unlock()
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s, err := e.instance(ctx)
	if err != nil {
		<-slots
		return nil, err
	}
	s.left = timeout
	s.release = func() { <-slots }
	return s, nil
}

// instance starts PDFium in a sandbox of its own.
func (e *engine) instance(ctx context.Context) (*sandbox, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.start(); err != nil {
		return nil, err
	}
	e.memory = nil
	inst, err := e.pool.GetInstanceWithContext(ctx)
	if err != nil {
		if e.memory != nil {
			e.memory.release()
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("starting PDFium: %w", err)
	}
	s, err := newSandbox(ctx, inst, e.memory)
	if err != nil {
		_ = inst.Kill()
		e.memory.release()
		return nil, err
	}
	return s, nil
}

// start compiles PDFium, or loads what an earlier start compiled. It is done once.
func (e *engine) start() error {
	if e.pool != nil || e.err != nil {
		return e.err
	}
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
		WithCompilationCache(e.compilationCache())
	ctx := experimental.WithMemoryAllocator(context.Background(), experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory {
		e.memory = newMemory(e.big)
		return e.memory
	}))
	module, err := interruptible(pdfium)
	if err != nil {
		e.err = fmt.Errorf("starting PDFium: %w", err)
		return e.err
	}
	e.pool, e.err = webassembly.InitWithWASM(webassembly.Config{
		Context:       ctx,
		WASM:          module,
		MaxTotal:      2 * maxSandboxes,
		FSConfig:      wazero.NewFSConfig(), // or it would see all files of this machine
		RuntimeConfig: config,
		Stdout:        io.Discard,
		Stderr:        io.Discard,
	})
	if e.err != nil {
		e.err = fmt.Errorf("starting PDFium: %w", e.err)
	}
	return e.err
}

// compilationCache keeps compiled code in the user's cache folder, else in the pipeline's; where neither can be written, in memory.
func (e *engine) compilationCache() wazero.CompilationCache {
	var dirs []string
	if dir, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, filepath.Join(dir, "kbsync"))
	}
	if e.cache != "" {
		dirs = append(dirs, e.cache)
	}
	for _, dir := range dirs {
		dir = filepath.Join(dir, "pdfium")
		if !writable(dir) {
			continue
		}
		if cache, err := wazero.NewCompilationCacheWithDir(dir); err == nil {
			return cache
		}
	}
	return wazero.NewCompilationCache()
}

// writable makes dir and tries it; what is found there is run as code, so that it must be nobody else's.
func writable(dir string) bool {
	if os.MkdirAll(dir, 0o700) != nil {
		return false
	}
	f, err := os.CreateTemp(dir, "try-")
	if err != nil {
		return false
	}
	_ = f.Close()
	return os.Remove(f.Name()) == nil
}
