package detect

import (
	"bytes"
	"strings"
)

const zip, ole = "application/zip", "application/x-ole-storage"

// magic is the start of the files of a binary format.
type magic struct {
	prefix    string
	mediaType string
}

// magics are the formats that are known by their first bytes. The prefixes are long enough, or odd enough, that no text starts so.
var magics = []magic{
	{"PK\x03\x04", zip}, {"PK\x05\x06", zip},
	{"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", ole},
	{"\x89PNG\r\n\x1A\n", "image/png"}, {"\xFF\xD8\xFF", "image/jpeg"}, {"GIF87a", "image/gif"}, {"GIF89a", "image/gif"},
	{"II*\x00", "image/tiff"}, {"MM\x00*", "image/tiff"}, {"8BPS", "image/vnd.adobe.photoshop"},
	{"\x1F\x8B", "application/gzip"}, {"BZh91AY&SY", "application/x-bzip2"}, {"\xFD7zXZ\x00", "application/x-xz"}, {"\x28\xB5\x2F\xFD", "application/zstd"},
	{"7z\xBC\xAF\x27\x1C", "application/x-7z-compressed"}, {"Rar!\x1A\x07", "application/vnd.rar"},
	{"\x7FELF", "application/x-executable"}, {"MZ\x90\x00", "application/x-msdownload"}, {"\xCF\xFA\xED\xFE", "application/x-mach-binary"}, {"\xCA\xFE\xBA\xBE", "application/java-vm"},
	{"\x00asm", "application/wasm"}, {"SQLite format 3\x00", "application/vnd.sqlite3"},
	{"OggS\x00", "audio/ogg"}, {"fLaC\x00", "audio/flac"}, {"ID3\x02", "audio/mpeg"}, {"ID3\x03", "audio/mpeg"}, {"ID3\x04", "audio/mpeg"},
	{"\x1A\x45\xDF\xA3", "video/webm"}, {"wOFF", "font/woff"}, {"wOF2", "font/woff2"}, {"\x00\x01\x00\x00\x00", "font/ttf"}, {"OTTO\x00", "font/otf"},
	{"!<arch>\n", "application/x-archive"}, {"\xED\xAB\xEE\xDB", "application/x-rpm"},
}

// sniff knows binary formats by their first bytes; "" if head is none of them.
func sniff(head []byte) string {
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.prefix)) {
			return m.mediaType
		}
	}
	switch {
	case len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP":
		return "image/webp"
	case len(head) >= 12 && string(head[:4]) == "RIFF" && (string(head[8:12]) == "WAVE" || string(head[8:12]) == "AVI "):
		return "audio/x-" + strings.ToLower(strings.TrimSpace(string(head[8:12])))
	case len(head) >= 12 && string(head[4:8]) == "ftyp" && head[0] == 0:
		return "video/mp4"
	case len(head) >= 262 && string(head[257:262]) == "ustar":
		return "application/x-tar"
	case len(head) > 2*188 && head[0] == 0x47 && head[188] == 0x47 && head[2*188] == 0x47 && bytes.IndexByte(head[:188], 0xFF) >= 0:
		return "video/mp2t" // shares its extension with TypeScript
	}
	return ""
}

// refine names the format of a container by the extension that it usually goes with.
func refine(mediaType, ext string) string {
	if mediaType == ole && officeByExtension[ext] != "" {
		return encryptedOffice
	}
	if by, ok := skipByExtension[ext]; ok && (mediaType == zip || mediaType == ole || mediaType == "video/mp4" || mediaType == "application/gzip") {
		return by
	}
	return mediaType
}

// skipByExtension are the extensions of formats that no parser reads yet.
var skipByExtension = map[string]string{
	".xlsb": "application/vnd.ms-excel.sheet.binary.macroEnabled.12",
	".doc":  "application/msword", ".xls": "application/vnd.ms-excel", ".ppt": "application/vnd.ms-powerpoint", ".msg": "application/vnd.ms-outlook", ".mobi": "application/x-mobipocket-ebook", ".djvu": "image/vnd.djvu", ".chm": "application/vnd.ms-htmlhelp",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".bmp": "image/bmp", ".ico": "image/x-icon", ".tif": "image/tiff",
	".tiff": "image/tiff", ".heic": "image/heic", ".avif": "image/avif", ".psd": "image/vnd.adobe.photoshop", ".eps": "application/postscript",
	".mp3": "audio/mpeg", ".wav": "audio/x-wav", ".ogg": "audio/ogg", ".flac": "audio/flac", ".m4a": "audio/mp4", ".aac": "audio/aac", ".opus": "audio/opus",
	".mp4": "video/mp4", ".mkv": "video/x-matroska", ".mov": "video/quicktime", ".avi": "video/x-msvideo", ".webm": "video/webm", ".wmv": "video/x-ms-wmv", ".flv": "video/x-flv", ".m2ts": "video/mp2t",
	".jar": "application/java-archive", ".xz": "application/x-xz",
	".7z": "application/x-7z-compressed", ".rar": "application/vnd.rar", ".iso": "application/x-iso9660-image", ".whl": "application/x-python-wheel", ".apk": "application/vnd.android.package-archive",
	".exe": "application/x-msdownload", ".dll": "application/x-msdownload", ".so": "application/x-sharedlib", ".dylib": "application/x-mach-binary", ".class": "application/java-vm", ".pyc": "application/x-python-code",
	".wasm": "application/wasm", ".avro": "application/avro", ".sqlite": "application/vnd.sqlite3", ".sqlite3": "application/vnd.sqlite3", ".npy": "application/x-npy",
	".woff": "font/woff", ".woff2": "font/woff2", ".ttf": "font/ttf", ".otf": "font/otf", ".eot": "application/vnd.ms-fontobject", ".ds_store": "application/octet-stream",
}
