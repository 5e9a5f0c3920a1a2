package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/servers"
)

// TestReaders: applications that use LangChain or LlamaIndex find what kbsync writes, with those libraries' default names, where the sink says
// `fields: langchain` or `fields: llamaindex`.
func TestReaders(t *testing.T) {
	for _, b := range backends() {
		if b.server == "" || b.name == "opensearch" { // the libraries that read OpenSearch are not installed
			continue
		}
		s := &started{backend: b, parent: t}
		for _, library := range []string{"langchain", "llamaindex"} {
			t.Run(b.name+"/"+library, func(t *testing.T) {
				if !servers.Installed(t, library) {
					t.Skip(library + " is not installed (scripts/servers.sh install " + library + ")")
				}
				readWith(t, s, library)
			})
		}
	}
}

func readWith(t *testing.T, s *started, library string) {
	addr, addr2 := s.addresses(t)
	collection := s.collection()
	if s.name == "pgvector" && library == "llamaindex" {
		collection = "data_" + collection // the library puts this before its tables' names
	}
	keys := ", fields: " + library
	if s.name == "milvus" && library == "llamaindex" {
		keys += ", in_place: true" // the library looks for the name among the collections, where aliases do not stand, and would make one
	}
	line := strings.Replace(s.line(addr, addr2, collection), "collection: "+collection, "collection: "+collection+keys, 1)
	r := newRig(t, "", line)
	r.write("手册/refunds.md", "# Refunds 退款\n\n"+paragraphs("refunds", 4))
	r.write("hours.md", "# Hours\n\n"+paragraphs("hours", 4))
	r.write("prices.csv", "name,price\nwidget,3\n")
	r.sync()
	r.exact()
	var want connector.Point
	p := r.open()
	for pt, err := range p.Export(context.Background(), true) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(pt.Path, "refunds") {
			want = pt
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	vector, err := json.Marshal(want.Vector)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), servers.Python(library), "testdata/readers.py", library, s.name, addr, addr2, collection)
	cmd.Stdin = bytes.NewReader(vector)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Env = append(os.Environ(), "ANONYMIZED_TELEMETRY=False")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes()[max(0, stderr.Len()-3000):])
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	var hits []struct {
		Text     string         `json:"text"`
		Metadata map[string]any `json:"metadata"`
	}
	if err := json.Unmarshal(lines[len(lines)-1], &hits); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if len(hits) != 3 || hits[0].Text != want.Content && hits[0].Text != want.EmbedText {
		t.Fatalf("%d hits, the first %+v, want %q", len(hits), hits, want.Content)
	}
	m := hits[0].Metadata
	if inner, ok := m["metadata"].(map[string]any); ok && m["path"] == nil {
		m = inner
	}
	if m["path"] != want.Path || m["doc_id"] != want.DocID {
		t.Errorf("the metadata of the hit: %v", hits[0].Metadata)
	}
}
