package pdf

import (
	"bytes"
	"encoding/binary"
	"errors"
	_ "unsafe" // for go:linkname
)

// pdfium is PDFium as go-pdfium brings it. It is never written to.
//
//go:linkname pdfium github.com/klippa-app/go-pdfium/internal/pdfium_wasm.Module
var pdfium []byte

// stopAt is the place in the memory of a sandbox where a byte other than 0 stops it. It lies below all of PDFium's data.
const stopAt = 16

// check stops the sandbox if the byte at stopAt is not 0: (if (i32.load8_u (i32.const 16)) (then unreachable)).
var check = []byte{0x41, stopAt, 0x2D, 0, 0, 0x04, 0x40, 0x00, 0x0B}

// interruptible is a WebAssembly module with a check at the start of every loop. wazero can stop a module by itself, but leaves it at
// every turn of a loop to look, which makes PDFium five times slower; this costs next to nothing.
func interruptible(module []byte) (out []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			out, err = nil, errWasm
		}
	}()
	if !bytes.HasPrefix(module, []byte("\x00asm\x01\x00\x00\x00")) {
		return nil, errWasm
	}
	w := &wasm{b: module, at: 8}
	out = make([]byte, 0, len(module)+len(module)/8)
	out = append(out, module[:8]...)
	for w.at < len(w.b) {
		id := w.b[w.at]
		w.at++
		size := w.uint()
		start := w.at
		body := w.b[start : start+size]
		if id == sectionCode {
			body = w.code(start + size)
		}
		out = binary.AppendUvarint(append(out, id), uint64(len(body)))
		out = append(out, body...)
		w.at = start + size
	}
	return out, nil
}

var errWasm = errors.New("PDFium is built otherwise than expected")

const sectionCode = 10

// wasm reads a module. What does not fit panics.
type wasm struct {
	b  []byte
	at int
}

func (w *wasm) uint() int {
	v, n := binary.Uvarint(w.b[w.at:])
	if n <= 0 || v > uint64(len(w.b)) && v > 1<<32 {
		panic(errWasm)
	}
	w.at += n
	return int(v)
}

// skip passes over n numbers.
func (w *wasm) skip(n int) {
	for range n {
		for w.b[w.at]&0x80 != 0 {
			w.at++
		}
		w.at++
	}
}

// code is the code section that ends at end, with checks.
func (w *wasm) code(end int) []byte {
	n := w.uint()
	out := binary.AppendUvarint(make([]byte, 0, end-w.at+(end-w.at)/8), uint64(n))
	var body []byte
	for range n {
		size := w.uint()
		body = w.function(body[:0], w.at+size)
		out = binary.AppendUvarint(out, uint64(len(body)))
		out = append(out, body...)
	}
	if w.at != end {
		panic(errWasm)
	}
	return out
}

// function appends a function that ends at end.
func (w *wasm) function(out []byte, end int) []byte {
	from := w.at
	for range w.uint() { // groups of local variables
		w.skip(1)
		w.valueType()
	}
	for w.at < end {
		op := w.b[w.at]
		w.at++
		w.immediate(op)
		if op == opLoop {
			out = append(out, w.b[from:w.at]...)
			out = append(out, check...)
			from = w.at
		}
	}
	if w.at != end {
		panic(errWasm)
	}
	return append(out, w.b[from:end]...)
}

func (w *wasm) valueType() {
	if t := w.b[w.at]; t == 0x63 || t == 0x64 { // a reference to a type
		w.at++
	}
	w.skip(1)
}

const opLoop = 0x03

// immediate passes over what belongs to an instruction of the WebAssembly specification 3.0.
func (w *wasm) immediate(op byte) {
	switch {
	case op == 0x02 || op == opLoop || op == 0x04 || op == 0x06:
		w.valueType()
	case op == 0x07 || op == 0x08 || op == 0x09 || op == 0x0C || op == 0x0D || op == 0x10 || op == 0x12 || op == 0x18:
		w.skip(1)
	case op == 0x0E:
		w.skip(w.uint() + 1)
	case op == 0x11 || op == 0x13:
		w.skip(2)
	case op == 0x1C:
		for range w.uint() {
			w.valueType()
		}
	case op == 0x1F:
		w.tryTable()
	case op >= 0x20 && op <= 0x26 || op == 0x3F || op == 0x40 || op == 0x41 || op == 0x42 || op == 0xD0 || op == 0xD2:
		w.skip(1)
	case op >= 0x28 && op <= 0x3E:
		w.place()
	case op == 0x43:
		w.at += 4
	case op == 0x44:
		w.at += 8
	case op == 0xFC:
		w.bulk(w.uint())
	case op == 0xFD:
		w.vector(w.uint())
	case op <= 0x01 || op == 0x05 || op == 0x0A || op == 0x0B || op == 0x0F || op == 0x19 || op == 0x1A || op == 0x1B || op >= 0x45 && op <= 0xC4 || op == 0xD1:
	default:
		panic(errWasm)
	}
}

// place passes over the alignment, memory and offset of a load or store.
func (w *wasm) place() {
	if align := w.uint(); align&0x40 != 0 {
		w.skip(1)
	}
	w.skip(1)
}

func (w *wasm) tryTable() {
	w.valueType()
	for range w.uint() {
		kind := w.b[w.at]
		w.at++
		if w.skip(1); kind <= 1 {
			w.skip(1)
		}
	}
}

func (w *wasm) bulk(op int) {
	switch {
	case op <= 7:
	case op == 8 || op == 10 || op == 12 || op == 14:
		w.skip(2)
	case op <= 17:
		w.skip(1)
	default:
		panic(errWasm)
	}
}

func (w *wasm) vector(op int) {
	switch {
	case op <= 11 || op == 92 || op == 93:
		w.place()
	case op == 12 || op == 13:
		w.at += 16
	case op >= 21 && op <= 34:
		w.at++
	case op >= 84 && op <= 91:
		w.place()
		w.at++
	}
}
