package detect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/go-enry/go-enry/v2"

	"github.com/kbsync/kbsync/internal/shareddata"
)

func TestDetect(t *testing.T) {
	mpeg := make([]byte, 600)
	for i := range mpeg {
		mpeg[i] = 0xFF
	}
	mpeg[0], mpeg[188], mpeg[376] = 0x47, 0x47, 0x47
	wide := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune("<!DOCTYPE html><html>")) {
		wide = append(wide, byte(u), byte(u>>8))
	}
	cases := []struct{ path, hint, head, parser, strategy, mediaType, language string }{
		{"a/README.md", "", "# x", "markdown", "markdown", "text/markdown", ""},
		{"README", "", "hello", "text", "recursive", "text/plain", ""},
		{"a.MDX", "", "", "markdown", "markdown", "text/markdown", ""},
		{"a.html", "", "x", "html", "html", "text/html", ""},
		{"shop.example.com/index.php", "text/html; charset=utf-8", "<!doctype html><p>x", "html", "html", "text/html", ""},
		{"example.com/", "text/html", "<html>", "html", "html", "text/html", ""},
		{"a.php", "text/html", "<?php echo 1; ?>", "code", "code", "application/x-httpd-php", "php"},
		{"page", "", "  <!DOCTYPE html><html>", "html", "html", "text/html", ""},
		{"a.mht", "", "x", "mhtml", "html", "multipart/related", ""},
		{"page", "", "From: <Saved by Blink>\r\nSnapshot-Content-Location: x\r\nContent-Type: multipart/related;\r\n\r\n", "mhtml", "html", "multipart/related", ""},
		{"a.eml", "", "From: a@b\nContent-Type: multipart/related\n\n", "eml", "layout", "message/rfc822", ""},
		{"a.eml", "", "Subject: x\n\n\x00\x01\x02\x03\x04\x05\x06\x07", "eml", "layout", "message/rfc822", ""},
		{"1234.M5", "", "Return-Path: <a@b>\nReceived: from x\n", "eml", "layout", "message/rfc822", ""},
		{"message", "", "From: a@b\r\nTo: c@d\r\nMessage-ID: <1>\r\n\r\nhello", "eml", "layout", "message/rfc822", ""},
		{"a.mbox", "", "From a@b Mon Jan  1 10:00:00 2024\nSubject: x\n\n", "mbox", "recursive", "application/mbox", ""},
		{"inbox", "", "From a@b Mon Jan  1 10:00:00 2024\r\nSubject: x\r\n\r\n", "mbox", "recursive", "application/mbox", ""},
		{"letter", "", "From here at 10:00 in 2024\nwe go on\n", "text", "recursive", "text/plain", ""},
		{"a.zip", "", "PK\x05\x06" + strings.Repeat("\x00", 18), "zip", "recursive", "application/zip", ""},
		{"a.zip", "", "", "zip", "recursive", "application/zip", ""},
		{"archive", "", "PK\x03\x04" + strings.Repeat("\x00", 40), "zip", "recursive", "application/zip", ""},
		{"a.tar", "", "a.txt" + strings.Repeat("\x00", 252) + "ustar\x00", "tar", "recursive", "application/x-tar", ""},
		{"a.tgz", "", "\x1f\x8b\x08\x00", "gzip", "recursive", "application/gzip", ""},
		{"a.tar.zst", "", "\x28\xb5\x2f\xfd", "gzip", "recursive", "application/zstd", ""},
		{"a.jar", "", "PK\x03\x04" + strings.Repeat("\x00", 40), "", "", "application/java-archive", ""},
		{"note", "", "From: a\nTo: b\n\nhello", "text", "recursive", "text/plain", ""},
		{"page", "", string(wide), "html", "html", "text/html", ""},
		{"a.xml", "", "<?xml version='1.0'?>\n<html xmlns='x'>", "html", "html", "text/html", ""},
		{"a.xml", "", "<?xml version='1.0'?>\n<a/>", "xml", "layout", "text/xml", ""},
		{"a.csv", "", "a,b", "csv", "table", "text/csv", ""},
		{"a.ipynb", "", "{\n \"cells\": []", "notebook", "markdown", "application/x-ipynb+json", ""},
		{"a.tab", "", "a\tb", "csv", "table", "text/tab-separated-values", ""},
		{"a.json", "", "{\n\"a\": 1}", "json", "table", "application/json", ""},
		{"a.json", "", "{\"a\": 1}\n{\"a\": 2}\n", "jsonl", "table", "application/jsonl", ""},
		{"a.ndjson", "", "{}", "jsonl", "table", "application/jsonl", ""},
		{"data", "", "{\"a\": [1, 2], \"b\": {\"c\": ", "json", "table", "application/json", ""},
		{"data", "", "[ not json ]", "text", "recursive", "text/plain", ""},
		{"a.yaml", "", "a: 1", "code", "code", "text/x-yaml", "yaml"},
		{"a.toml", "", "a = 1", "code", "code", "text/x-toml", "toml"},
		{"a.go", "", "package a", "code", "code", "text/x-go", "go"},
		{"a.py", "", "", "code", "code", "text/x-python", "python"},
		{"Makefile", "", "all:\n", "code", "code", "text/x-cmake", "makefile"},
		{"run", "", "#!/usr/bin/env python3\nprint()", "code", "code", "text/x-python", "python"},
		{"a.ts", "", "export const x: number = 1;\n", "code", "code", "application/typescript", "typescript"},
		{"a.ts", "", string(mpeg), "", "", "video/mp2t", ""},
		{"a.h", "", "#include <vector>\nnamespace x { class Y; }\n", "code", "code", "text/x-c++src", "c++"},
		{"a.h", "", "#include <stdio.h>\nint f(void);\n", "code", "code", "text/x-csrc", "c"},
		{"a.m", "", "#import <Foundation/Foundation.h>\n@interface A\n@end\n", "code", "code", "text/x-objectivec", "objective-c"},
		{"a.pl", "", "#!/usr/bin/perl\nuse strict;\nmy $x = 1;\n", "code", "code", "text/x-perl", "perl"},
		{"a.tex", "", "\\section{x}", "latex", "latex", "text/x-tex", ""},
		{"a.bib", "", "@book{x, title={y}}", "text", "recursive", "text/plain", ""},
		{"a.proto", "", "syntax = \"proto3\";", "apidoc", "api", "text/x-protobuf", ""},
		{"a.graphql", "", "type A { b: Int }", "apidoc", "api", "application/graphql", ""},
		{"a.yaml", "", "openapi: 3.0.0\n", "apidoc", "api", "application/vnd.oai.openapi", ""},
		{"a.json", "", `{"$schema": "https://json-schema.org/draft/2020-12/schema"}`, "apidoc", "api", "application/schema+json", ""},
		{"a.rst", "", "x\n=\n", "rst", "markdown", "text/x-rst", ""},
		{"a.adoc", "", "= x\n", "asciidoc", "markdown", "text/asciidoc", ""},
		{"a.asc", "", "= Title\nAuthor\n\ntext\n", "asciidoc", "markdown", "text/asciidoc", ""},
		{"a.asc", "", "-----BEGIN PGP SIGNATURE-----\n\niQ", "text", "recursive", "text/plain", ""},
		{"a.org", "", "* x\n", "org", "markdown", "text/org", ""},
		{"a.vtt", "", "WEBVTT", "dialogue", "dialogue", "text/vtt", ""},
		{"a.srt", "", "1\n00:00:01,000 --> 00:00:02,000\nHi\n", "dialogue", "dialogue", "text/vtt", ""},
		{"a.lrc", "", "[00:01.00]x", "text", "recursive", "text/vtt", ""},
		{"a.log", "", "x", "text", "recursive", "text/plain", ""},
		{"a.unknownext", "", "some text", "text", "recursive", "text/plain", ""},
		{"object", "text/csv; charset=utf-8", "a,b", "csv", "table", "text/csv", ""},
		{"object", "image/png", "", "", "", "image/png", ""},
		{"empty", "", "", "text", "recursive", "text/plain", ""},
		{"a.pdf", "", "%PDF-1.7", "pdf", "layout", "application/pdf", ""},
		{"pdf.txt", "", "%PDF-1.7", "pdf", "layout", "application/pdf", ""},
		{"a.pdf", "", "junk\x00\n%PDF-1.4", "pdf", "layout", "application/pdf", ""},
		{"a.pdf", "", "", "pdf", "layout", "application/pdf", ""},
		{"a.pdf", "", "<!doctype html><p>not found", "html", "html", "text/html", ""},
		{"a.docx", "", "PK\x03\x04", "docx", "layout", ooxml + "wordprocessingml.document", ""},
		{"a.docx", "", packageOf("[Content_Types].xml", "xl/workbook.xml"), "xlsx", "table", ooxml + "spreadsheetml.sheet", ""},
		{"a.bin", "", packageOf("_rels/.rels", "ppt/presentation.xml"), "pptx", "layout", ooxml + "presentationml.presentation", ""},
		{"a.zip", "", packageOf("mimetype=application/epub+zip"), "epub", "layout", "application/epub+zip", ""},
		{"a.fodt", "", "<?xml version=\"1.0\"?><office:document", "odf", "layout", odf + "text", ""},
		{"a.odp", "", packageOf("mimetype=application/vnd.oasis.opendocument.presentation"), "odf", "layout", odf + "presentation", ""},
		{"a.odt", "", packageOf("mimetype=application/vnd.oasis.opendocument.spreadsheet"), "ods", "table", odf + "spreadsheet", ""},
		{"a.zip", "", packageOf("a.txt"), "zip", "recursive", "application/zip", ""},
		{"a.xlsb", "", packageOf("[Content_Types].xml", "xl/workbook.bin"), "", "", "application/vnd.ms-excel.sheet.binary.macroEnabled.12", ""},
		{"a.docx", "", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "", "", "application/x-encrypted-office", ""},
		{"a.doc", "", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "", "", "application/msword", ""},
		{"~$a.docx", "", "\x04user", "", "", "application/octet-stream", ""},
		{"ls.1", "", ".\\\" by hand\n.TH LS 1\n", "man", "layout", "text/troff", ""},
		{"cat.8", "", ".Dd May 1, 2024\n.Dt CAT 8\n", "man", "layout", "text/troff", ""},
		{"app.log.1", "", "2024-05-01 started\n", "text", "recursive", "text/plain", ""},
		{"a.rtf", "", "{\\rtf1", "rtf", "layout", "application/rtf", ""},
		{"a.ics", "", "BEGIN:VCALENDAR\r\n", "ical", "layout", "text/calendar", ""},
		{"a.vcf", "", "BEGIN:VCARD\r\n", "vcard", "layout", "text/vcard", ""},
		{"x", "", "PAR1", "parquet", "table", "application/vnd.apache.parquet", ""},
		{"a.bin", "", strings.Repeat("\x00\x01\x02\x03", 50), "", "", "application/octet-stream", ""},
		{"a.txt", "", "\x89PNG\r\n\x1a\n", "", "", "image/png", ""},
		{".gitignore", "", "*.o", "text", "recursive", "text/plain", ""},
		{"tsconfig.json", "", "{\n// c\n\"a\": 1\n}", "code", "code", "text/plain", "json with comments"},
	}
	for _, c := range cases {
		got := Detect(c.path, c.hint, []byte(c.head))
		if got.Parser != c.parser || got.Strategy != c.strategy || got.MediaType != c.mediaType || got.Language != c.language {
			t.Errorf("%s (%.20q): %+v", c.path, c.head, got)
		}
		if (got.Skip == "") != (got.Parser != "") || got.Reason == "" {
			t.Errorf("%s: %+v", c.path, got)
		}
	}
}

