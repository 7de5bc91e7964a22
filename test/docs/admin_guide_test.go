package docs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/test/try"
)

func TestOffBoardingATeam(t *testing.T) {
	commands := open(t, "## Off-boarding a team")
	deployment, service := newDeployment("team-x", "shop", "internal"), newService("team-x", "api", "internal")
	create(t, deployment)
	create(t, service)
	barOf(t, deployment)
	barOf(t, service)

	edit(t, func(tenants map[string]any) { entry(tenants, "team-x")["leaving"] = true })
	commands.run(t, "helm upgrade")
	commands.run(t, "kubectl wait --for=condition=Released")
	nothingLeft(t, "team-x")
	commands.run(t, "kubectl get tenant team-x")
	edit(t, func(tenants map[string]any) { delete(tenants, "team-x") })
	if notes := commands.run(t, "helm upgrade"); !strings.Contains(notes, "- tenant team-x, with namespace team-x: its load balancers were released before.") {
		t.Errorf("the notes do not name the tenant:\n%s", notes)
	}
	for _, object := range []client.Object{
		&networkingv1.NetworkPolicy{ObjectMeta: named("team-x", "controlee-default-deny")},
		&corev1.ResourceQuota{ObjectMeta: named("team-x", "controlee-tenant")},
		&corev1.LimitRange{ObjectMeta: named("team-x", "controlee-tenant")},
		deployment,
	} {
		if !exists(t, object) {
			t.Errorf("%T %s is gone", object, object.GetName())
		}
	}
	commands.run(t, "kubectl delete namespace team-x")
	commands.end(t)
}

func TestEntryTakenOutAtOnce(t *testing.T) {
	commands := open(t, "### When the entry was taken out at once")
	deployment, service := newDeployment("team-y", "shop", "internal"), newService("team-y", "api", "internal")
	create(t, deployment)
	create(t, service)
	barOf(t, deployment)
	barOf(t, service)
	site := newDeployment("team-y", "site", "web")
	create(t, site)
	try.Until(t, wait, func(ctx context.Context) error {
		if n, err := routesIn(ctx, "team-y"); n != 1 {
			return fmt.Errorf("%d routes (%w)", n, err)
		}
		return nil
	})

	edit(t, func(tenants map[string]any) { delete(tenants, "team-y") })
	upgrade(t)
	if out := commands.run(t, "kubectl get bars"); strings.Count(out, "team-y") < 3 {
		t.Errorf("three Bars should be there:\n%s", out)
	}
	for _, kind := range []string{"httproutes", "tcproutes", "tlsroutes", "services"} {
		commands.run(t, "kubectl delete "+kind+" --selector controlee.dev/bar")
	}
	commands.run(t, "kubectl wait --for=condition=Ready=Unknown bars")
	// The Bar's host name is free from here on: whoever gets it must not share it with a route of
	// this team.
	if n, err := routesIn(t.Context(), "team-y"); n != 0 || err != nil {
		t.Errorf("%d routes serve while their Bars are let go of (%v)", n, err)
	}
	commands.run(t, "kubectl delete bars")
	commands.run(t, "kubectl annotate deployments,services --all")
	commands.run(t, "kubectl patch service api")
	nothingLeft(t, "team-y")
	if !exists(t, service) || !exists(t, deployment) {
		t.Error("a source is gone")
	}
	commands.end(t)
}

// upgrade upgrades the release, where a page speaks of an upgrade that somebody has made before.
func upgrade(t *testing.T) {
	t.Helper()
	line := withChart("helm upgrade controlee CHART --namespace controlee-system --values values.yaml")
	if _, stderr, err := shared.Shell(t.Context(), "", folder, line); err != nil || stderr != "" {
		t.Fatal(err, stderr)
	}
}

func TestRenamingATeam(t *testing.T) {
	commands := open(t, "## Renaming a team")
	deployment := newDeployment("team-c", "shop", "edge")
	create(t, deployment)
	before := barOf(t, deployment)
	if out := commands.run(t, "kubectl get bars"); !strings.Contains(out, string(before.UID)) || !strings.Contains(out, before.Status.Addresses[0].Value) {
		t.Errorf("UID and address are not shown:\n%s", out)
	}
	edit(t, func(tenants map[string]any) { entry(tenants, "team-c")["name"] = "team-cc" })
	if notes := commands.run(t, "helm upgrade"); strings.Contains(notes, "This upgrade removes") {
		t.Errorf("the notes take the new name for a removal:\n%s", notes)
	}
	commands.run(t, "kubectl wait --for=condition=Engaged")
	commands.run(t, "kubectl wait --for=jsonpath='{.spec.tenant}'=team-cc")
	if after := keeps(t, deployment, before); after.Spec.Tenant != "team-cc" {
		t.Errorf("the Bar is of tenant %s", after.Spec.Tenant)
	}
	commands.end(t)
}

