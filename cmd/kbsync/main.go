// Command kbsync keeps vector databases in step with documents. It is a thin layer over connector/pipeline: flags,
// signals and printing.
package main

import (
	"os"
)

func main() { os.Exit(run(os.Args[1:])) }