// packageOf is the start of a zip file with these members; what follows "=" is a member's content.
func packageOf(members ...string) string {
	var b strings.Builder
	for _, m := range members {
		name, content, _ := strings.Cut(m, "=")
		b.WriteString("PK\x03\x04" + strings.Repeat("\x00", 22) + string([]byte{byte(len(name)), 0, 0, 0}) + name + content)
	}
	return b.String()
}

func TestSkipSaysWhy(t *testing.T) {
	if got := Detect("a.mp3", "", nil).Skip; !strings.HasPrefix(got, "no parser for audio/mpeg in this build") {
		t.Error(got)
	}
}

func TestTables(t *testing.T) {
	for ext, kind := range kindByExtension {
		if _, ok := presets[kind]; !ok || ext != strings.ToLower(ext) || ext[0] != '.' {
			t.Errorf("%s: %s", ext, kind)
		}
		if _, twice := skipByExtension[ext]; twice {
			t.Errorf("%s is in both tables", ext)
		}
	}
	for language, kind := range kindByLanguage {
		if _, ok := presets[kind]; !ok {
			t.Errorf("%s: %s", language, kind)
		}
	}
	for language := range codeLike {
		if enry.GetLanguageType(language) == enry.Unknown {
			t.Errorf("go-enry does not know %q", language)
		}
	}
	for kind, p := range presets {
		if tree := p.binary || p.parser == "markdown" || p.parser == "rst" || p.parser == "asciidoc" || p.parser == "org" || p.parser == "man" || p.parser == "html" || p.parser == "ical" || p.parser == "vcard" || p.parser == "xml" || p.parser == "json" || p.parser == "code" || p.parser == "latex" || p.parser == "apidoc"; p.tree != tree {
			t.Errorf("%s: tree is %v", kind, p.tree)
		}
	}
}

