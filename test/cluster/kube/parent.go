package main

import (
	"fmt"
	"os"
	"time"
)

// exitWithParent ends the process once the process that started it is gone, so that a test that was killed leaves no
// server behind.
func exitWithParent() {
	parent := os.Getppid()
	for os.Getppid() == parent {
		time.Sleep(500 * time.Millisecond)
	}
	fmt.Fprintf(os.Stderr, "%s: process %d, which started this one, is gone\n", os.Args[0], parent)
	os.Exit(1)
}
