package pdf

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"
	"unicode/utf16"

	gopdfium "github.com/klippa-app/go-pdfium"
	"github.com/tetratelabs/wazero/api"

	"github.com/kbsync/kbsync/connector"
)

// caller is a function of PDFium.
type caller interface {
	CallWithStack(ctx context.Context, stack []uint64) error
}

// sandbox is one running PDFium. It is used by one goroutine at a time. The first error stays: later calls do nothing and give 0.
//
// The functions are called without go-pdfium's requests, which look handles up, lock and allocate for each of the thousands of characters
// of a page. go-pdfium has no name for that outside of itself, hence the reflection; what it finds is wazero's.
type sandbox struct {
	ctx     context.Context
	inst    gopdfium.Pdfium
	fn      reflect.Value
	mem     api.Memory
	memory  *memory
	calls   map[string]caller
	stack   [16]uint64
	scratch uint64        // room of scratchSize bytes for what functions give back through pointers
	left    time.Duration // that the document may still take
	since   time.Time     // from when on it counts; zero while others work
	timer   *time.Timer   // stops the sandbox when no time is left
	unwatch func() bool
	err     error
	release func()
}

const scratchSize = 4 << 10

func newSandbox(ctx context.Context, inst gopdfium.Pdfium, m *memory) (s *sandbox, err error) {
	defer func() {
		if v := recover(); v != nil {
			s, err = nil, fmt.Errorf("starting PDFium: this version of go-pdfium is built otherwise: %v", v)
		}
	}()
	impl := reflect.ValueOf(inst.GetImplementation())
	mem, ok := impl.Elem().FieldByName("Module").MethodByName("Memory").Call(nil)[0].Interface().(api.Memory)
	if !ok {
		return nil, errors.New("starting PDFium: its memory is out of reach")
	}
	s = &sandbox{ctx: ctx, inst: inst, fn: impl.MethodByName("Fn"), mem: mem, memory: m, calls: map[string]caller{}, release: func() {}}
	s.timer = time.AfterFunc(time.Hour, m.stop)
	s.timer.Stop()
	s.unwatch = context.AfterFunc(ctx, m.stop)
	if s.scratch = s.call("malloc", scratchSize); s.scratch == 0 && s.err == nil {
		s.err = errors.New("starting PDFium: no memory")
	}
	return s, s.err
}

// close throws the sandbox away.
func (s *sandbox) close() {
	if s.inst == nil {
		return
	}
	s.unwatch()
	s.timer.Stop()
	_ = s.inst.Kill()
	s.inst = nil
	s.fail(errors.New("closed"))
	s.memory.release()
	s.release()
}

func (s *sandbox) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// call calls a function of PDFium.
func (s *sandbox) call(name string, args ...uint64) uint64 {
	if s.err != nil {
		return 0
	}
	f := s.calls[name]
	if f == nil {
		var ok bool
		if f, ok = s.fn.Call([]reflect.Value{reflect.ValueOf(name)})[0].Interface().(caller); !ok {
			s.fail(fmt.Errorf("PDFium has no function %s", name))
			return 0
		}
		s.calls[name] = f
	}
	copy(s.stack[:], args)
	if err := f.CallWithStack(s.ctx, s.stack[:]); err != nil {
		s.crashed(name, err)
		return 0
	}
	return s.stack[0]
}

// crashed notes that the sandbox is broken, and why.
func (s *sandbox) crashed(name string, err error) {
	switch {
	case s.ctx.Err() != nil:
		s.fail(s.ctx.Err())
	case s.memory.stopped.Err() != nil:
		s.left = 0
		s.late()
	case s.memory.denied:
		s.fail(connector.Errorf(connector.ClassInvalid, "reading the file takes more than %d MiB: split it", maxMemory>>20))
	default:
		s.fail(connector.Errorf(connector.ClassInvalid, "the file is damaged: PDFium stopped in %s: %s", name, firstLine(err)))
	}
}

