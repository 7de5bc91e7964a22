package chart_test

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Of two replicas with the same rights the one that the Fence names may write.
func TestFence(t *testing.T) {
	e := start(t)
	e.makeNamespaces(t, systemNamespace, "team-a")
	chart := fencedChart()
	e.install(t, chart)
	a, b := e.replicas(t)
	e.fenceOn(t, a)

	t.Run("nobody leads yet", func(t *testing.T) {
		expectWriters(t, nil, a, b)
		for policy, err := range a.writes(t) {
			refused(t, "a write", err, policy, "Pod controlee-a ("+a.uid+") does not lead: Fence controlee-system/controlee names nobody yet")
		}
	})
	t.Run("one leads, then the other, then the first again", func(t *testing.T) {
		e.claim(t, a)
		expectWriters(t, []*replica{a}, b)
		for policy, err := range b.writes(t) {
			refused(t, "a write", err, policy, "Pod controlee-b ("+b.uid+") does not lead", "names Pod controlee-a ("+a.uid+") as of epoch 1")
		}
		e.claim(t, b)
		expectWriters(t, []*replica{b}, a)
		e.claim(t, a)
		expectWriters(t, []*replica{a}, b)
	})
	t.Run("what leadership is made of is not fenced", func(t *testing.T) {
		leases := b.CoordinationV1().Leases(systemNamespace)
		lease, err := leases.Get(t.Context(), "controlee", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		admitted(t, "the Lease", err)
		e.grant(t, systemNamespace, account(systemNamespace, "controlee"))
		_, err = b.dynamic.Resource(fenceGVR).Namespace(systemNamespace).Update(t.Context(), e.fence(t), metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		admitted(t, "the Fence's spec", err)
	})
	t.Run("a token of no Pod is nobody's", func(t *testing.T) {
		loose := &replica{client: newClient(t, e.looseToken(t))}
		for policy, err := range loose.writes(t) {
			refused(t, "a write", err, policy, "the token of system:serviceaccount:controlee-system:controlee names no Pod, and only the Pod that leads may write")
		}
	})
	t.Run("a Pod of the same name is another", func(t *testing.T) {
		none := int64(0)
		if err := e.kube.CoreV1().Pods(systemNamespace).Delete(t.Context(), a.name, metav1.DeleteOptions{GracePeriodSeconds: &none}); err != nil {
			t.Fatal(err)
		}
		again := e.replica(t, a.name)
		expectWriters(t, nil, again, b)
		e.claim(t, again)
		expectWriters(t, []*replica{again}, b)
	})
	t.Run("without a Fence", func(t *testing.T) { testWithoutFence(t, e) })
}

// The API server looks for the Fence before it looks who is asking. A missing one stops the operator, and nobody else.
func testWithoutFence(t *testing.T, e *env) {
	b := e.replica(t, "controlee-b")
	e.claim(t, b)
	expectWriters(t, []*replica{b})
	if err := e.fences().Delete(t.Context(), "controlee", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the operator writes no record", func() bool { return b.writes(t)[fenced] != nil })
	refused(t, "a record", b.writes(t)[fenced], fenced, "no params found")

	alice := newClient(t, e.user(t, "alice", "team-a"))
	_, err := alice.AppsV1().Deployments("team-a").Create(t.Context(), deployment("web", nil), metav1.CreateOptions{})
	admitted(t, "a tenant's Deployment", err)
	_, err = alice.dynamic.Resource(fooGVR).Namespace("team-a").Create(t.Context(), foo("web", ""), metav1.CreateOptions{})
	admitted(t, "a tenant's Foo", err)
	_, err = alice.AppsV1().Deployments("team-a").Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec": {"replicas": 0}}`), metav1.PatchOptions{})
	admitted(t, "a change", err)
	eventually(t, "the Deployment controller goes on", func() bool {
		current, err := e.kube.AppsV1().Deployments("team-a").Get(t.Context(), "web", metav1.GetOptions{})
		return err == nil && current.Status.ObservedGeneration == current.Generation
	})
	admitted(t, "a delete", alice.AppsV1().Deployments("team-a").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	_, err = e.dynamic.Resource(tenantGVR).Namespace(systemNamespace).Patch(t.Context(), "team-a", types.MergePatchType,
		[]byte(`{"spec": {"weight": 2}}`), metav1.PatchOptions{})
	admitted(t, "an admin's change of a Tenant", err)

	// The next upgrade makes it again; whoever leads then has to claim it.
	e.upgrade(t, fencedChart())
	expectWriters(t, nil, b)
	e.claim(t, b)
	expectWriters(t, []*replica{b})
}

// Deleting and making again what the fence is made of never lets the wrong one write for good.
func TestFenceMadeAgain(t *testing.T) {
	e := start(t)
	e.makeNamespaces(t, systemNamespace, "team-a")
	chart := fencedChart()
	e.install(t, chart)
	a, b := e.replicas(t)
	e.fenceOn(t, a)
	e.claim(t, a)
	expectWriters(t, []*replica{a}, b)

	leads, follows := a, b
	for _, name := range partNames() {
		t.Run(name, func(t *testing.T) {
			for _, gvr := range parts[name] {
				for _, policy := range []string{fenced, fencedObjects} {
					if err := e.dynamic.Resource(gvr).Delete(t.Context(), policy, metav1.DeleteOptions{}); err != nil {
						t.Fatal(err)
					}
				}
			}
			expectWriters(t, []*replica{leads, follows}) // off
			// While nobody watches the Fence for the policies it changes.
			e.claim(t, follows)
			e.upgrade(t, chart)
			leads, follows = follows, leads
			expectWriters(t, []*replica{leads}, follows)
			e.claim(t, follows)
			leads, follows = follows, leads
			expectWriters(t, []*replica{leads}, follows)
		})
	}
	t.Run("the value turned off and on", func(t *testing.T) {
		off := chart
		off.Values = with(chart.Values, map[string]any{"fence": map[string]any{"enabled": false}})
		e.upgrade(t, off)
		expectWriters(t, []*replica{leads, follows})
		e.claim(t, follows) // the Fence is there all the same
		e.upgrade(t, chart)
		expectWriters(t, []*replica{follows}, leads)
	})
}

// looseToken is a token of the operator's ServiceAccount that is bound to nothing.
func (e *env) looseToken(t *testing.T) *rest.Config {
	t.Helper()
	answer, err := e.kube.CoreV1().ServiceAccounts(systemNamespace).CreateToken(t.Context(), "controlee",
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(e.AdminConfig())
	config.BearerToken = answer.Status.Token
	return config
}
