// Command diagram draws the phases of a Bar from the table that the code and the CRD keep.
package main

import (
	"bufio"
	"fmt"
	"os"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

const head = `# Phases of a Bar

Drawn by ` + "`make generate`" + ` from the table in ` + "`pkg/api/v1alpha1/phase.go`" + `. The CRD holds the same table as a rule: the API server refuses every
other change, whoever makes it.

` + "```mermaid" + `
stateDiagram-v2
`

func main() {
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprint(out, head)
	for _, from := range append([]v1alpha1.BarPhase{""}, v1alpha1.Phases()...) {
		successors := v1alpha1.Successors(from)
		for _, to := range successors {
			fmt.Fprintf(out, "    %s --> %s\n", name(from), to)
		}
		if len(successors) == 0 {
			fmt.Fprintf(out, "    %s --> [*]\n", from)
		}
	}
	fmt.Fprintln(out, "```")
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// name gives Mermaid's name for the beginning to a Bar without a phase.
func name(phase v1alpha1.BarPhase) string {
	if phase == "" {
		return "[*]"
	}
	return string(phase)
}
