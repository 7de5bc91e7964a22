package bar

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

var errCrash = errors.New("the operator crashed")

// crashing is a client that fails at one write, either before it is sent, or after it was done and before the answer is seen. It also holds
// every write against the rules that make that harmless.
type crashing struct {
	t      *testing.T
	bar    client.ObjectKey
	writes int  // how many there were
	at     int  // which one fails; 0: none
	after  bool // when
}

func (c *crashing) client() client.Client {
	return interceptor.NewClient(server, interceptor.Funcs{
		Apply: func(ctx context.Context, through client.WithWatch, config runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			c.mustBePlanned(ctx, config)
			return c.write(func() error { return through.Apply(ctx, config, opts...) })
		},
		Delete: func(ctx context.Context, through client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
			c.mustBeMarked(ctx, object)
			return c.write(func() error { return through.Delete(ctx, object, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, through client.Client, sub string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return c.write(func() error { return through.SubResource(sub).Patch(ctx, object, patch, opts...) })
		},
	})
}

func (c *crashing) write(send func() error) error {
	c.writes++
	if c.writes != c.at {
		return send()
	}
	if c.after {
		if err := send(); err != nil {
			return err
		}
	}
	return errCrash
}

// mustBePlanned checks that an object is recorded before it is made.
func (c *crashing) mustBePlanned(ctx context.Context, config runtime.ApplyConfiguration) {
	wanted, err := runtime.DefaultUnstructuredConverter.ToUnstructured(config)
	if err != nil {
		c.t.Error(err)
	}
	name := (&unstructured.Unstructured{Object: wanted}).GetName()
	bar := &v1alpha1.Bar{}
	if err := server.Get(ctx, c.bar, bar); err != nil {
		c.t.Errorf("%s is made although its Bar is gone: %v", name, err)
	}
	for _, target := range bar.Status.Targets {
		if target.Name == name && target.State != v1alpha1.TargetDeleting {
			return
		}
	}
	c.t.Errorf("%s is made and is not planned: %+v", name, bar.Status.Targets)
}

// mustBeMarked checks that an object is recorded as being deleted before it is deleted, and only when something else serves.
func (c *crashing) mustBeMarked(ctx context.Context, object client.Object) {
	if _, itself := object.(*v1alpha1.Bar); itself {
		return
	}
	bar := &v1alpha1.Bar{}
	if err := server.Get(ctx, c.bar, bar); err != nil {
		c.t.Errorf("%s is deleted although its Bar is gone: %v", object.GetName(), err)
	}
	for _, target := range bar.Status.Targets {
		if target.UID != object.GetUID() {
			continue
		}
		if target.State != v1alpha1.TargetDeleting {
			c.t.Errorf("%s is deleted and recorded as %s", target.Name, target.State)
		}
		if phase := bar.Status.Phase; target.Serving && phase != v1alpha1.PhaseReady && phase != v1alpha1.PhaseReleasing {
			c.t.Errorf("%s has served and is deleted while the Bar is %s: a gap", target.Name, phase)
		}
		return
	}
	c.t.Errorf("%s is deleted and not recorded", object.GetName())
}

// life is the life of a Bar: each step changes something, and gives way to the reconciler.
var life = []struct {
	name string
	do   func(*testing.T, *v1alpha1.Bar)
}{
	{"made", func(*testing.T, *v1alpha1.Bar) {}},
	{"ports changed", func(t *testing.T, bar *v1alpha1.Bar) {
		change(t, bar, func(spec *v1alpha1.BarSpec) { spec.Ports[0].Port = 81 })
	}},
	{"to a route", func(t *testing.T, bar *v1alpha1.Bar) { change(t, bar, toClass("web")) }},
	{"route accepted", func(t *testing.T, bar *v1alpha1.Bar) {
		playGateway(t, bar.Spec.SourceRef.Namespace, "True", "Accepted", "")
	}},
	{"to a load balancer", func(t *testing.T, bar *v1alpha1.Bar) { change(t, bar, toClass("public")) }},
	{"to another", func(t *testing.T, bar *v1alpha1.Bar) { change(t, bar, toClass("public-2")) }},
	{"object deleted by hand", func(t *testing.T, bar *v1alpha1.Bar) {
		for _, service := range services(t, bar.Spec.SourceRef.Namespace) {
			if service.Spec.Type == "LoadBalancer" {
				if err := server.Delete(t.Context(), &service); err != nil {
					t.Fatal(err)
				}
			}
		}
	}},
	{"address given", func(t *testing.T, bar *v1alpha1.Bar) { playCloud(t, bar.Spec.SourceRef.Namespace, "203.0.113.7") }},
	{"to a third", func(t *testing.T, bar *v1alpha1.Bar) { change(t, bar, toClass("internal-2")) }},
	{"and back", func(t *testing.T, bar *v1alpha1.Bar) { change(t, bar, toClass("internal")) }},
	{"released", func(t *testing.T, bar *v1alpha1.Bar) { change(t, bar, released) }},
}

// live runs through the life of a Bar. After a crash another operator takes over, which knows nothing but what is written.
func live(t *testing.T, namespace string, crash *crashing) (pictures [][]string) {
	t.Helper()
	bar := newBar(t, newNamespace(t, namespace), "web", "internal")
	crash.t, crash.bar = t, client.ObjectKeyFromObject(bar)
	r := newReconciler(crash.client())
	for _, step := range life {
		step.do(t, bar)
		if err := reconcileOnce(r, bar); errors.Is(err, errCrash) {
			r = newReconciler(crash.client())
		} else if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		settle(t, r, bar)
		pictures = append(pictures, append([]string{"--- " + step.name}, picture(t, bar)...))
	}
	return pictures
}

// A crash at each write of a Bar's life, before it is sent and after it is done, and the same comes out.
func TestCrashAtEveryWrite(t *testing.T) {
	undisturbed := &crashing{}
	want := live(t, "undisturbed", undisturbed)
	t.Logf("%d writes; at the end of each step:", undisturbed.writes)
	for _, lines := range want {
		for _, line := range lines {
			t.Log(line)
		}
	}
	if last := want[len(want)-1]; len(last) != 1 {
		t.Fatalf("left over after the release: %v", last)
	}
	for at := 1; at <= undisturbed.writes; at++ {
		for _, after := range []bool{false, true} {
			name := fmt.Sprintf("crash-%d-%t", at, after)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				got := live(t, name, &crashing{at: at, after: after})
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-undisturbed +crashed\n%s", diff)
				}
			})
		}
	}
}
