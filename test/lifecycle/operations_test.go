package lifecycle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/test/cluster"
	"github.com/controlee/controlee/test/try"
)

// leader returns the operator that holds the Lease, nil if none does.
func leader(ctx context.Context, w *world) *cluster.OperatorProcess {
	lease := &coordinationv1.Lease{}
	if err := admin.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: "controlee"}, lease); err != nil {
		return nil
	}
	pod, _, _ := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
	for _, process := range w.operators {
		if process.PodName == pod && process.Running() {
			return process
		}
	}
	return nil
}

func killLeader(t *testing.T, w *world, g *guard, _ *rand.Rand) {
	t.Helper()
	g.pause()
	if process := leader(t.Context(), w); process != nil {
		process.Kill()
	}
}

func removeOrAddTenant(t *testing.T, w *world, _ *guard, random *rand.Rand) {
	t.Helper()
	missing := newWorld().tenants
	delete(missing, lostTenant)
	if len(w.tenants) < len(missing) {
		for name, t := range missing {
			t.namespaces = slices.DeleteFunc(t.namespaces, func(namespace string) bool { return w.holderOf(namespace) != "" })
			if w.tenants[name] == nil && len(t.namespaces) > 0 {
				w.tenants[name] = t
			}
		}
	} else {
		delete(w.tenants, pick(random, w.names()))
	}
	w.upgrade(t)
}

func renameTenant(t *testing.T, w *world, _ *guard, random *rand.Rand) {
	t.Helper()
	name := pick(random, w.names())
	renamed := w.tenants[name]
	delete(w.tenants, name)
	if short, was := strings.CutSuffix(name, "-renamed"); was && w.tenants[short] == nil {
		w.tenants[short] = renamed
	} else {
		w.tenants[name+"-renamed"] = renamed
	}
	w.upgrade(t)
}

// moveNamespace moves one of two namespaces of a tenant to another one that stays.
func moveNamespace(t *testing.T, w *world, _ *guard, random *rand.Rand) {
	t.Helper()
	for _, from := range w.names() {
		giver := w.tenants[from]
		to := w.tenants[pick(random, w.names())]
		if len(giver.namespaces) < 2 || to == giver || to.leaving != giver.leaving {
			continue
		}
		to.namespaces = append(to.namespaces, giver.namespaces[0])
		giver.namespaces = slices.Clone(giver.namespaces[1:])
		w.upgrade(t)
		return
	}
}

func toggleLeaving(t *testing.T, w *world, g *guard, random *rand.Rand) {
	t.Helper()
	changed := w.tenants[pick(random, w.names())]
	changed.leaving = !changed.leaving
	for _, namespace := range changed.namespaces {
		g.forget(client.ObjectKey{Namespace: namespace})
	}
	w.upgrade(t)
	for _, namespace := range changed.namespaces {
		w.disturb(client.ObjectKey{Namespace: namespace})
	}
}

// deleteBar deletes a Bar as only the break-glass group may. Its source has it made again, with the
// same objects. In a namespace that is lost, to delete the Bar is to let go of it, so all that is
// wanted has to be served first.
func deleteBar(t *testing.T, w *world, _ *guard, random *rand.Rand) {
	t.Helper()
	w.restore(t)
	w.waitServed(t)
	keys := slices.DeleteFunc(w.keys(), func(key client.ObjectKey) bool { return w.holderOf(key.Namespace) == "" })
	if owners := w.owners(t); len(owners) > 0 && random.IntN(4) > 0 {
		keys = owners // their rivals are waiting for the host names
	}
	if len(keys) == 0 {
		return
	}
	key := pick(random, keys)
	deleted := w.barOf(key)
	bar := &v1alpha1.Bar{ObjectMeta: metav1.ObjectMeta{Namespace: deleted.Namespace, Name: deleted.Name}}
	must(t, client.IgnoreNotFound(firefighter.Delete(t.Context(), bar)))
}

// owners returns the sources in served namespaces whose Bars hold a host name that has rivals.
func (w *world) owners(t *testing.T) []client.ObjectKey {
	t.Helper()
	claims := map[string]int{}
	for key := range w.sources {
		claims[w.hostOf(key)]++
	}
	return slices.DeleteFunc(w.keys(), func(key client.ObjectKey) bool {
		bar := &v1alpha1.Bar{}
		host := w.hostOf(key)
		return host == "" || claims[host] < 2 || w.holderOf(key.Namespace) == "" || admin.Get(t.Context(), w.barOf(key), bar) != nil ||
			!slices.ContainsFunc(bar.Status.Targets, func(target v1alpha1.BarTarget) bool { return target.Holds != "" })
	})
}

// waitServed waits until the leader serves all namespaces of all Tenants. What a leader before it
// has said may be out of date, so the Tenants have to say so for a while.
func (w *world) waitServed(t *testing.T) {
	t.Helper()
	w.operators.revive(t)
	waitForLeader(t, w)
	for _, process := range w.operators {
		must(t, process.Ready(t.Context()))
	}
	since := time.Now()
	try.Until(t, time.Minute, func(ctx context.Context) error {
		tenants := &v1alpha1.TenantList{}
		if err := admin.List(ctx, tenants, client.InNamespace(systemNamespace)); err != nil {
			return err
		}
		for i := range tenants.Items {
			tenant := &tenants.Items[i]
			if tenant.Status.ObservedGeneration != tenant.Generation || !meta.IsStatusConditionTrue(tenant.Status.Conditions, v1alpha1.TenantEngaged) {
				since = time.Now()
				return fmt.Errorf("Tenant %s: %+v", tenant.Name, tenant.Status)
			}
		}
		if time.Since(since) < 2*time.Second {
			return fmt.Errorf("all Tenants are served only since %s", since)
		}
		return nil
	})
}

