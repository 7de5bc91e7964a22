package lifecycle

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/tenancy"
	"github.com/controlee/controlee/test/try"
)

var (
	span = flag.Duration("span", time.Minute, "how long TestRandomLife changes things")
	seed = flag.Uint64("seed", 20261201, "what TestRandomLife chooses by")
)

// operation is something that a platform admin, a tenant or fate does.
type operation struct {
	name   string
	weight int
	do     func(t *testing.T, w *world, g *guard, random *rand.Rand)
}

var operations = []operation{
	{"kill the leader", 4, killLeader},
	{"lose a RoleBinding", 4, loseRoleBinding},
	{"lose the ClusterRole", 2, loseClusterRole},
	{"lose a Tenant", 4, loseTenant},
	{"restore what was lost", 8, func(t *testing.T, w *world, _ *guard, _ *rand.Rand) { t.Helper(); w.restore(t) }},
	{"remove or add a tenant", 3, removeOrAddTenant},
	{"rename a tenant", 2, renameTenant},
	{"move a namespace", 2, moveNamespace},
	{"a tenant leaves, or stays", 2, toggleLeaving},
	{"delete a Bar by force", 4, deleteBar},
	{"let go of a lost Bar", 2, letGo},
	{"opt out and in again", 6, optOutAndIn},
	{"opt out or in", 4, optOutOrIn},
	{"delete and make a source", 4, recreateSource},
	{"replace a BarClass", 3, replaceClass},
	{"delete and make a namespace", 1, recreateNamespace},
	{"uninstall and install", 1, reinstall},
}

// Tenants come, go, are renamed, lose and regain rights; sources of the same host name are rivals;
// leaders are killed; the chart is removed and installed again. At every moment a host name has at
// most one route, an address stays unless somebody asked for a change, and nothing that the
// operator made is without a Bar for longer than a sweep.
func TestRandomLife(t *testing.T) {
	t.Logf("go test ./test/lifecycle -run TestRandomLife -seed=%d -span=%s", *seed, *span)
	random := rand.New(rand.NewPCG(*seed, 0))
	w, g := newWorld(), newGuard()
	w.guard = g
	w.build(t)
	waitForLeader(t, w)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { g.run(ctx); close(ended) }()
	defer func() { cancel(); <-ended }()
	w.lose(t, g)

	counts := map[string]int{}
	for end := time.Now().Add(*span); time.Now().Before(end) && !t.Failed(); {
		w.operators.revive(t)
		given, err := w.given(t.Context())
		must(t, err)
		g.expect(given, w.excused()...)
		chosen := choose(random)
		counts[chosen.name]++
		t.Logf("%s %s", time.Now().Format("15:04:05.000"), chosen.name)
		chosen.do(t, w, g, random)
		time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond) // what follows finds the operator in the midst of it
		if broken, _ := g.found(); len(broken) > 0 {
			break
		}
	}
	t.Logf("%d operations: %v", total(counts), counts)
	settleDown(t, w, g)
	report(t, g)
	if _, looks := g.found(); looks < 20 {
		t.Errorf("looked %d times: what was found says nothing", looks)
	}
	if t.Failed() {
		for _, process := range w.operators {
			t.Logf("--- %s\n%s", process.PodName, process.LogTail(200))
		}
	}
}

func choose(random *rand.Rand) operation {
	sum := 0
	for _, o := range operations {
		sum += o.weight
	}
	n := random.IntN(sum)
	for _, o := range operations {
		if n -= o.weight; n < 0 {
			return o
		}
	}
	return operations[0]
}

