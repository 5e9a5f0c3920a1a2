// Package pagelayout finds the structure of pages of which only the places of their text are known: lines, columns, reading order,
// headings, lists, tables, notes, and what merely furnishes the page. It knows nothing of the format that the pages come from.
package pagelayout

import "github.com/kbsync/kbsync/connector"

// Run is text of one font on one line, in the order in which the page draws it.
type Run struct {
	// Text may start or end with a space. A hyphen at the end of a line arrives as U+0002 at its end.
	Text         string
	Box          connector.Box
	Font         string
	Size         float64 // in points, as shown
	Bold, Italic bool
	// Link is where the text leads; empty for most.
	Link string
	// Vertical says that the text is written from above; its columns follow each other from the right.
	Vertical bool
}

// Rule is a drawn line, or one side of a drawn rectangle.
type Rule struct{ X0, Y0, X1, Y1 float64 }

// Page is what stands on one page. Places are in points from the upper left corner as a reader sees it.
type Page struct {
	Number        int // from 1
	Width, Height float64
	Runs          []Run
	Rules         []Rule
	Images        []connector.Box
	// Dropped is what the page's format does not let one read.
	Dropped []Dropped
}

// Dropped is what is left out of a page, and why.
type Dropped struct {
	Reason connector.DropReason
	Text   string
}

// Entry is a bookmark.
type Entry struct {
	Title string
	Level int // from 1
	Page  int // from 1; 0 where it leads to none
}
