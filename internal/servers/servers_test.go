package servers

import (
	"net"
	"testing"
)

func TestKillAndRestart(t *testing.T) {
	for _, name := range []string{"pgvector", "milvus-lite", "weaviate"} {
		t.Run(name, func(t *testing.T) {
			s := Start(t, name)
			s.Kill()
			if c, err := net.Dial("tcp", s.Addr); err == nil {
				_ = c.Close()
				t.Fatal("it answers after kill -9")
			}
			s.Restart()
			c, err := net.Dial("tcp", s.Addr)
			if err != nil {
				t.Fatal(err)
			}
			_ = c.Close()
		})
	}
}
