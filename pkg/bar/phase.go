package bar

import (
	"slices"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// way gives the phases to write, one after the other, to get from one to another as the table of phases allows: the shortest way, without
// the first phase. It is empty where the phase is kept, and where no way leads, which the API server then says.
func way(from, to v1alpha1.BarPhase) []v1alpha1.BarPhase {
	if from == to {
		return nil
	}
	ways := [][]v1alpha1.BarPhase{{from}}
	seen := map[v1alpha1.BarPhase]bool{from: true}
	for len(ways) > 0 {
		walked := ways[0]
		ways = ways[1:]
		for _, next := range v1alpha1.Successors(walked[len(walked)-1]) {
			if seen[next] {
				continue
			}
			seen[next] = true
			further := append(slices.Clone(walked), next)
			if next == to {
				return further[1:]
			}
			ways = append(ways, further)
		}
	}
	return nil
}
