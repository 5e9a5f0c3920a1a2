package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/internal/zipdoc/ziptest"
)

func opened(tb testing.TB, p connector.ParserPlugin, set func(*Config)) connector.Container {
	tb.Helper()
	c := defaults()
	if set != nil {
		set(&c)
	}
	got, err := p.Open(context.Background(), &c, connector.Env{})
	if err != nil {
		tb.Fatal(err)
	}
	return got.(connector.Container)
}

// listing is a line for each member: its path, and its content or why there is none.
func listing(tb testing.TB, p connector.Container, path, data string) (string, error) {
	tb.Helper()
	var b strings.Builder
	seen := map[string]bool{}
	for m, err := range p.Members(context.Background(), parsertest.Document(path, len(data)), strings.NewReader(data), int64(len(data))) {
		if err != nil {
			return b.String(), err
		}
		if m.Path == "" || strings.HasPrefix(m.Path, "/") || strings.Contains("/"+m.Path+"/", "/../") || strings.ContainsAny(m.Path, "\x00\\") || seen[m.Path] || m.Version == "" || (m.Reason == "") != (m.Open != nil) {
			tb.Errorf("member %+v", m)
		}
		seen[m.Path] = true
		if m.Reason != "" {
			fmt.Fprintf(&b, "%s: %s\n", m.Path, m.Reason)
			continue
		}
		content, err := read(m)
		if err != nil {
			fmt.Fprintf(&b, "%s: error of class %v\n", m.Path, connector.ClassOf(err))
			continue
		}
		if m.Size >= 0 && m.Size != int64(len(content)) {
			tb.Errorf("%s: size %d, read %d", m.Path, m.Size, len(content))
		}
		if len(content) > 40 {
			content = fmt.Sprintf("%d bytes", len(content))
		}
		fmt.Fprintf(&b, "%s = %s\n", m.Path, content)
	}
	return b.String(), nil
}

func read(m connector.Member) (string, error) {
	r, err := m.Open(context.Background())
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(r)
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	return string(data), err
}

