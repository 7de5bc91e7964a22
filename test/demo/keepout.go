package main

import "context"

// keepOut has a user of team B try.
func (w *world) keepOut(ctx context.Context) error {
	w.page.Say("%s of %s is an editor too, but of another namespace.", userOfTeamB, groupOfTeamB)
	for _, args := range [][]string{
		{"get", "foos", "-n", teamANamespace},
		{"scale", "foo", w.foo.Name, "--replicas=0", "-n", teamANamespace},
		{"delete", "deployment", w.foo.Name, "-n", teamANamespace},
		{"get", "foos", "--all-namespaces"},
	} {
		if err := w.refused(ctx, w.teamB, args...); err != nil {
			return err
		}
	}
	return w.run(ctx, w.teamB, "get", "foos")
}
