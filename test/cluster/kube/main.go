// Command controlee-kube is a whole Kubernetes control plane in one program, for tests and demonstrations.
//
// It acts as the program that it is called by (a symbolic link named kube-apiserver is a kube-apiserver) or, under its
// own name, as its first argument says; "controlee-kube programs" lists what it can be. One program links once where
// six would link six times; what it runs is upstream's code, unchanged.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	name := filepath.Base(os.Args[0])
	if _, ok := programs[name]; !ok && len(os.Args) > 1 {
		name = os.Args[1]
		os.Args = os.Args[1:]
	}
	names := slices.Sorted(maps.Keys(programs))
	if name == "programs" {
		fmt.Println(strings.Join(names, "\n"))
		return
	}
	run, ok := programs[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "usage: controlee-kube PROGRAM [ARGUMENT...]\nprograms: %s\n", strings.Join(names, " "))
		os.Exit(2)
	}
	// Every command line parser below reads os.Args and names itself by its first word.
	os.Args[0] = name
	go exitWithParent()
	os.Exit(run())
}
