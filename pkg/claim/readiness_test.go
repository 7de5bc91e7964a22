package claim

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/tenancy"
)

// labelled makes a Deployment whose Pods have a label.
func labelled(name, app string, replicas, ready int32) *appsv1.Deployment {
	d := deploymentWith(replicas, ready)
	d.Name = name
	d.Spec.Template.Labels = map[string]string{"app": app, "tier": "front"}
	return d
}

func TestWithReadiness(t *testing.T) {
	const prefix = "Ready: no Pod is ready behind it yet: "
	service := func(selector map[string]string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "web"}, Spec: corev1.ServiceSpec{Selector: selector}}
	}
	web := map[string]string{"app": "web"}
	cases := map[string]struct {
		reason string
		source client.Object
		others []client.Object
		word   string // Ready
		state  string
		starts bool
	}{
		"Serves":  {reason: "One Pod is enough.", source: labelled("web", "web", 3, 1), state: "Ready"},
		"None":    {reason: "No Pod is ready.", source: labelled("web", "web", 3, 0), state: prefix + `Deployment "web" has no ready replica`, starts: true},
		"Stopped": {reason: "Nobody wants one.", source: labelled("web", "web", 0, 0), state: prefix + `Deployment "web" is scaled to 0`},
		"NotSaid": {reason: "The API server sets one replica.", source: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, state: prefix + `Deployment "web" has no ready replica`, starts: true},
		"NotReady": {
			reason: "What is not ready itself says why.", source: labelled("web", "web", 3, 0), word: string(v1alpha1.PhaseProvisioning), state: "Provisioning",
		},
		"Unknown": {
			reason: "Of other Pods that a Service selects nothing is known.", source: service(web), others: []client.Object{labelled("other", "other", 1, 0)}, state: "Ready",
		},
		"NoSelector": {reason: "A Service without a selector leads to no Deployment.", source: service(nil), others: []client.Object{labelled("a", "web", 1, 0)}, state: "Ready"},
		"Elsewhere": {
			reason: "A Service leads to Pods of its namespace.", source: service(web), state: "Ready",
			others: []client.Object{func() *appsv1.Deployment { d := labelled("a", "web", 1, 0); d.Namespace = "m"; return d }()},
		},
		"AllDown": {
			reason: "All that a Service leads to are named.", source: service(web),
			others: []client.Object{labelled("b", "web", 1, 0), labelled("a", "web", 0, 0), labelled("c", "other", 1, 1)},
			state:  prefix + `Deployment "a" is scaled to 0, Deployment "b" has no ready replica`, starts: true,
		},
		"OneServes": {
			reason: "One that serves is enough.", source: service(web), others: []client.Object{labelled("a", "web", 1, 0), labelled("b", "web", 1, 1)}, state: "Ready",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			reader := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(tc.others...).WithStatusSubresource().Build()
			answer := Answer{Word: string(v1alpha1.PhaseReady)}
			if tc.word != "" {
				answer.Word = tc.word
			}
			got, err := withReadiness(t.Context(), reader, tc.source, answer)
			if err != nil || got.State() != tc.state || got.starting != tc.starts {
				t.Errorf("%s\ngot %q, %v, %v", tc.reason, got.State(), got.starting, err)
			}
		})
	}
}

// one serves one namespace.
type one struct {
	Namespaces
	namespace *tenancy.Namespace
}

func (o one) Lookup(name string) (*tenancy.Namespace, bool) {
	return o.namespace, o.namespace.Name == name
}

func TestReadinessEvents(t *testing.T) {
	asking := func(name, app, class string) *corev1.Service {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": app}}}
		if class != "" {
			s.Annotations = map[string]string{v1alpha1.BarClassAnnotation: class}
		}
		return s
	}
	reader := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(
		asking("web", "web", "internal"), asking("moved", "moved", "internal"), asking("silent", "web", "")).Build()
	r := &Reconciler{namespaces: one{namespace: &tenancy.Namespace{Name: "n", Reader: reader}}}
	elsewhere := labelled("a", "web", 1, 1)
	elsewhere.Namespace = "m"
	cases := map[string]struct {
		reason        string
		before, after *appsv1.Deployment // nil: there is none
		initial       bool
		want          []string
	}{
		"BecomesReady": {reason: "The first ready Pod counts.", before: labelled("a", "web", 1, 0), after: labelled("a", "web", 1, 1), want: []string{"web"}},
		"OneMore":      {reason: "The second does not.", before: labelled("a", "web", 2, 1), after: labelled("a", "web", 2, 2)},
		"Stops":        {reason: "Nor does one of several that goes.", before: labelled("a", "web", 2, 2), after: labelled("a", "web", 2, 1)},
		"NoneLeft":     {reason: "The last one that goes does.", before: labelled("a", "web", 2, 1), after: labelled("a", "web", 2, 0), want: []string{"web"}},
		"ScaledTo0":    {reason: "The text says so.", before: labelled("a", "web", 2, 0), after: labelled("a", "web", 0, 0), want: []string{"web"}},
		"Relabelled":   {reason: "It concerns the Services of both labels.", before: labelled("a", "web", 1, 1), after: labelled("a", "moved", 1, 1), want: []string{"moved", "web"}},
		"Created":      {reason: "A new one is not ready.", after: labelled("a", "web", 1, 0), want: []string{"web"}},
		"Deleted":      {reason: "One that is gone serves nothing.", before: labelled("a", "web", 1, 1), want: []string{"web"}},
		"Initial":      {reason: "The Services come by themselves.", after: labelled("a", "web", 1, 0), initial: true},
		"NotServed":    {reason: "A namespace that is not served has no Services.", after: elsewhere},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			t.Cleanup(queue.ShutDown)
			events, ctx := r.readinessEvents(), context.Background()
			switch {
			case tc.before == nil:
				events.Create(ctx, event.CreateEvent{Object: tc.after, IsInInitialList: tc.initial}, queue)
			case tc.after == nil:
				events.Delete(ctx, event.DeleteEvent{Object: tc.before}, queue)
			default:
				events.Update(ctx, event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.after}, queue)
			}
			got := map[string]bool{}
			for queue.Len() > 0 {
				request, _ := queue.Get()
				got[request.Name] = true
				queue.Done(request)
			}
			want := map[string]bool{}
			for _, name := range tc.want {
				want[name] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}
