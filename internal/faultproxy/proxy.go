// Package faultproxy stands between a client and a server of a test and harms their connections: cuts them, delays them, flips
// bytes, holds them, refuses new ones.
package faultproxy

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Harm is what is done to the connections. The zero value passes everything on.
type Harm struct {
	// CutAfter ends each connection after so many bytes from the client (Up) or the server (Down); 0 means never.
	CutUp, CutDown int
	// Cuts bounds how many connections are cut; 0 means all of them.
	Cuts int
	// Delay holds every block of bytes for so long.
	Delay time.Duration
	// FlipUp and FlipDown invert one byte at that place of each direction's stream, once for each of Flips connections.
	FlipUp, FlipDown int
	Flips            int
	// Refuse closes new connections at once, as a server that restarts.
	Refuse bool
}

// Proxy is a listener on loopback that passes connections on to Target.
type Proxy struct {
	Addr   string
	target string

	mu    sync.Mutex
	harm  Harm
	conns map[net.Conn]bool
	stats Stats
	wg    sync.WaitGroup
	stop  context.CancelFunc
}

// Stats counts what was done.
type Stats struct{ Connections, Cut, Flipped, Refused int }

// Start listens on a free port until the test ends.
func Start(tb testing.TB, target string) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test's own listener
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Proxy{Addr: l.Addr().String(), target: target, conns: map[net.Conn]bool{}, stop: cancel}
	p.wg.Go(func() { p.accept(ctx, l) })
	tb.Cleanup(func() {
		cancel()
		_ = l.Close()
		p.CutAll()
		p.wg.Wait()
	})
	return p
}

// Set changes what is done to blocks that pass from now on, and counts Cuts and Flips anew.
func (p *Proxy) Set(h Harm) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.harm = h
	p.stats.Cut, p.stats.Flipped = 0, 0
}

// Stats is what was done so far.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// CutAll ends every connection now.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *Proxy) accept(ctx context.Context, l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.stats.Connections++
		refuse := p.harm.Refuse || ctx.Err() != nil
		if refuse {
			p.stats.Refused++
		}
		p.mu.Unlock()
		if refuse {
			_ = client.Close()
			continue
		}
		server, err := net.DialTimeout("tcp", p.target, 5*time.Second) //nolint:noctx // bounded
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		done := sync.OnceFunc(func() {
			_ = client.Close()
			_ = server.Close()
			p.mu.Lock()
			delete(p.conns, client)
			delete(p.conns, server)
			p.mu.Unlock()
		})
		p.wg.Go(func() { p.pass(client, server, true, done) })
		p.wg.Go(func() { p.pass(server, client, false, done) })
	}
}

// pass copies one direction.
func (p *Proxy) pass(from, to net.Conn, up bool, done func()) {
	buf := make([]byte, 16<<10)
	sent, flipped := 0, false
	for {
		n, err := from.Read(buf)
		if n > 0 {
			var ok bool
			if flipped, ok = p.block(to, buf[:n], sent, up, flipped); !ok {
				done()
				return
			}
			sent += n
		}
		if err != nil {
			if half, ok := to.(*net.TCPConn); ok && errors.Is(err, io.EOF) {
				_ = half.CloseWrite()
				return
			}
			done()
			return
		}
	}
}

// block harms and sends one block that begins at byte sent of its stream; ok is false if the connection is to be cut.
func (p *Proxy) block(to net.Conn, b []byte, sent int, up, flipped bool) (nowFlipped, ok bool) {
	p.mu.Lock()
	h := p.harm
	cut, flip := h.CutDown, h.FlipDown
	if up {
		cut, flip = h.CutUp, h.FlipUp
	}
	if cut > 0 && sent+len(b) >= cut && (h.Cuts == 0 || p.stats.Cut < h.Cuts) {
		p.stats.Cut++
		p.mu.Unlock()
		_, _ = to.Write(b[:max(0, min(len(b), cut-sent))])
		return flipped, false
	}
	if flip > 0 && !flipped && sent <= flip && flip < sent+len(b) && (h.Flips == 0 || p.stats.Flipped < h.Flips) {
		p.stats.Flipped++
		b[flip-sent] ^= 0xff
		flipped = true
	}
	p.mu.Unlock()
	if h.Delay > 0 {
		time.Sleep(h.Delay)
	}
	_, err := to.Write(b)
	return flipped, err == nil
}
