package bar

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/retry"
	"github.com/controlee/controlee/test/try"
)

// newNamespace makes a namespace for one test.
func newNamespace(t *testing.T, name string) string {
	t.Helper()
	if err := server.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Fatal(err)
	}
	return name
}

// newBar makes a Bar of a Deployment, as the claim controller does.
func newBar(t *testing.T, namespace, name, class string) *v1alpha1.Bar {
	t.Helper()
	bar := &v1alpha1.Bar{
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: namespace + "-" + name},
		Spec: v1alpha1.BarSpec{
			SourceRef: v1alpha1.BarSourceReference{
				APIGroup: "apps", Kind: v1alpha1.SourceDeployment, Namespace: namespace, Name: name, UID: types.UID("uid-" + namespace + "-" + name),
			},
			Tenant: "tenant", ClassName: class,
			Ports:    []v1alpha1.BarPort{{Port: 80}},
			Selector: map[string]string{"app": name},
		},
	}
	if err := server.Create(t.Context(), bar); err != nil {
		t.Fatal(err)
	}
	return bar
}

// reload reads a Bar and says whether it is there.
func reload(t *testing.T, bar *v1alpha1.Bar) bool {
	t.Helper()
	err := server.Get(t.Context(), client.ObjectKeyFromObject(bar), bar)
	if apierrors.IsNotFound(err) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}

// change changes the spec of a Bar, as the claim controller does.
func change(t *testing.T, bar *v1alpha1.Bar, change func(*v1alpha1.BarSpec)) {
	t.Helper()
	reload(t, bar)
	change(&bar.Spec)
	if err := server.Update(t.Context(), bar); err != nil {
		t.Fatal(err)
	}
}

func toClass(name string) func(*v1alpha1.BarSpec) {
	return func(spec *v1alpha1.BarSpec) { spec.ClassName = name }
}

func released(spec *v1alpha1.BarSpec) { spec.Release = true }

// reconcileOnce gives the error of one reconcile.
func reconcileOnce(r *Reconciler, bar *v1alpha1.Bar) error {
	_, err := retry.OnConflict(r).Reconcile(context.Background(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(bar)})
	return err
}

// settle reconciles until a round changes nothing.
func settle(t *testing.T, r *Reconciler, bar *v1alpha1.Bar) {
	t.Helper()
	for range 10 {
		before := bar.ResourceVersion
		if err := reconcileOnce(r, bar); err != nil {
			t.Fatal(err)
		}
		if !reload(t, bar) || bar.ResourceVersion == before {
			return
		}
	}
	t.Fatalf("does not settle: %+v", bar.Status)
}

// expect checks the phase and the reason.
func expect(t *testing.T, bar *v1alpha1.Bar, phase v1alpha1.BarPhase, reason string) {
	t.Helper()
	reload(t, bar)
	ready := meta.FindStatusCondition(bar.Status.Conditions, v1alpha1.BarReady)
	if bar.Status.Phase != phase || ready == nil || ready.Reason != reason {
		t.Fatalf("phase %s, condition %+v; want %s with %s", bar.Status.Phase, ready, phase, reason)
	}
}

// services gives the Services that were made in a namespace.
func services(t *testing.T, namespace string) []corev1.Service {
	t.Helper()
	list := &corev1.ServiceList{}
	if err := server.List(t.Context(), list, client.InNamespace(namespace), client.HasLabels{v1alpha1.BarLabel}); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func routes(t *testing.T, namespace string) []unstructured.Unstructured {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("gateway.networking.k8s.io/v1")
	list.SetKind("HTTPRouteList")
	if err := server.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// playGateway answers to all routes of a namespace as a Gateway's controller does.
func playGateway(t *testing.T, namespace string, status metav1.ConditionStatus, reason, message string) {
	t.Helper()
	for _, route := range routes(t, namespace) {
		condition := map[string]any{
			"type": "Accepted", "status": string(status), "reason": reason, "message": message,
			"observedGeneration": route.GetGeneration(), "lastTransitionTime": "2030-01-01T00:00:00Z",
		}
		parents := []any{map[string]any{
			"controllerName": "example.com/gateway",
			"parentRef":      map[string]any{"namespace": "infra", "name": "public"},
			"conditions":     []any{condition},
		}}
		if err := unstructured.SetNestedSlice(route.Object, parents, "status", "parents"); err != nil {
			t.Fatal(err)
		}
		if err := server.Status().Update(t.Context(), &route); err != nil {
			t.Fatal(err)
		}
	}
}

// playCloud gives an address to the load balancers of a namespace.
func playCloud(t *testing.T, namespace, ip string) {
	t.Helper()
	list := services(t, namespace)
	for i := range list {
		if list[i].Spec.Type != corev1.ServiceTypeLoadBalancer {
			continue
		}
		list[i].Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: ip}}
		if err := server.Status().Update(t.Context(), &list[i]); err != nil {
			t.Fatal(err)
		}
	}
}

// picture draws what there is of a Bar, without what differs from run to run.
func picture(t *testing.T, bar *v1alpha1.Bar) (lines []string) {
	t.Helper()
	namespace := bar.Spec.SourceRef.Namespace
	if reload(t, bar) {
		lines = append(lines, "phase "+string(bar.Status.Phase))
		for _, target := range bar.Status.Targets {
			lines = append(lines, fmt.Sprintf("target %s of %s: %s, serving %v", target.Kind, target.ClassName, target.State, target.Serving))
		}
		for _, condition := range bar.Status.Conditions {
			lines = append(lines, fmt.Sprintf("condition %s %s", condition.Status, condition.Reason))
		}
	}
	var objects []string
	for _, service := range services(t, namespace) {
		objects = append(objects, fmt.Sprintf("service %s of %s", service.Spec.Type, targetClass(bar, service.UID)))
	}
	for _, route := range routes(t, namespace) {
		objects = append(objects, "route of "+targetClass(bar, route.GetUID()))
	}
	slices.Sort(objects)
	return append(lines, objects...)
}

func targetClass(bar *v1alpha1.Bar, uid types.UID) string {
	for _, target := range bar.Status.Targets {
		if target.UID == uid {
			return target.ClassName
		}
	}
	return "nobody"
}

func requestFor(bar *v1alpha1.Bar) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(bar)}
}

// refusedAtLeast is the least time between two tries of something that was refused.
const refusedAtLeast = 30 * time.Second

func waitUntil(t *testing.T, done func() bool) {
	t.Helper()
	try.Until(t, 30*time.Second, func(context.Context) error {
		if !done() {
			return errors.New("it is not so yet")
		}
		return nil
	})
}
