package main

import (
	"path/filepath"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/test/demo/internal/tell"
)

// story is what is told, step by step.
func (w *world) story() []tell.Step {
	steps := w.ownCluster()
	if w.options.kubeconfig != "" {
		steps = w.existingCluster()
	}
	steps = append(steps,
		tell.Step{Title: "The admin installs the chart, with two teams", Run: w.install},
		tell.Step{Title: "The operator runs, twice", Run: w.startOperators},
		tell.Step{Title: "Team A applies a Foo", Run: w.applyFoo},
		tell.Step{Title: "What the operator made of it", Run: w.showFoo},
		tell.Step{Title: "Team B is kept out", Run: w.keepOut},
		tell.Step{Title: "Team A scales the Foo", Run: w.scaleFoo},
		tell.Step{Title: "Somebody breaks it by hand, and it is repaired", Run: w.breakFoo},
		tell.Step{Title: "Team A exposes an ordinary Deployment with one annotation", Run: w.exposeDeployment},
		tell.Step{Title: "The Deployment goes, and its load balancer with it", Run: w.releaseDeployment},
		tell.Step{Title: "Team A's next Foo asks for a load balancer", Run: w.exposeFoo},
		tell.Step{Title: "The leader is killed, and the next one takes over", Run: w.killLeader},
		tell.Step{Title: "The lost replica is replaced", Run: w.restoreReplica},
	)
	if w.options.kubeconfig == "" {
		steps = append(steps, tell.Step{Title: "Peace costs nothing: the API server's audit log", Run: w.readAudit})
	}
	return steps
}

// invite says what can be tried while the demonstration stays up.
func (w *world) invite() {
	w.page.Heading("Everything stays up until Ctrl-C. In other shells:")
	w.page.Line("")
	for _, p := range []person{w.admin, w.teamA, w.teamB} {
		if len(p.flags) == 0 {
			w.page.Say("%-7s export KUBECONFIG=%s", p.prompt, p.kubeconfig)
		} else {
			w.page.Say("%-7s export KUBECONFIG=%s  # and: %s", p.prompt, p.kubeconfig, commandLine("kubectl", p.types()...))
		}
	}
	if w.options.kubeconfig == "" {
		w.page.Say("%-7s export PATH=%s:$PATH", "all", filepath.Dir(w.kubectl))
	}
	w.page.Line("")
	w.page.Heading("What to try:")
	w.page.Line("")
	for _, try := range w.suggestions() {
		w.page.Say("%-7s %s", try.who.prompt, commandLine("kubectl", try.who.types(try.args...)...))
		w.page.Say("%-7s %s", "", "  "+try.why)
	}
	w.page.Line("")
	w.page.Heading("Logs are in %s. Ctrl-C ends and removes everything.", filepath.Join(w.dir, "logs"))
}

type suggestion struct {
	who  person
	args []string
	why  string
}

func (w *world) suggestions() []suggestion {
	return []suggestion{
		{w.teamA, []string{"explain", "foo.spec"}, "what a Foo can say"},
		{w.teamA, []string{"apply", "-f", "examples/foo-autoscaled.yaml"}, "a Foo whose number of Pods follows its load"},
		{w.teamA, []string{"patch", "foo", w.foo.Name, "--type=merge", `--patch={"spec":{"replicas":-1}}`}, "refused by the API server, with what to write instead"},
		{w.teamA, []string{"get", "bars", "-n", systemNamespace}, "Forbidden: the system namespace is not the team's"},
		{w.admin, []string{"delete", "bars", "--all", "-n", systemNamespace}, "refused even to the admin: Bars are the operator's"},
		{w.teamA, []string{"annotate", "deployment", fooWithBar, v1alpha1.BarAddressAnnotation + "=203.0.113.66", "--overwrite"}, "put right before you have looked"},
		{w.teamB, []string{"auth", "can-i", "--list", "-n", teamANamespace}, "what team B may do there: what everybody may, which is close to nothing"},
		{w.admin, []string{"delete", "deployment", w.foo.Name, "-n", teamANamespace}, "it is back before you have looked"},
		{w.admin, []string{"rollout", "restart", "deployment", operatorName, "-n", systemNamespace}, "new Pods for the operator, in order: the leader hands over"},
		{w.admin, []string{"get", "lease", "controlee", "-n", systemNamespace, "--watch"}, "who leads"},
	}
}