// late counts the time until now, and tells whether it is up.
func (s *sandbox) late() bool {
	if !s.since.IsZero() {
		now := time.Now()
		s.left -= now.Sub(s.since)
		s.since = now
	}
	if s.left > 0 {
		return false
	}
	s.fail(connector.Errorf(connector.ClassInvalid, "reading the file takes too long: raise timeout or split it"))
	return true
}

// alive starts the clock, or lets it go on, and tells whether the document may go on: no error, no cancellation, time left. When the time
// is up or the document is cancelled, PDFium stops at its next loop.
func (s *sandbox) alive() bool {
	if s.err == nil && s.ctx.Err() != nil {
		s.fail(s.ctx.Err())
	}
	if s.err != nil || s.late() {
		return false
	}
	if s.since.IsZero() {
		s.since = time.Now()
		s.timer.Reset(s.left)
	}
	return true
}

// pause stops the clock while others work.
func (s *sandbox) pause() {
	s.late()
	s.since = time.Time{}
	s.timer.Stop()
}

// alloc gives room for n bytes and what frees it.
func (s *sandbox) alloc(n int) (uint64, func()) {
	p := s.call("malloc", uint64(max(n, 1)))
	if p == 0 && s.err == nil {
		s.fail(connector.Errorf(connector.ClassInvalid, "the file takes more than %d MiB: split it", maxMemory>>20))
	}
	return p, func() {
		if p != 0 {
			s.call("free", p)
		}
	}
}

// place writes b into the sandbox.
func (s *sandbox) place(b []byte) (uint64, func()) {
	p, free := s.alloc(len(b))
	if s.err == nil && !s.mem.Write(uint32(p), b) {
		s.fail(errors.New("the sandbox's memory is too small"))
	}
	return p, free
}

// bytes copies n bytes out of the sandbox.
func (s *sandbox) bytes(p uint64, n int) []byte {
	if s.err != nil || n <= 0 {
		return nil
	}
	view, ok := s.mem.Read(uint32(p), uint32(n))
	if !ok {
		s.fail(errors.New("PDFium named a place outside of its memory"))
		return nil
	}
	return append([]byte(nil), view...)
}

func (s *sandbox) view(n int) []byte {
	if s.err != nil {
		return nil
	}
	view, _ := s.mem.Read(uint32(s.scratch), uint32(n))
	return view
}

// float64s reads n doubles from the scratch room.
func (s *sandbox) float64s(dst []float64) {
	view := s.view(8 * len(dst))
	for i := range dst {
		if dst[i] = 0; len(view) >= 8*i+8 {
			dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(view[8*i:]))
		}
	}
}

// float32s reads floats from the scratch room.
func (s *sandbox) float32s(dst []float64) {
	view := s.view(4 * len(dst))
	for i := range dst {
		if dst[i] = 0; len(view) >= 4*i+4 {
			dst[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(view[4*i:])))
		}
	}
}

// text calls a function that writes a text of at most max bytes to a buffer, given last with its size, and gives its length in bytes.
func (s *sandbox) text(max int, name string, args ...uint64) []byte {
	n := int(uint32(s.call(name, append(append([]uint64(nil), args...), s.scratch, scratchSize)...)))
	if n <= scratchSize {
		return s.bytes(s.scratch, n)
	}
	if n > max {
		n = max
	}
	p, free := s.alloc(n)
	defer free()
	got := int(uint32(s.call(name, append(append([]uint64(nil), args...), p, uint64(n))...)))
	if got > n {
		return nil // PDFium writes nothing where the room is too small
	}
	return s.bytes(p, got)
}

// wide decodes UTF-16LE up to its terminator.
func wide(b []byte) string {
	var u []uint16
	for i := 0; i+1 < len(b); i += 2 {
		c := binary.LittleEndian.Uint16(b[i:])
		if c == 0 {
			break
		}
		u = append(u, c)
	}
	return string(utf16.Decode(u))
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
