package integration

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/test/commands"
)

// The command that a Foo's condition names works as it is printed, for a member of the team whose
// kubeconfig is for another namespace.
func TestCommandInTheConditionOfAPausedFoo(t *testing.T) {
	foo := newFoo("team-a", "paused", replicas(1))
	create(t, foo)
	waitReady(t, foo)
	change(t, deploymentOf(t, foo), func(d *appsv1.Deployment) { d.Spec.Paused = true })
	change(t, foo, func(f *v1alpha1.Foo) { f.Spec.Image = "registry.example/web:2" })
	var lines []string
	eventually(t, wait, func(context.Context) error {
		condition := waitFor(t, foo, v1alpha1.FooReady, "False/"+v1alpha1.ReasonProgressing)
		if lines = commands.Of(condition.Message); len(lines) != 1 {
			return fmt.Errorf("the commands %q in %q", lines, condition.Message)
		}
		return nil
	})
	config, err := shared.UserConfig("member", "team-a")
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := t.TempDir() + "/kubeconfig"
	if err := shared.WriteKubeconfig(kubeconfig, config, "default"); err != nil {
		t.Fatal(err)
	}
	if _, stderr, err := shared.Shell(t.Context(), kubeconfig, t.TempDir(), lines[0]); err != nil || stderr != "" {
		t.Errorf("%s: %v %s", lines[0], err, stderr)
	}
	waitReady(t, foo)
}
