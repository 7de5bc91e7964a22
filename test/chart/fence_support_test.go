package chart_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/controlee/controlee/test/cluster"
)

// Names of the fence's policies: what nobody but the operator writes, and the rest.
const (
	fenced        = "controlee-fenced"
	fencedObjects = "controlee-fenced-objects"
)

var (
	fenceGVR   = schema.GroupVersionResource{Group: "controlee.dev", Version: "v1alpha1", Resource: "fences"}
	policyGVR  = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
	bindingGVR = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"}
)

// replica is a Pod of the operator, as far as the API server knows: what its token can do.
type replica struct {
	client
	name, uid string
}

// replicas are two Pods of the operator, whose rights the chart gives.
func (e *env) replicas(t *testing.T) (a, b *replica) {
	t.Helper()
	return e.replica(t, "controlee-a"), e.replica(t, "controlee-b")
}

func (e *env) replica(t *testing.T, name string) *replica {
	t.Helper()
	pod, err := e.EnsurePod(t.Context(), systemNamespace, "controlee", name)
	if err != nil {
		t.Fatal(err)
	}
	config, err := e.PodTokenConfig(t.Context(), systemNamespace, "controlee", name)
	if err != nil {
		t.Fatal(err)
	}
	return &replica{newClient(t, config), name, string(pod.UID)}
}

// writes tries each kind of write that a replica does, without doing it: how they end, by policy.
func (r *replica) writes(t *testing.T) map[string]error {
	t.Helper()
	all := map[string]error{}
	_, all[fenced] = r.dynamic.Resource(tenantGVR).Namespace(systemNamespace).Patch(t.Context(), "team-a", types.MergePatchType,
		[]byte(`{"status": {"conditions": []}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
	_, all[fencedObjects] = r.AppsV1().Deployments("team-a").Create(t.Context(), deployment("dry", nil), dryRun)
	return all
}

// mayWrite says whether all of a replica's writes are admitted, or all refused by the fence; anything else is an error.
func (r *replica) mayWrite(t *testing.T) (bool, error) {
	t.Helper()
	results := r.writes(t)
	var refusals []string
	for policy, err := range results {
		if err != nil && !strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+policy+"'") {
			return false, fmt.Errorf("%s was refused by something else than %s: %w", r.name, policy, err)
		}
		if err != nil {
			refusals = append(refusals, policy)
		}
	}
	if len(refusals) > 0 && len(refusals) < len(results) {
		return false, fmt.Errorf("%s was refused by %s alone", r.name, refusals)
	}
	return len(refusals) == 0, nil
}

// expectWriters waits until these replicas and no others may write, and looks whether it stays so.
func expectWriters(t *testing.T, writers []*replica, others ...*replica) {
	t.Helper()
	want := map[*replica]bool{}
	for _, r := range writers {
		want[r] = true
	}
	for _, r := range others {
		want[r] = false
	}
	look := func() error {
		var all []error
		for r, may := range want {
			if does, err := r.mayWrite(t); err != nil || does != may {
				all = append(all, fmt.Errorf("%s may write: %v, want %v (%w)", r.name, does, may, err))
			}
		}
		return errors.Join(all...)
	}
	var last error
	if !waitFor(func() bool { last = look(); return last == nil }) {
		t.Fatal(last)
	}
	for range 10 {
		time.Sleep(50 * time.Millisecond)
		if err := look(); err != nil {
			t.Fatal("it did not stay so: ", err)
		}
	}
}

func (e *env) fences() dynamic.ResourceInterface {
	return e.dynamic.Resource(fenceGVR).Namespace(systemNamespace)
}

func (e *env) fence(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	fence, err := e.fences().Get(t.Context(), "controlee", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return fence
}

// claim makes the Fence name a replica, as its leader does.
func (e *env) claim(t *testing.T, r *replica) {
	t.Helper()
	fence := e.fence(t)
	epoch, _, err := unstructured.NestedInt64(fence.Object, "spec", "epoch")
	if err != nil {
		t.Fatal(err)
	}
	fence.Object["spec"] = map[string]any{"holder": map[string]any{"podName": r.name, "podUID": r.uid}, "epoch": epoch + 1}
	if _, err := e.fences().Update(t.Context(), fence, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// fenceOn waits until the policies of the fence are enforced.
func (e *env) fenceOn(t *testing.T, r *replica) {
	t.Helper()
	eventually(t, "the fence is enforced", func() bool {
		for policy, err := range r.writes(t) {
			if err == nil || !strings.Contains(err.Error(), policy) {
				return false
			}
		}
		return true
	})
}

// fencedChart has one tenant, and the fence.
func fencedChart() cluster.Chart {
	return cluster.Chart{Release: "controlee", Namespace: systemNamespace, Values: with(
		tenants(tenant("team-a", false, "team-a")), map[string]any{"fence": map[string]any{"enabled": true}},
	)}
}

// removeClusterScoped deletes what a release leaves whose namespace, with Helm's records in it, was deleted.
func (e *env) removeClusterScoped(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	roles := schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}
	for _, gvr := range []schema.GroupVersionResource{
		policyGVR, bindingGVR, barClassGVR, roles.WithResource("clusterroles"), roles.WithResource("clusterrolebindings"),
	} {
		err := e.dynamic.Resource(gvr).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app.kubernetes.io/part-of=controlee"})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	}
}

// parts are the objects of the fence's policies.
var parts = map[string][]schema.GroupVersionResource{
	"the policies":              {policyGVR},
	"the bindings":              {bindingGVR},
	"the policies and bindings": {policyGVR, bindingGVR},
}

func partNames() []string { return slices.Sorted(maps.Keys(parts)) }