// Every file of the collection is claimed by a parser or skipped with a reason, and by what its name promises.
func TestRealFiles(t *testing.T) {
	want := map[string]string{
		".md": "markdown", ".html": "html", ".xhtml": "html", ".csv": "csv", ".json": "json", ".txt": "text", ".tex": "latex", ".vtt": "dialogue", ".pdf": "pdf", ".docx": "docx", ".xlsx": "xlsx", ".xlsm": "xlsx",
		".go": "code", ".py": "code", ".js": "code", ".java": "code", ".c": "code", ".cpp": "code", ".cs": "code", ".rb": "code", ".rs": "code", ".php": "code", ".kt": "code", ".scala": "code",
		".sh": "code", ".lua": "code", ".swift": "code", ".hs": "code",
	}
	err := filepath.WalkDir(shareddata.Dir(t), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		got := Detect(filepath.ToSlash(path), "", raw[:min(len(raw), HeadSize)])
		if parser, known := want[filepath.Ext(path)]; known && got.Parser != parser {
			t.Errorf("%s: %+v", path, got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func FuzzDetect(f *testing.F) {
	f.Add("a.md", "text/html", []byte("x"))
	f.Add("x", "", []byte("{\"a\":"))
	f.Fuzz(func(t *testing.T, path, hint string, head []byte) {
		got := Detect(path, hint, head)
		if got.MediaType == "" || (got.Skip == "") != (got.Parser != "") {
			t.Errorf("%+v", got)
		}
	})
}