// letGo does with the Bars of lost namespaces what the admin guide says: first what is left in the
// namespace is deleted, then the Bar.
func letGo(t *testing.T, w *world, g *guard, _ *rand.Rand) {
	t.Helper()
	bars := &v1alpha1.BarList{}
	must(t, admin.List(t.Context(), bars, client.InNamespace(systemNamespace)))
	for i := range bars.Items {
		bar := &bars.Items[i]
		if bar.Spec.SourceRef.Namespace == lostNamespace {
			continue // it stays lost until the end
		}
		ready := meta.FindStatusCondition(bar.Status.Conditions, v1alpha1.BarReady)
		namespace := bar.Spec.SourceRef.Namespace
		if ready == nil || ready.Reason != v1alpha1.ReasonNamespaceLost || w.holderOf(namespace) != "" {
			continue
		}
		key := client.ObjectKey{Namespace: namespace, Name: bar.Spec.SourceRef.Name}
		w.disturb(key)
		g.forget(key)
		for _, target := range bar.Status.Targets {
			object := &unstructured.Unstructured{}
			object.SetAPIVersion(strings.TrimPrefix(target.APIGroup+"/"+target.Version, "/"))
			object.SetKind(target.Kind)
			object.SetNamespace(target.Namespace)
			object.SetName(target.Name)
			must(t, client.IgnoreNotFound(admin.Delete(t.Context(), object)))
		}
		must(t, client.IgnoreNotFound(admin.Delete(t.Context(), bar)))
	}
}

// optOutAndIn takes a request back, and makes it again within the grace period.
func optOutAndIn(t *testing.T, w *world, _ *guard, random *rand.Rand) {
	t.Helper()
	key := pick(random, w.keys())
	s := w.sources[key]
	if !s.asks {
		return
	}
	s.asks = false
	ask(t, w, key)
	time.Sleep(time.Duration(random.IntN(int(grace / 2))))
	s.asks = true
	ask(t, w, key)
}

func optOutOrIn(t *testing.T, w *world, g *guard, random *rand.Rand) {
	t.Helper()
	key := pick(random, w.keys())
	s := w.sources[key]
	s.asks = !s.asks
	g.forget(key)
	ask(t, w, key)
	w.disturb(key)
}

func recreateSource(t *testing.T, w *world, g *guard, random *rand.Rand) {
	t.Helper()
	key := pick(random, w.keys())
	g.forget(key)
	must(t, admin.Delete(t.Context(), w.object(key), client.PropagationPolicy(metav1.DeletePropagationBackground)))
	must(t, admin.Create(t.Context(), w.object(key)))
	w.disturb(key)
}

// replaceClass deletes a BarClass and makes it again, as `kubectl replace --force` does. That is no
// request of a source, and changes nothing.
func replaceClass(t *testing.T, _ *world, _ *guard, random *rand.Rand) {
	t.Helper()
	class := &v1alpha1.BarClass{}
	must(t, admin.Get(t.Context(), client.ObjectKey{Name: pick(random, []string{internalClass, webClass, tenantClass})}, class))
	must(t, admin.Delete(t.Context(), class))
	time.Sleep(time.Duration(random.IntN(int(grace / 2))))
	class.ResourceVersion, class.UID, class.ManagedFields = "", "", nil
	must(t, admin.Create(t.Context(), class))
}

func recreateNamespace(t *testing.T, w *world, g *guard, random *rand.Rand) {
	t.Helper()
	name := pick(random, w.namespaces())
	g.forget(client.ObjectKey{Namespace: name})
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	must(t, admin.Delete(t.Context(), namespace))
	gone(t, namespace)
	must(t, admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	for _, key := range w.keys() {
		if key.Namespace == name {
			must(t, admin.Create(t.Context(), w.object(key)))
		}
	}
	w.disturb(client.ObjectKey{Namespace: name})
	w.upgrade(t) // the rights
}

// reinstall removes the release and installs it again. The new operators have Pods, and so tokens,
// of their own.
func reinstall(t *testing.T, w *world, g *guard, _ *rand.Rand) {
	t.Helper()
	g.pause()
	must(t, shared.UninstallChart(t.Context(), w.release()))
	w.operators.stop()
	w.removed = nil
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "controlee"}}
	must(t, client.IgnoreNotFound(admin.Delete(t.Context(), lease)))
	// The operators run while Helm is still at it, as they do in a cluster: Fence and Lease come
	// before the Tenants.
	installed := make(chan error, 1)
	go func() { installed <- shared.InstallChart(context.Background(), w.release()) }()
	try.Until(t, time.Minute, func(ctx context.Context) error {
		account := &corev1.ServiceAccount{}
		return admin.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: serviceAccount}, account)
	})
	w.generation++
	w.operators = startReplicas(t, w.generation)
	if err := <-installed; err != nil {
		t.Fatal(fmt.Errorf("install again: %w", err))
	}
	g.pause()
}