// tarred is a tar file of members by name and content; a name that ends in a slash is a folder.
func tarred(tb testing.TB, format tar.Format, members ...string) string {
	tb.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i+1 < len(members); i += 2 {
		h := &tar.Header{Name: members[i], Size: int64(len(members[i+1])), Mode: 0o600, Typeflag: tar.TypeReg, ModTime: time.Unix(1700000000, 0), Format: format}
		if strings.HasSuffix(h.Name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write([]byte(members[i+1])); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func gzipped(tb testing.TB, name, data string) string {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Name = name
	_, err := w.Write([]byte(data))
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func zstded(tb testing.TB, data string) string {
	tb.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return string(w.EncodeAll([]byte(data), nil))
}

// "hello from bzip2\n"
func bzipped(tb testing.TB) string {
	tb.Helper()
	data, err := base64.StdEncoding.DecodeString(bzip2Sample)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

const bzip2Sample = "QlpoOTFBWSZTWVXpr+UAAAPZgAAQQAAQABNm0BAgACKaMmnpH6hAAA0q9CbgvywBYu5IpwoSCr01/KA="

func TestContract(t *testing.T) {
	files := []string{"a.txt", "sentinel", "目录/说明.md", "# 标题"}
	for _, c := range []struct {
		p     connector.ParserPlugin
		cases []parsertest.Case
	}{
		{ZipPlugin(), []parsertest.Case{{Name: "zip", Input: ziptest.Pack(t, files...)}, {Name: "empty"}}},
		{TarPlugin(), []parsertest.Case{{Name: "tar", Input: tarred(t, tar.FormatPAX, files...)}, {Name: "tgz", Input: gzipped(t, "", tarred(t, tar.FormatPAX, files...))}, {Name: "empty"}}},
		{GzipPlugin(), []parsertest.Case{{Name: "gzip", Input: gzipped(t, "a", "hello")}, {Name: "zstd", Input: zstded(t, "hello")}, {Name: "empty"}}},
	} {
		t.Run(c.p.Kind, func(t *testing.T) {
			parsertest.Run(t, func() connector.Parser { return opened(t, c.p, nil) }, c.cases)
		})
	}
}

func TestZip(t *testing.T) {
	data := ziptest.Pack(t, "readme.txt", "hello", "docs/", "", "docs/手册.md", "# 手册", "../../etc/passwd", "x", "/abs.txt", "abs", `c:\win\a.txt`, "win", "a/./b/../c.txt", "dots",
		"readme.txt", "second", "docs", "a file named as a folder", "__MACOSX/._readme.txt", "fork", "docs/.DS_Store", "ds", "nul\x00.txt", "nul", "empty.txt", "")
	got, err := listing(t, opened(t, ZipPlugin(), nil), "x.zip", data)
	want := `readme.txt = hello
docs/手册.md = # 手册
etc/passwd: its name leads out of the archive
abs.txt = abs
win/a.txt = win
a/c.txt = dots
readme (2).txt = second
docs (2) = a file named as a folder
__MACOSX/._readme.txt: a resource fork or folder settings of macOS
docs/.DS_Store: a resource fork or folder settings of macOS
nul_.txt = nul
empty.txt = 
`
	if err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

// raw is a zip file with changes that package zip does not make.
func raw(tb testing.TB, members []string, change func(h *zip.FileHeader)) string {
	tb.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i+1 < len(members); i += 2 {
		h := &zip.FileHeader{Name: members[i], NonUTF8: true, CRC32: crc32.ChecksumIEEE([]byte(members[i+1])), CompressedSize64: uint64(len(members[i+1])), UncompressedSize64: uint64(len(members[i+1]))}
		if change != nil {
			change(h)
		}
		w, err := z.CreateRaw(h)
		if err == nil {
			_, err = w.Write([]byte(members[i+1]))
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// Names are in whatever character set the program had that packed the archive.
func TestLegacyNames(t *testing.T) {
	for _, c := range []struct {
		enc   encoding.Encoding
		names []string
	}{
		{simplifiedchinese.GBK, []string{"会议纪要/第一季度.docx", "财务报表.xlsx"}},
		{simplifiedchinese.GBK, []string{"说明.txt"}},
		{japanese.ShiftJIS, []string{"資料/テスト結果.txt", "議事録.txt"}},
		{charmap.CodePage437, []string{"Übersicht für Köln.txt", "château.txt"}},
		{encoding.Nop, []string{"已经是UTF-8.txt", "ünïcode.txt"}},
	} {
		var members, want []string
		for _, name := range c.names {
			packed, err := c.enc.NewEncoder().String(name)
			if err != nil {
				t.Fatal(err)
			}
			members = append(members, packed, "x")
			want = append(want, name+" = x\n")
		}
		got, err := listing(t, opened(t, ZipPlugin(), nil), "x.zip", raw(t, members, nil))
		if err != nil || got != strings.Join(want, "") {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
		got, err = listing(t, opened(t, TarPlugin(), nil), "x.tar", rawTar(members))
		if err != nil || got != strings.Join(want, "") {
			t.Errorf("tar: %v: %q, want %q", err, got, want)
		}
	}
	extra := func(h *zip.FileHeader) {
		h.Extra = []byte{0x75, 0x70, 14, 0, 1}
		sum := crc32.ChecksumIEEE([]byte(h.Name))
		h.Extra = append(h.Extra, byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24))
		h.Extra = append(h.Extra, "真名.md"[:9]...)
	}
	if got, err := listing(t, opened(t, ZipPlugin(), nil), "x.zip", raw(t, []string{"\xD5\xE6\xC3\xFB.md", "x"}, extra)); err != nil || got != "真名.md"[:9]+" = x\n" {
		t.Errorf("Unicode path: %v %q", err, got)
	}
}

// rawTar is an old tar file, whose names are bytes.
func rawTar(members []string) string {
	var b strings.Builder
	for i := 0; i+1 < len(members); i += 2 {
		h := make([]byte, 512)
		copy(h, members[i])
		copy(h[100:], "0000600\x000000000\x000000000\x00")
		copy(h[124:], fmt.Sprintf("%011o\x00%011o\x00        0", len(members[i+1]), 1700000000))
		sum := 0
		for _, c := range h {
			sum += int(c)
		}
		copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
		b.Write(h)
		b.WriteString(members[i+1] + strings.Repeat("\x00", (512-len(members[i+1])%512)%512))
	}
	return b.String() + strings.Repeat("\x00", 1024)
}

// What cannot be had is listed with the reason.
func TestReasons(t *testing.T) {
	for _, c := range []struct {
		name, data, want string
		set              func(*Config)
	}{
		{"encrypted", raw(t, []string{"a.txt", "secret"}, func(h *zip.FileHeader) { h.Flags |= 1 }), "a.txt: encrypted\n", nil},
		{"AES", raw(t, []string{"a.txt", "secret"}, func(h *zip.FileHeader) { h.Method = 99 }), "a.txt: encrypted\n", nil},
		{"method", raw(t, []string{"a.txt", "x"}, func(h *zip.FileHeader) { h.Method = 14 }), "a.txt: packed by a method that is not read (number 14)\n", nil},
		{"large", ziptest.Pack(t, "a.txt", "hello", "b.txt", "x"), "a.txt: larger than max_member_size (4 bytes)\nb.txt = x\n", func(c *Config) { c.MaxMemberSize = 4 }},
		{"bomb", ziptest.Pack(t, "a.txt", strings.Repeat("\x00", 8<<20), "b.txt", "x"), "a.txt: unpacks to more than max_ratio (100) times its size: it looks like a zip bomb\nb.txt = x\n", func(c *Config) { c.MaxRatio = 100 }},
		{"checksum", raw(t, []string{"a.txt", "x", "b.txt", "y"}, func(h *zip.FileHeader) {
			if h.Name == "a.txt" {
				h.CRC32++
			}
		}), fmt.Sprintf("a.txt: error of class %v\nb.txt = y\n", connector.ClassInvalid), nil},
		{"wrong size", raw(t, []string{"a.txt", "xxxx"}, func(h *zip.FileHeader) { h.UncompressedSize64 = 9 }), fmt.Sprintf("a.txt: error of class %v\n", connector.ClassInvalid), nil},
		{"bzip2", raw(t, []string{"a.txt", bzipped(t)}, func(h *zip.FileHeader) {
			h.Method, h.CRC32, h.UncompressedSize64 = 12, crc32.ChecksumIEEE([]byte("hello from bzip2\n")), 17
		}), "a.txt = hello from bzip2\n\n", nil},
		{"zstd", raw(t, []string{"a.txt", zstded(t, "hello")}, func(h *zip.FileHeader) {
			h.Method, h.CRC32, h.UncompressedSize64 = 93, crc32.ChecksumIEEE([]byte("hello")), 5
		}), "a.txt = hello\n", nil},
		{"long name", ziptest.Pack(t, strings.Repeat("x", 5000), "y"), strings.Repeat("x", 200) + ": its name is longer than 4096 bytes\n", nil},
	} {
		got, err := listing(t, opened(t, ZipPlugin(), c.set), "x.zip", c.data)
		if err != nil || got != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, c.want)
		}
	}
}

// Archives that cannot be read, or break a limit, are errors that say so.
func TestErrors(t *testing.T) {
	many := make([]string, 0, 2000)
	for i := range 1000 {
		many = append(many, fmt.Sprintf("%d.txt", i), "x")
	}
	good := ziptest.Pack(t, "a.txt", strings.Repeat("hello ", 100))
	goodTar := tarred(t, tar.FormatGNU, "a.txt", strings.Repeat("hello ", 1000))
	few := func(c *Config) { c.MaxMembers = 10 }
	small := func(c *Config) { c.MaxTotal = 900 }
	for _, c := range []struct {
		name string
		p    connector.ParserPlugin
		data string
		set  func(*Config)
		want string
	}{
		{"no zip", ZipPlugin(), "hello", nil, "no zip archive"},
		{"cut zip", ZipPlugin(), good[:len(good)-10], nil, "no zip archive"},
		{"many", ZipPlugin(), ziptest.Pack(t, many...), few, "max_members"},
		{"total", ZipPlugin(), ziptest.Pack(t, many[:1000]...) /* 500 bytes */, func(c *Config) { c.MaxTotal = 400 }, "max_total"},
		{"directory", ZipPlugin(), longDirectory(t), few, "max_members"},
		{"overlap", ZipPlugin(), overlapping(t), nil, "overlap"},
		{"no tar", TarPlugin(), strings.Repeat("hello ", 1000), nil, "no tar archive"},
		{"no tar within", TarPlugin(), gzipped(t, "", "hello"), nil, "no tar archive"},
		{"cut tar", TarPlugin(), goodTar[:2000], nil, "cut short"},
		{"many in tar", TarPlugin(), tarred(t, tar.FormatGNU, many...), few, "max_members"},
		{"tar total", TarPlugin(), goodTar, small, "max_total"},
		{"tgz total", GzipPlugin(), gzipped(t, "", goodTar), small, "max_total"},
		{"cut tgz", GzipPlugin(), gzipped(t, "", goodTar)[:60], nil, "cut short"},
		{"cut gz", GzipPlugin(), gzipped(t, "", many[0]+strings.Repeat("hello", 1000))[:30], nil, "cut short"},
		{"gz checksum", GzipPlugin(), flip(gzipped(t, "", "hello hello"), -6), nil, "damaged"},
		{"no gz", GzipPlugin(), "hello", nil, "not packed"},
		{"gz bomb", GzipPlugin(), gzipped(t, "", strings.Repeat("\x00", 8<<20)), func(c *Config) { c.MaxRatio = 100 }, "zip bomb"},
		{"tgz bomb", GzipPlugin(), gzipped(t, "", tarred(t, tar.FormatGNU, "a", strings.Repeat("\x00", 8<<20))), func(c *Config) { c.MaxRatio = 100 }, "zip bomb"},
	} {
		got, err := listing(t, opened(t, c.p, c.set), "x", c.data)
		if connector.ClassOf(err) != connector.ClassInvalid || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v, want %q; listed %q", c.name, err, c.want, got)
		}
	}
	for _, set := range []func(*Config){func(c *Config) { c.MaxMembers = 0 }, func(c *Config) { c.MaxMemberSize = 0 }, func(c *Config) { c.MaxTotal = -1 }, func(c *Config) { c.MaxRatio = 0 }} {
		c := defaults()
		set(&c)
		if _, err := ZipPlugin().Open(context.Background(), &c, connector.Env{}); err == nil {
			t.Error("a limit below 1 is accepted")
		}
	}
}

func flip(s string, at int) string {
	b := []byte(s)
	b[len(b)+at] ^= 0xFF
	return string(b)
}

// longDirectory is a zip file whose directory takes over 1 MiB.
func longDirectory(tb testing.TB) string {
	tb.Helper()
	var members []string
	for i := range 40 {
		members = append(members, fmt.Sprintf("%d%s", i, strings.Repeat("x", 60_000)), "")
	}
	return raw(tb, members, nil)
}

// overlapping is a zip file of which two entries of the directory name the same bytes.
func overlapping(tb testing.TB) string {
	tb.Helper()
	data := []byte(raw(tb, []string{"a.txt", "hello", "b.txt", "hello"}, nil))
	second := bytes.LastIndex(data, []byte("PK\x01\x02"))
	copy(data[second+42:], []byte{0, 0, 0, 0})
	return string(data)
}

func TestTar(t *testing.T) {
	long := strings.Repeat("long/", 40) + "名字.txt"
	files := []string{"dir/", "", "dir/a.txt", "hello", long, "long", "../x", "out", "dir/a.txt", "again", "big.txt", strings.Repeat("b", 2000), "._a.txt", "fork"}
	want := "dir/a.txt = hello\n" + long + " = long\nx: its name leads out of the archive\ndir/a (2).txt = again\nbig.txt = 2000 bytes\n._a.txt: a resource fork or folder settings of macOS\n"
	for _, f := range []tar.Format{tar.FormatPAX, tar.FormatGNU} {
		data := tarred(t, f, files...)
		for name, c := range map[string]struct {
			p    connector.ParserPlugin
			data string
		}{
			"x.tar": {TarPlugin(), data}, "x.tgz": {TarPlugin(), gzipped(t, "", data)}, "y.tgz": {GzipPlugin(), gzipped(t, "", data)}, "x.tar.zst": {GzipPlugin(), zstded(t, data)},
		} {
			got, err := listing(t, opened(t, c.p, nil), name, c.data)
			if err != nil || got != want {
				t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
			}
		}
	}
	if got, err := listing(t, opened(t, TarPlugin(), nil), "x.tar", strings.Repeat("\x00", 10240)); err != nil || got != "" {
		t.Errorf("an empty tar file: %q, %v", got, err)
	}
}

// sparseTar is a member of so many bytes, all of them a hole but the last five, between two others.
func sparseTar(tb testing.TB, size int64) string {
	tb.Helper()
	h := make([]byte, 512)
	copy(h, "sparse")
	copy(h[100:], "0000600\x000000000\x000000000\x00")
	copy(h[124:], fmt.Sprintf("%011o\x00%011o\x00        S", 5, 1700000000))
	copy(h[257:], "ustar  \x00")
	copy(h[386:], fmt.Sprintf("%011o\x00%011o\x00", size-5, 5))
	copy(h[483:], fmt.Sprintf("%011o\x00", size))
	sum := 0
	for _, c := range h {
		sum += int(c)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	before := tarred(tb, tar.FormatGNU, "a", "A")
	after := tarred(tb, tar.FormatGNU, "b", "B", "c", "C")
	return before[:1024] + string(h) + "hello" + strings.Repeat("\x00", 507) + after
}

// Members behind one whose place in the file is not known are found, and holes are not read where the member is too large.
func TestSparse(t *testing.T) {
	for size, want := range map[int64]string{
		100: "a = A\nsparse = 100 bytes\nb = B\nc = C\n", 1 << 32: "a = A\nsparse: larger than max_member_size (1073741824 bytes)\nb = B\nc = C\n",
	} {
		got, err := listing(t, opened(t, TarPlugin(), nil), "x.tar", sparseTar(t, size))
		if err != nil || got != want {
			t.Errorf("%v\n%s\nwant\n%s", err, got, want)
		}
	}
}

func TestPacked(t *testing.T) {
	gbk, err := simplifiedchinese.GBK.NewEncoder().String("季度报告.txt")
	if err != nil {
		t.Fatal(err)
	}
	named := []byte(gzipped(t, "", "hello"))
	named[3] |= 8
	withName := string(named[:10]) + gbk + "\x00" + string(named[10:])
	for _, c := range []struct{ path, data, want string }{
		{"logs/app.log.gz", gzipped(t, "", "hello"), "app.log = hello\n"},
		{"logs/app.log.gz", gzipped(t, "old name.log", "hello"), "old name.log = hello\n"},
		{"a.gz", gzipped(t, "../../x", "hello"), "x = hello\n"},
		{"a.gz", withName, "季度报告.txt = hello\n"},
		{"报告.CSV.GZ", gzipped(t, "", "hello"), "报告.CSV = hello\n"},
		{"a.tgz", gzipped(t, "", "hello"), "a.tar = hello\n"},
		{".gz", gzipped(t, "", "hello"), ".gz = hello\n"},
		{"a.txt.bz2", bzipped(t), "a.txt = hello from bzip2\n\n"},
		{"a.txt.zst", zstded(t, "hello"), "a.txt = hello\n"},
		{"two.gz", gzipped(t, "", "hel") + gzipped(t, "", "lo"), "two = hello\n"},
	} {
		got, err := listing(t, opened(t, GzipPlugin(), nil), c.path, c.data)
		if err != nil || got != c.want {
			t.Errorf("%s: %v %q, want %q", c.path, err, got, c.want)
		}
	}
	got, err := listing(t, opened(t, GzipPlugin(), func(c *Config) { c.MaxMemberSize = 3 }), "a.gz", gzipped(t, "", "hello"))
	if err != nil || got != "a: larger than max_member_size (3 bytes)\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// Versions tell contents apart, and nothing else.
func TestVersions(t *testing.T) {
	versions := func(p connector.ParserPlugin, data string) string {
		var out []string
		for m, err := range opened(t, p, nil).Members(context.Background(), parsertest.Document("x", len(data)), strings.NewReader(data), int64(len(data))) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, m.Path+" "+m.Version)
		}
		return strings.Join(out, "\n")
	}
	for _, c := range []struct {
		p    connector.ParserPlugin
		pack func(content string) string
	}{
		{ZipPlugin(), func(s string) string { return ziptest.Pack(t, "a", s) }},
		{TarPlugin(), func(s string) string { return tarred(t, tar.FormatPAX, "a", s) }},
		{TarPlugin(), func(s string) string { return gzipped(t, "", tarred(t, tar.FormatPAX, "a", s)) }},
		{GzipPlugin(), func(s string) string { return gzipped(t, "", s) }},
	} {
		if a, b, other := versions(c.p, c.pack("one")), versions(c.p, c.pack("one")), versions(c.p, c.pack("two")); a != b || a == other {
			t.Errorf("%s: %q %q %q", c.p.Kind, a, b, other)
		}
	}
	plain := tarred(t, tar.FormatPAX, "a", "one")
	if versions(TarPlugin(), plain) != versions(TarPlugin(), gzipped(t, "", plain)) {
		t.Error("packing changes versions")
	}
}

// Members are read concurrently, and after the listing, from memory and from a file.
func TestConcurrent(t *testing.T) {
	var files []string
	for i := range 40 {
		files = append(files, fmt.Sprintf("%d.txt", i), strings.Repeat(fmt.Sprint(i), 200_000))
	}
	data := tarred(t, tar.FormatPAX, files...)
	for name, packed := range map[string]string{"tar": data, "tgz": gzipped(t, "", data)} {
		var members []connector.Member
		for m, err := range opened(t, TarPlugin(), nil).Members(context.Background(), parsertest.Document("x", len(packed)), strings.NewReader(packed), int64(len(packed))) {
			if err != nil {
				t.Fatal(err)
			}
			members = append(members, m)
		}
		var wg sync.WaitGroup
		for i, m := range members {
			for range 2 {
				wg.Go(func() {
					if got, err := read(m); err != nil || got != files[2*i+1] {
						t.Errorf("%s: %s: %d bytes, %v", name, m.Path, len(got), err)
					}
				})
			}
		}
		wg.Wait()
	}
}

// Cut short anywhere, an archive is an error or lists what it lists when whole.
func TestTruncated(t *testing.T) {
	files := []string{"a.txt", "hello", "b/中文.txt", strings.Repeat("x", 700)}
	for _, c := range []struct {
		p    connector.ParserPlugin
		data string
	}{
		{ZipPlugin(), ziptest.Pack(t, files...)}, {TarPlugin(), tarred(t, tar.FormatPAX, files...)}, {GzipPlugin(), gzipped(t, "", tarred(t, tar.FormatPAX, files...))}, {GzipPlugin(), zstded(t, strings.Join(files, "\n"))},
	} {
		whole, err := listing(t, opened(t, c.p, nil), "x", c.data)
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < 60; i++ {
			got, err := listing(t, opened(t, c.p, nil), "x", c.data[:len(c.data)*i/60])
			if err == nil && !strings.HasPrefix(whole, got) || err != nil && connector.ClassOf(err) != connector.ClassInvalid {
				t.Errorf("%s cut at %d/60: %q, %v", c.p.Kind, i, got, err)
			}
		}
	}
}

// A thousand equal names cost a thousand steps, not a million: what is counted is how often a name is tried.
func TestEqualNames(t *testing.T) {
	all := make([]found, 20_000)
	for i := range all {
		all[i].raw = "a.txt"
	}
	settle(all)
	if got := all[len(all)-1].Path; got != "a (20000).txt" {
		t.Error(got)
	}
}

func FuzzArchive(f *testing.F) {
	files := []string{"a.txt", "hello", "../b\\\x00", "x"}
	f.Add(ziptest.Pack(f, files...))
	f.Add(tarred(f, tar.FormatGNU, "a", "A", "b/", ""))
	f.Add(gzipped(f, "a", "hello"))
	f.Add(gzipped(f, "", tarred(f, tar.FormatPAX, "中", "文")))
	f.Add(zstded(f, "hello"))
	f.Add(sparseTar(f, 100))
	small := func(c *Config) { c.MaxMemberSize, c.MaxTotal, c.MaxMembers = 1<<20, 4<<20, 100 }
	f.Fuzz(func(t *testing.T, data string) {
		for _, p := range []connector.ParserPlugin{ZipPlugin(), TarPlugin(), GzipPlugin()} {
			if err := parsertest.CheckSound(opened(t, p, small), "x", data); err != nil {
				t.Error(err)
			}
			if _, err := listing(t, opened(t, p, small), "x", data); err != nil && connector.ClassOf(err) != connector.ClassInvalid {
				t.Error(err)
			}
		}
	})
}
