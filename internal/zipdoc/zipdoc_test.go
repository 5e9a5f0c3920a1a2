package zipdoc

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/kbsync/kbsync/connector"
)

// pack makes a zip file of members by name and content.
func pack(t *testing.T, change func(*zip.FileHeader), members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		h := &zip.FileHeader{Name: members[i], Method: zip.Deflate}
		if change != nil {
			change(h)
		}
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(members[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func invalid(t *testing.T, err error, says string) {
	t.Helper()
	if connector.ClassOf(err) != connector.ClassInvalid || !strings.Contains(err.Error(), says) {
		t.Errorf("error %v, want one that says %q", err, says)
	}
}

func TestMembers(t *testing.T) {
	p, err := Read(bytes.NewReader(pack(t, nil, "b.xml", "old", "/A/c.xml", "c", `d\e.xml`, "e", "b.xml", "new", "folder/", "")), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.Names(), " "); got != "b.xml A/c.xml d/e.xml" {
		t.Errorf("names %s", got)
	}
	for name, want := range map[string]string{"b.xml": "new", "/A/c.xml": "c", "a/C.XML": "c", "d/e.xml": "e"} {
		if got, err := p.Bytes(name); err != nil || string(got) != want || !p.Has(name) {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	if p.Size("b.xml") != 3 || p.Size("x") != -1 || p.Has("x") {
		t.Error("sizes")
	}
	if _, err := p.Bytes("x"); !errors.Is(err, ErrMissing) {
		t.Errorf("a missing member: %v", err)
	}
}

func TestRefused(t *testing.T) {
	good := pack(t, nil, "a", strings.Repeat("x", 100))
	for says, data := range map[string][]byte{
		"outside of itself": pack(t, nil, "a/../../b", "x"),
		"cut short":         good[:len(good)/2],
		"no zip package":    []byte("%PDF-1.7"),
		"encrypted":         []byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1 and more"),
		"members":           pack(t, nil, "a", "", "b", "", "c", ""),
	} {
		_, err := Read(bytes.NewReader(data), Limits{Members: 2})
		invalid(t, err, says)
	}
	_, err := Read(bytes.NewReader(good), Limits{Input: 10})
	invalid(t, err, "larger than 10")
	broken := errors.New("broken")
	if _, err := Read(iotest.ErrReader(broken), Limits{}); !errors.Is(err, broken) {
		t.Errorf("the reader's error: %v", err)
	}
}

func TestEncryptedMember(t *testing.T) {
	data := pack(t, func(h *zip.FileHeader) { h.Flags |= 1 }, "a", "x")
	p, err := Open(data, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Bytes("a")
	invalid(t, err, "without a password")
}

func TestChecksum(t *testing.T) {
	data := pack(t, func(h *zip.FileHeader) { h.Method = zip.Store }, "a", "some text")
	copy(data[bytes.Index(data, []byte("some")):], "SOME")
	p, err := Open(data, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Bytes("a")
	invalid(t, err, "checksum")
}

func TestBombs(t *testing.T) {
	big := strings.Repeat("0", 3<<20)
	data := pack(t, nil, "a", big, "b", big)
	open := func(l Limits) *Package {
		p, err := Open(data, l)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	_, err := open(Limits{Member: 1 << 20}).Bytes("a")
	invalid(t, err, "more than 1048576 bytes")
	_, err = open(Limits{Ratio: 100}).Bytes("a")
	invalid(t, err, "bomb")
	p := open(Limits{Total: 4 << 20, Ratio: 2000})
	if _, err := p.Bytes("a"); err != nil {
		t.Fatal(err)
	}
	_, err = p.Bytes("b")
	invalid(t, err, "the document unpacks")
}

// TestLyingSize: a member that unpacks to more than the archive says is stopped by what comes, not by what was said.
func TestLyingSize(t *testing.T) {
	big := strings.Repeat("0", 3<<20)
	data := pack(t, nil, "a", big)
	size := []byte{0, 0, 0x30, 0} // 3 MiB
	for at := bytes.Index(data, size); at >= 0; at = bytes.Index(data, size) {
		copy(data[at:], []byte{9, 0, 0, 0})
	}
	p, err := Open(data, Limits{Member: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if p.Size("a") != 9 {
		t.Fatalf("the size said is %d", p.Size("a"))
	}
	r, err := p.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if len(got) > 1<<20 {
		t.Errorf("%d bytes came", len(got))
	}
	invalid(t, err, "a")
}

func FuzzOpen(f *testing.F) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("a/b.xml")
	if err != nil {
		f.Fatal(err)
	}
	_, _ = w.Write([]byte("text"))
	_ = z.Close()
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Open(data, Limits{Member: 1 << 20})
		if err != nil {
			return
		}
		for _, name := range p.Names() {
			got, err := p.Bytes(name)
			if err == nil && len(got) > 1<<20 {
				t.Errorf("%d bytes", len(got))
			}
		}
	})
}
