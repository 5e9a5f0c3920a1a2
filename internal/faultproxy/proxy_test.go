package faultproxy

import (
	"bytes"
	"io"
	"net"
	"testing"
)

// echo is a server that sends back what it gets.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func exchange(t *testing.T, addr string, msg []byte) ([]byte, error) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write(msg); err != nil {
		return nil, err
	}
	_ = c.(*net.TCPConn).CloseWrite() //nolint:forcetypeassert // dialled above
	return io.ReadAll(c)
}

func TestHarm(t *testing.T) {
	p := Start(t, echo(t))
	msg := bytes.Repeat([]byte("abcdefgh"), 1000)
	if got, err := exchange(t, p.Addr, msg); err != nil || !bytes.Equal(got, msg) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	p.Set(Harm{CutUp: 100, Cuts: 1})
	if got, _ := exchange(t, p.Addr, msg); len(got) > 100 {
		t.Errorf("%d bytes came through a cut after 100", len(got))
	}
	if got, _ := exchange(t, p.Addr, msg); !bytes.Equal(got, msg) {
		t.Error("the second connection was cut too")
	}
	p.Set(Harm{FlipDown: 5, Flips: 1})
	if got, _ := exchange(t, p.Addr, msg); len(got) != len(msg) || got[5] == msg[5] || got[6] != msg[6] {
		t.Error("byte 5 was not flipped alone")
	}
	p.Set(Harm{Refuse: true})
	if got, _ := exchange(t, p.Addr, msg); len(got) != 0 {
		t.Error("a connection was not refused")
	}
	if s := p.Stats(); s.Refused != 1 || s.Connections != 5 {
		t.Errorf("%+v", s)
	}
}
