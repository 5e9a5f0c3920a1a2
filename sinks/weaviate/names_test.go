package weaviate

import (
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

func TestClassName(t *testing.T) {
	seen := map[string]string{}
	for in, want := range map[string]string{
		"handbook": "Handbook", "Handbook": "Handbook", "hand_Book9": "Hand_Book9", "my-docs": "My_docs_", "my docs": "My_docs_", "my_docs": "My_docs",
		"文件": "C___", "9lives": "C9lives_", "_x": "C_x_", "élan": "C_lan_", strings.Repeat("a", 300): "A" + strings.Repeat("a", maxName-10) + "_",
	} {
		got := className(in)
		if !strings.HasPrefix(got, want) || (strings.HasSuffix(want, "_") && len(got) != len(want)+8) || (!strings.HasSuffix(want, "_") && got != want) {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
		if other, taken := seen[got]; taken && !strings.EqualFold(other, in) {
			t.Errorf("%q and %q are both %s", other, in, got)
		}
		seen[got] = in
		if again := className(got); again != got {
			t.Errorf("%q is not stable: %q", got, again)
		}
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []struct{ address, grpc, wantREST, wantGRPC string }{
		{"", "", "localhost:8080", "localhost:50051"},
		{"Example.org:81", "", "example.org:81", "example.org:50051"},
		{"a", "b:7", "a:8080", "b:7"},
		{"[::1]:80", "", "[::1]:80", "[::1]:50051"},
	} {
		config := Config{Address: c.address, GRPCAddress: c.grpc}
		if err := config.Validate(); err != nil || config.Address != c.wantREST || config.GRPCAddress != c.wantGRPC {
			t.Errorf("%+v: %s, %s, %v", c, config.Address, config.GRPCAddress, err)
		}
	}
	cloud := Config{Address: "x.weaviate.cloud", TLS: true}
	if err := cloud.Validate(); err != nil || cloud.Address != "x.weaviate.cloud:443" || cloud.GRPCAddress != "grpc-x.weaviate.cloud:443" {
		t.Errorf("%+v, %v", cloud, err)
	}
	for what, c := range map[string]Config{
		"scheme": {Address: "http://localhost:8080"}, "index": {Index: "ivf"}, "ef": {EF: -1}, "tenant": {Tenant: "a b"}, "distance": {Common: remote.Common{Distance: "hamming"}},
		"reserved name": {Common: remote.Common{Fields: remote.Fields{Names: map[string]string{"content": "id"}}}},
		"capital":       {Common: remote.Common{Fields: remote.Fields{Names: map[string]string{"content": "Text"}}}},
		"space":         {Common: remote.Common{Fields: remote.Fields{Names: map[string]string{"content": "my text"}}}},
		"two of a name": {Common: remote.Common{Fields: remote.Fields{Names: map[string]string{"content": "path"}}}},
	} {
		if err := c.Validate(); err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
	if _, err := Open(Config{}, connector.Env{}); err == nil {
		t.Error("no collection is accepted")
	}
}

func TestWords(t *testing.T) {
	if got, want := words("用Go写 the 手册的"), "~用 go ~写 the 手册 ~手 册的 ~册 ~的 "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := question("册 手册 Go"), "~册 手册 go "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