func total(counts map[string]int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

func report(t *testing.T, g *guard) {
	t.Helper()
	broken, _ := g.found()
	for _, b := range broken {
		t.Error(b)
	}
}

// excused are the namespaces in which the operator can take nothing away now, because it has no
// rights there or is not to serve them.
func (w *world) excused() (namespaces []string) {
	for _, namespace := range w.namespaces() {
		if w.holderOf(namespace) == "" || slices.ContainsFunc(w.removed, func(object client.Object) bool { return concerns(object, namespace) }) {
			namespaces = append(namespaces, namespace)
		}
	}
	return namespaces
}

// concerns returns whether a namespace is not served while an object of the platform is missing.
func concerns(missing client.Object, namespace string) bool {
	switch missing := missing.(type) {
	case *rbacv1.RoleBinding:
		return missing.Namespace == namespace
	case *v1alpha1.Tenant:
		return slices.Contains(missing.Spec.Namespaces, namespace)
	default:
		return true // the ClusterRole
	}
}

// settleDown puts everything right, and compares what there is in the end with what there is to be.
func settleDown(t *testing.T, w *world, g *guard) {
	t.Helper()
	w.operators.revive(t)
	*w = world{tenants: newWorld().tenants, sources: w.sources, operators: w.operators, generation: w.generation, holders: w.holders, guard: g}
	for _, namespace := range w.namespaces() {
		w.disturb(client.ObjectKey{Namespace: namespace})
		g.forget(client.ObjectKey{Namespace: namespace})
	}
	w.upgrade(t)
	g.expect(nil) // nothing excuses an orphan any more
	for key, s := range w.sources {
		s.asks = true
		ask(t, w, key)
	}
	w.waitServed(t) // until then, what the Bars say may be from before
	began := time.Now()
	try.Until(t, 2*time.Minute, func(ctx context.Context) error {
		bars := &v1alpha1.BarList{}
		if err := admin.List(ctx, bars, client.InNamespace(systemNamespace)); err != nil {
			return err
		}
		if unheld := g.unheld(); len(bars.Items) != len(w.sources) || unheld > 0 {
			return fmt.Errorf("%d Bars of %d sources, and %d objects without one", len(bars.Items), len(w.sources), unheld)
		}
		return w.complete(bars.Items)
	})
	t.Logf("as it is to be %s after everything was put right", time.Since(began).Round(time.Millisecond))
}

// complete returns nil if each source has its load balancer, or another source has the host name.
func (w *world) complete(bars []v1alpha1.Bar) error {
	hosts := map[string]int{}
	for key := range w.sources {
		if host := w.hostOf(key); host != "" {
			hosts[host] = 0
		}
	}
	for i := range bars {
		bar := &bars[i]
		ready := meta.FindStatusCondition(bar.Status.Conditions, v1alpha1.BarReady)
		switch {
		case ready == nil:
			return fmt.Errorf("Bar %s has no condition", bar.Name)
		case bar.Spec.ClassName == internalClass && ready.Reason != v1alpha1.ReasonProvisioned,
			bar.Spec.ClassName != internalClass && ready.Reason != v1alpha1.ReasonRoutePending && ready.Reason != v1alpha1.ReasonHostnameTaken:
			return fmt.Errorf("Bar %s: %+v", bar.Name, ready)
		case ready.Reason == v1alpha1.ReasonRoutePending:
			hosts[w.hostOf(client.ObjectKey{Namespace: bar.Spec.SourceRef.Namespace, Name: bar.Spec.SourceRef.Name})]++
		}
	}
	for host, n := range hosts {
		if n != 1 {
			return fmt.Errorf("host name %s has %d routes: %v", host, n, hosts)
		}
	}
	return nil
}

func waitForLeader(t *testing.T, w *world) {
	t.Helper()
	try.Until(t, time.Minute, func(ctx context.Context) error {
		if leader(ctx, w) == nil {
			return errors.New("nobody leads")
		}
		return nil
	})
}

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

func (w *world) names() []string { return slices.Sorted(maps.Keys(w.tenants)) }

func (w *world) keys() []client.ObjectKey {
	return slices.SortedFunc(maps.Keys(w.sources), func(a, b client.ObjectKey) int {
		if a.String() < b.String() {
			return -1
		}
		return 1
	})
}

func loseRoleBinding(t *testing.T, w *world, _ *guard, random *rand.Rand) {
	t.Helper()
	w.remove(t, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: pick(random, w.namespaces()), Name: tenancy.RoleBindingName}})
}

func loseClusterRole(t *testing.T, w *world, _ *guard, _ *rand.Rand) {
	t.Helper()
	w.remove(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "controlee-operator-tenant"}})
}

func loseTenant(t *testing.T, w *world, _ *guard, random *rand.Rand) {
	t.Helper()
	w.remove(t, &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: pick(random, w.names())}})
}
