package detect

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// officeByExtension are the binary formats that some parser reads, by the extensions of their names. Content goes first.
var officeByExtension = map[string]string{
	".pdf": kindPDF, ".docx": kindDOCX, ".docm": kindDOCX, ".dotx": kindDOCX, ".dotm": kindDOCX, ".pptx": kindPPTX, ".pptm": kindPPTX, ".ppsx": kindPPTX, ".potx": kindPPTX,
	".xlsx": kindXLSX, ".xlsm": kindXLSX, ".xltx": kindXLSX, ".odt": kindODT, ".ott": kindODT, ".odp": kindODP, ".otp": kindODP, ".ods": kindODS, ".ots": kindODS,
	".rtf": kindRTF, ".epub": kindEPUB, ".parquet": kindParquet,
}

// archiveByExtension are the archives that some parser reads, by the extensions of their names. Content goes first.
var archiveByExtension = map[string]string{
	".zip": kindZip, ".tar": kindTar, ".gz": kindGzip, ".tgz": kindGzip, ".bz2": kindGzip, ".tbz2": kindGzip, ".zst": kindGzip, ".tzst": kindGzip,
}

// archiveByMediaType are those of archives and packed files, as their first bytes tell them.
var archiveByMediaType = map[string]string{
	zip: kindZip, "application/x-tar": kindTar, "application/gzip": kindGzip, "application/x-bzip2": kindGzip, "application/zstd": kindGzip,
}

// officeByMediaType are those of packages that name their media type in their first member.
var officeByMediaType = map[string]string{
	"application/epub+zip": kindEPUB, odf + "text": kindODT, odf + "text-template": kindODT, odf + "text-master": kindODT,
	odf + "presentation": kindODP, odf + "presentation-template": kindODP, odf + "spreadsheet": kindODS, odf + "spreadsheet-template": kindODS,
}

// convertFirst is what to do about formats that are not read, by media type.
var convertFirst = map[string]string{
	"application/msword":                                    "the old binary format of Word: save it as .docx (soffice --headless --convert-to docx FILE)",
	"application/vnd.ms-excel":                              "the old binary format of Excel: save it as .xlsx (soffice --headless --convert-to xlsx FILE)",
	"application/vnd.ms-powerpoint":                         "the old binary format of PowerPoint: save it as .pptx (soffice --headless --convert-to pptx FILE)",
	"application/vnd.ms-excel.sheet.binary.macroEnabled.12": "the binary format of Excel: save it as .xlsx (soffice --headless --convert-to xlsx FILE)",
	"application/x-xz":                                      "packed by xz: unpack it, or pack it by gzip or zstd",
	"application/x-7z-compressed":                           "an archive of 7-Zip: unpack it, or pack it as .zip",
	"application/vnd.rar":                                   "a RAR archive: unpack it, or pack it as .zip",
	"application/vnd.ms-outlook":                            "a message of Outlook: save it as .eml",
	encryptedOffice:                                         "an encrypted office document (or one of an old binary format under a new name): save it without a password",
}

// encryptedOffice is an office document inside the container that encryption puts it into.
const encryptedOffice = "application/x-encrypted-office"

// office tells the binary documents that some parser reads by their first bytes; "" if head is none of them.
func office(head []byte, ext string) string {
	switch {
	case bytes.HasPrefix(head, []byte("%PDF-")), officeByExtension[ext] == kindPDF && bytes.Contains(head[:min(len(head), 1024)], []byte("%PDF-")):
		return kindPDF
	case bytes.HasPrefix(head, []byte("{\\rtf")):
		return kindRTF
	case bytes.HasPrefix(head, []byte("PAR1")):
		return kindParquet
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return packageKind(head, ext)
	}
	return ""
}

// packageKind looks at the members of a zip file that begin in head.
func packageKind(head []byte, ext string) string {
	ooxml := false
	for at := 0; at >= 0 && at+30 < len(head); {
		name, body := member(head[at:])
		switch {
		case name == "mimetype":
			mt, _, _ := strings.Cut(string(body[:min(len(body), 80)]), "PK")
			if kind := officeByMediaType[strings.TrimSpace(mt)]; kind != "" {
				return kind
			}
		case strings.HasPrefix(name, "word/"):
			return kindDOCX
		case strings.HasPrefix(name, "ppt/"):
			return kindPPTX
		case name == "xl/workbook.bin":
			return ""
		case strings.HasPrefix(name, "xl/") && ext != ".xlsb":
			return kindXLSX
		case name == "[Content_Types].xml", strings.HasPrefix(name, "_rels/"):
			ooxml = true
		case name == "META-INF/container.xml" && ext == ".epub":
			return kindEPUB
		}
		next := bytes.Index(head[at+4:], []byte("PK\x03\x04"))
		if next < 0 {
			break
		}
		at += 4 + next
	}
	if ooxml || officeByExtension[ext] != "" && ext != ".pdf" && ext != ".rtf" {
		return officeByExtension[ext]
	}
	return ""
}

// member reads a local header of a zip file: the name, and the bytes of head that follow it.
func member(head []byte) (name string, body []byte) {
	if len(head) < 30 {
		return "", nil
	}
	n, extra := int(binary.LittleEndian.Uint16(head[26:])), int(binary.LittleEndian.Uint16(head[28:]))
	if 30+n > len(head) {
		return "", nil
	}
	return string(head[30 : 30+n]), head[min(len(head), 30+n+extra):]
}
