package integration

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/claim"
	"github.com/controlee/controlee/test/commands"
)

// untilLost is more than the 30 seconds after which a Bar says that its namespace is lost.
const untilLost = 75 * time.Second

// outages are the times in which tests took rights away from the operator everywhere: what it was
// denied then says nothing.
var outages [][2]time.Time

func inOutage(at time.Time) bool {
	for _, outage := range outages {
		if at.After(outage[0]) && at.Before(outage[1]) {
			return true
		}
	}
	return false
}

// contest gives a host name to the Service of one namespace, while that of another one waits for
// it.
func contest(t *testing.T, name, ownerNamespace, rivalNamespace string) (owner, rival *corev1.Service, route *unstructured.Unstructured) {
	t.Helper()
	needBarClasses(t)
	owner, rival = newService(ownerNamespace, name, webClass), newService(rivalNamespace, name, webClass)
	create(t, owner)
	route = waitRoute(t, owner, v1alpha1.HTTPRouteKind)
	answerRoute(t, route, metav1.ConditionTrue, "Accepted", "")
	waitAddress(t, owner, name+".apps.example.com")
	create(t, rival)
	waitState(t, rival, "Failed: the host name "+name+".apps.example.com belongs to another load balancer")
	return owner, rival, route
}

// routesOf gives the routes that were made for a source.
func routesOf(ctx context.Context, source client.Object) ([]unstructured.Unstructured, error) {
	list := routeList(v1alpha1.HTTPRouteKind)
	err := admin.List(ctx, list, client.InNamespace(source.GetNamespace()), client.MatchingLabels{v1alpha1.BarLabel: barKey(source).Name})
	return list.Items, err
}

// mustOwn checks that the owner's route is the one that it was, and that the rival has none.
func mustOwn(route *unstructured.Unstructured, owner, rival client.Object) func(context.Context) error {
	return func(ctx context.Context) error {
		kept, err := routesOf(ctx, owner)
		if err != nil {
			return err
		}
		others, err := routesOf(ctx, rival)
		if err != nil {
			return err
		}
		if len(kept) != 1 || kept[0].GetUID() != route.GetUID() || len(others) != 0 {
			return fmt.Errorf("the owner has %d routes, the rival %d", len(kept), len(others))
		}
		return nil
	}
}

// waitLost waits until a source's Bar says that its namespace is lost, and checks something all the
// time.
func waitLost(t *testing.T, source client.Object, check func(context.Context) error) *v1alpha1.Bar {
	t.Helper()
	bar := &v1alpha1.Bar{}
	eventually(t, untilLost, func(ctx context.Context) error {
		if err := check(ctx); err != nil {
			t.Fatal(err)
		}
		if err := admin.Get(ctx, barKey(source), bar); err != nil {
			t.Fatal(err)
		}
		ready := meta.FindStatusCondition(bar.Status.Conditions, v1alpha1.BarReady)
		if bar.Status.Phase != v1alpha1.PhaseFailed || ready.Status != metav1.ConditionUnknown || ready.Reason != v1alpha1.ReasonNamespaceLost {
			return fmt.Errorf("phase %s, condition %+v", bar.Status.Phase, ready)
		}
		return nil
	})
	if bar.Spec.Release || len(bar.Status.Targets) != 1 || len(bar.Status.Addresses) != 1 {
		t.Errorf("a Bar that is kept: %+v", bar)
	}
	return bar
}

// A tenant that is taken out of the values keeps its host name as long as its route serves, whoever
// waits for it, and gets it back when it returns. An admin can let go of it.
func TestHostnameOfATenantThatGoes(t *testing.T) {
	withOwner, without := tenants(), tenants()
	for _, name := range []string{"owner", "claimant"} {
		tenant := newTenant(name, "host-"+name)
		tenant["allowedBarClasses"] = barClassNames()
		withOwner = append(withOwner, tenant)
		if name == "claimant" {
			without = append(without, tenant)
		}
	}
	upgrade := func(ctx context.Context, list []map[string]any) {
		t.Helper()
		if err := shared.UpgradeChart(ctx, release(list...)); err != nil {
			t.Fatal(err)
		}
	}
	upgrade(t.Context(), withOwner)
	t.Cleanup(func() { upgrade(context.Background(), tenants()) })
	waitEngaged(t, "owner", metav1.ConditionTrue, v1alpha1.ReasonEngaged)
	waitEngaged(t, "claimant", metav1.ConditionTrue, v1alpha1.ReasonEngaged)
	owner, rival, route := contest(t, "pay", "host-owner", "host-claimant")
	kept := mustOwn(route, owner, rival)
	before := &v1alpha1.Bar{}
	if err := admin.Get(t.Context(), barKey(owner), before); err != nil {
		t.Fatal(err)
	}

	upgrade(t.Context(), without)
	bar := waitLost(t, owner, kept)
	ready := meta.FindStatusCondition(bar.Status.Conditions, v1alpha1.BarReady)
	letGo := commands.Of(ready.Message)
	if bar.UID != before.UID || len(letGo) != 1 {
		t.Fatalf("Bar %s, before %s, names the commands %q: %s", bar.UID, before.UID, letGo, ready.Message)
	}
	leader := waitForLeader(t)
	leader.Kill()
	restart(t, leader)
	waitForLeader(t)
	always(t, 5*time.Second, kept)

	upgrade(t.Context(), withOwner)
	waitEngaged(t, "owner", metav1.ConditionTrue, v1alpha1.ReasonEngaged)
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, barKey(owner), bar); err != nil {
			return err
		}
		if bar.UID != before.UID || bar.Status.Phase != v1alpha1.PhaseReady {
			return fmt.Errorf("Bar %s, before %s: %+v", bar.UID, before.UID, bar.Status)
		}
		return nil
	})
	waitAddress(t, owner, "pay.apps.example.com")
	always(t, 2*time.Second, kept)

	upgrade(t.Context(), without)
	waitLost(t, owner, kept)
	if err := admin.Delete(t.Context(), route); err != nil { // the operator may not, so the lock does not hold
		t.Fatal(err)
	}
	always(t, 2*time.Second, func(ctx context.Context) error {
		if got, err := routesOf(ctx, rival); err != nil || len(got) != 0 {
			return fmt.Errorf("the operator gave away a name that it cannot know to be free: %d routes, %w", len(got), err)
		}
		return nil
	})
	if out, stderr, err := shared.Shell(t.Context(), "", t.TempDir(), letGo[0]); err != nil || stderr != "" {
		t.Fatalf("%s: %v: %s%s", letGo[0], err, out, stderr)
	}
	answerRoute(t, waitRoute(t, rival, v1alpha1.HTTPRouteKind), metav1.ConditionTrue, "Accepted", "")
	waitAddress(t, rival, "pay.apps.example.com")
}