func TestRemovingAClass(t *testing.T) {
	commands := open(t, "## Removing a class")
	for _, name := range []string{"released", "asked-again"} {
		deployment := newDeployment("team-z", name, "edge")
		create(t, deployment)
		barOf(t, deployment)
	}
	stays := newDeployment("team-z", "stays", "internal")
	create(t, stays)
	before := barOf(t, stays)
	users := commands.run(t, "kubectl get bars")
	if !strings.Contains(users, "team-z/released\n") || !strings.Contains(users, "team-z/asked-again\n") || strings.Contains(users, "team-z/stays") {
		t.Errorf("not who uses the class:\n%s", users)
	}
	edit(t, func(tenants map[string]any) {
		for name := range tenants {
			entry(tenants, name)["allowedBarClasses"] = []any{"internal"}
		}
	})
	commands.run(t, "helm upgrade")
	released := &appsv1.Deployment{ObjectMeta: named("team-z", "released")}
	state(t, released, v1alpha1.ReasonClassNotAllowed+`: your team may no longer use BarClass "edge": the load balancer will be released at `)
	state(t, released, v1alpha1.ReasonClassNotAllowed+`: your team may not use BarClass "edge"`)
	try.Until(t, wait, func(context.Context) error {
		if users := again(t, "## Removing a class", "kubectl get bars"); strings.Contains(users, "team-z") {
			return fmt.Errorf("still in use by:\n%s", users)
		}
		return nil
	})
	keeps(t, stays, before)
	delete(values["barClasses"].(map[string]any), "edge") //nolint:forcetypeassert // made in prepare
	edit(t, func(map[string]any) {})
	commands.run(t, "helm upgrade")
	if out := commands.run(t, "kubectl get barclasses"); strings.Contains(out, "edge") || !strings.Contains(out, "internal") {
		t.Errorf("the classes are\n%s", out)
	}
	keeps(t, stays, before)
	commands.end(t)
}

// again runs the first command of a section that begins so once more.
func again(t *testing.T, heading, begins string) string {
	t.Helper()
	lines := open(t, heading).lines
	first := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, begins) })
	return (&section{lines[first:]}).run(t, begins)
}

func TestRestoringABackup(t *testing.T) {
	commands := open(t, "## Restoring a backup")
	deployment := newDeployment("team-r", "shop", "internal")
	create(t, deployment)
	foo := &v1alpha1.Foo{ObjectMeta: named("team-r", "hello"), Spec: v1alpha1.FooSpec{Image: "registry.example/web:1"}}
	create(t, foo)
	before := barOf(t, deployment)
	if contested := commands.run(t, "kubectl get tenants"); strings.Contains(contested, "team-r: team-r") || !strings.Contains(contested, "team-r: \n") {
		t.Errorf("not the contested namespaces:\n%s", contested)
	}
	commands.run(t, "kubectl get tenant team-r")
	commands.run(t, "kubectl get foos")
	commands.run(t, "kubectl get deployments")

	commands.end(t)

	t.Run("in the cluster that it is from", func(t *testing.T) {
		commands := open(t, "### In the cluster that it is from")
		remove(t, &v1alpha1.Tenant{ObjectMeta: named(systemNamespace, "team-r")})
		lost(t, before)
		commands.run(t, "kubectl create")
		commands.run(t, "kubectl wait --for=condition=Engaged")
		keeps(t, deployment, before)
		commands.end(t)
	})
	t.Run("in a new cluster", func(t *testing.T) {
		commands := open(t, "### In a new cluster")
		// As if the cluster had none of them.
		remove(t, deployment)
		remove(t, foo)
		nothingLeft(t, "team-r")
		commands.run(t, "helm upgrade --install")
		commands.run(t, "kubectl create")
		commands.run(t, "kubectl wait --for=condition=Ready foos")
		restored := &appsv1.Deployment{ObjectMeta: named("team-r", "shop")}
		if after := barOf(t, restored); after.UID == before.UID {
			t.Error("the Bar of a source that was deleted is still there")
		}
		commands.end(t)
	})
}

// remove deletes an object, and waits until it is gone.
func remove(t *testing.T, object client.Object) {
	t.Helper()
	if err := admin.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	try.Until(t, wait, func(context.Context) error {
		if exists(t, object) {
			return fmt.Errorf("%s is still there", object.GetName())
		}
		return nil
	})
}

// lost waits until a Bar says that its namespace is lost.
func lost(t *testing.T, bar *v1alpha1.Bar) {
	t.Helper()
	try.Until(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(bar), bar); err != nil {
			return err
		}
		condition := meta.FindStatusCondition(bar.Status.Conditions, v1alpha1.BarReady)
		if condition == nil || condition.Reason != v1alpha1.ReasonNamespaceLost {
			return fmt.Errorf("the Bar says %+v", condition)
		}
		return nil
	})
}
