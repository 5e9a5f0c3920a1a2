package azblob

import (
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/objects/objectstest"
	"github.com/kbsync/kbsync/internal/servers"
)

// TestFaults shares one server.
func TestFaults(t *testing.T) {
	server := servers.Start(t, "azurite")
	objectstest.Run(t, objectstest.Store{
		New:    func(tb testing.TB) *objectstest.Rig { return newRig(tb, server.Addr).shared() },
		AnyKey: true, ListsMetadata: true, Metadata: map[string]string{"Owner": "Zoe", "teamName": "docs"},
		NoListing: []string{
			"<EnumerationResults/>", "<?xml version='1.0'?><EnumerationResults><Blobs><Blob><Name>a</Name></Blob></Blobs></EnumerationResults>",
			"<?xml version='1.0'?><EnumerationResults><Blobs><Blob><Name>a</Name>",
		},
		ListingType: "application/xml",
		Throttled: map[string]objectstest.Fault{
			"ServerBusy": refusal(503, "ServerBusy", "try later", "", "Retry-After", "7"),
			"bare 503":   objectstest.Answer(503, "text/html", "<html><body>overloaded</body></html>", "Retry-After", "7"),
			"429":        objectstest.Answer(429, "text/plain", "slowly", "Retry-After", "7"),
		},
		Expired: objectstest.Refusal{
			Fault: refusal(403, "AuthenticationFailed", "Server failed to authenticate the request.\nRequestId:1", "Signature not valid in the specified time frame"),
			Says:  []string{"not valid in the specified time frame"},
		},
		Denied: objectstest.Refusal{
			Fault: refusal(403, "AuthorizationPermissionMismatch", "This request is not authorized to perform this operation using this permission.", ""),
			Says:  []string{"Storage Blob Data Reader"},
		},
	})
	for name, test := range map[string]func(*testing.T, *rig){
		"folders of Data Lake Storage, and what is no blob": noBlobs,
		"a shared access signature":                         signature,
		"connection strings":                                connectionString,
		"no reading is conditional":                         unconditional,
		"tags":                                              tags,
		"archived blobs":                                    archived,
	} {
		t.Run(name, func(t *testing.T) { test(t, newRig(t, server.Addr)) })
	}
}

// refusal is an error as Azure writes it.
func refusal(status int, code, message, detail string, pairs ...string) objectstest.Fault {
	body := fmt.Sprintf("<?xml version='1.0' encoding='utf-8'?><Error><Code>%s</Code><Message>%s</Message><AuthenticationErrorDetail>%s</AuthenticationErrorDetail></Error>", code, message, detail)
	return objectstest.Answer(status, "application/xml", body, append([]string{"x-ms-error-code", code}, pairs...)...)
}

// noBlobs: beside the markers that every store has, Azure has folders, blobs that were begun, and snapshots.
func noBlobs(t *testing.T, r *rig) {
	for _, key := range []string{"a/b/file.md", "empty.md"} {
		r.Put(t, key, nil)
	}
	if _, err := r.Client.NewBlockBlobClient("staged.md").StageBlock(t.Context(), "AAAA", streaming.NopCloser(strings.NewReader("x")), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Client.NewBlobClient("a/b/file.md").CreateSnapshot(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	// What Data Lake Storage, Hadoop and blobfuse leave behind for a folder.
	for _, key := range []string{"a", "a/b"} {
		r.Put(t, key, nil, objectstest.Attributes{Metadata: map[string]string{"hdi_isfolder": "true"}})
	}
	if got := objectstest.Paths(objectstest.List(t, r.open(t))); got != "a/b/file.md empty.md" {
		t.Errorf("listed: %s", got)
	}
}

func archived(t *testing.T, r *rig) {
	r.Put(t, "a.md", []byte("x"))
	d := objectstest.One(t, r.open(t))
	r.proxy.Set(refusal(409, "BlobArchived", "This operation is not permitted on an archived blob.", ""))
	objectstest.WantClass(t, objectstest.OpenFails(t, d), connector.ClassDenied, "rehydrate")
}