// The ClusterRole of all tenant namespaces is missing for longer than the grace period: nobody
// loses anything.
func TestClusterRoleMissing(t *testing.T) {
	owner, rival, route := contest(t, "roleless", "bar-host", "bar-rival")
	bystander := newDeployment("claim-sweep", "bystander", internalClass)
	create(t, bystander)
	barBefore, serviceBefore := waitExposed(t, bystander)

	role := &rbacv1.ClusterRole{}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: "controlee-operator-tenant"}, role); err != nil {
		t.Fatal(err)
	}
	outages = append(outages, [2]time.Time{time.Now(), time.Now().Add(time.Hour)})
	if err := admin.Delete(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	again := func(ctx context.Context) error {
		role.ResourceVersion, role.UID = "", ""
		return client.IgnoreAlreadyExists(admin.Create(ctx, role))
	}
	t.Cleanup(func() { _ = again(context.Background()) })
	kept := mustOwn(route, owner, rival)
	// The watches go on, so only a write tells that the right is gone.
	change(t, owner, func(s *corev1.Service) { s.Spec.Ports[0].Port = 8081 })
	change(t, bystander, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Ports[0].ContainerPort = 8081 })
	waitLost(t, owner, kept)
	waitLost(t, bystander, kept)
	if err := again(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tenant := range []string{"bars", "rivals", "claims", "suite"} {
		waitEngaged(t, tenant, metav1.ConditionTrue, v1alpha1.ReasonEngaged)
	}
	outages[len(outages)-1][1] = time.Now()
	eventually(t, wait, func(ctx context.Context) error { // the port has changed, so the Gateway answers anew
		before := route.GetGeneration()
		if err := admin.Get(ctx, client.ObjectKeyFromObject(route), route); err != nil || route.GetGeneration() > before {
			return err
		}
		return errors.New("the route has the old port")
	})
	answerRoute(t, route, metav1.ConditionTrue, "Accepted", "")
	waitState(t, owner, string(v1alpha1.PhaseReady))
	waitState(t, rival, "Failed: the host name roleless.apps.example.com belongs to another load balancer")
	always(t, 3*time.Second, kept)
	barAfter, serviceAfter := waitExposed(t, bystander)
	if barAfter.UID != barBefore.UID || serviceAfter.UID != serviceBefore.UID {
		t.Errorf("made anew: Bar %s, %s; Service %s, %s", barBefore.UID, barAfter.UID, serviceBefore.UID, serviceAfter.UID)
	}
}

// A Bar is deleted by force while a rival waits for its host name: the route has the name, so its
// owner gets the new Bar.
func TestBarDeletedByForceWithARival(t *testing.T) {
	owner, rival, route := contest(t, "forced", "bar-host", "bar-rival")
	kept := mustOwn(route, owner, rival)
	glass := firefighter(t)
	for range 5 {
		bar := &v1alpha1.Bar{}
		if err := admin.Get(t.Context(), barKey(owner), bar); err != nil {
			t.Fatal(err)
		}
		if err := glass.Delete(t.Context(), bar); err != nil {
			t.Fatal(err)
		}
		eventually(t, wait, func(ctx context.Context) error {
			if err := kept(ctx); err != nil {
				t.Fatal(err)
			}
			now := &v1alpha1.Bar{}
			if err := admin.Get(ctx, barKey(owner), now); err != nil {
				return err
			}
			if now.UID == bar.UID || now.Status.Phase != v1alpha1.PhaseReady {
				return fmt.Errorf("Bar %s, before %s: %+v", now.UID, bar.UID, now.Status)
			}
			return nil
		})
	}
	always(t, 2*time.Second, kept)
}

// useNamespaceRight makes the operator look whether a namespace is gone.
func useNamespaceRight(t *testing.T) {
	t.Helper()
	bar := &v1alpha1.Bar{
		ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: claim.BarName(v1alpha1.SourceService, "nowhere", "web")},
		Spec: v1alpha1.BarSpec{
			SourceRef: v1alpha1.BarSourceReference{Kind: v1alpha1.SourceService, Namespace: "nowhere", Name: "web", UID: "none"},
			Tenant:    "suite", ClassName: internalClass, Ports: []v1alpha1.BarPort{{Port: 80}},
		},
	}
	if err := firefighter(t).Create(t.Context(), bar); err != nil {
		t.Fatal(err)
	}
	eventually(t, wait, func(ctx context.Context) error {
		err := admin.Get(ctx, client.ObjectKeyFromObject(bar), bar)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("the Bar of a namespace that does not exist is still there"))
	})
}
