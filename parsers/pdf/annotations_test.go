package pdf

import (
	"fmt"
	"testing"
)

// TestAnnotations: what fields hold is text at its place, what reviewers say is told and left out.
func TestAnnotations(t *testing.T) {
	b := newBuilder()
	field := b.add("<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Ann Smith) /Rect [120 696 300 712] >>")
	box := b.add("<< /Type /Annot /Subtype /FreeText /Contents <FEFF8BF7586B519960A8768459D3540D3002> /DA (/F1 10 Tf) /Rect [60 596 300 612] >>")
	note := b.add("<< /Type /Annot /Subtype /Text /Contents (Is this right?) /Rect [500 700 520 720] >>")
	check := b.add("<< /Type /Annot /Subtype /Widget /FT /Btn /T (agreed) /V /Yes /Rect [60 500 70 510] >>")
	b.pageWith(put("F1", 10, 60, 700, "Full name:")+put("F1", 10, 60, 400, "The end of the form."),
		fmt.Sprintf("/MediaBox [0 0 600 800] /Annots [%d 0 R %d 0 R %d 0 R %d 0 R 999 0 R null]", field, box, note, check))
	want := "1 markup comment: Is this right?\n1 text: Full name: Ann Smith\n1 text: 请填写您的姓名。\n1 text: The end of the form.\n"
	if got := show(collect(t, opener(t)(), b.bytes())); got != want {
		t.Errorf("got %s", got)
	}
}
