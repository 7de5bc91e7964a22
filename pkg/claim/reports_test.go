package claim

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/apply"
)

// reporter is a Reconciler that reports to one source, with a clock of the test's.
type reporter struct {
	*Reconciler
	t      *testing.T
	clock  *testclock.FakeClock
	client client.Client
	source client.Object
	events *events.FakeRecorder
	writes int
}

func newReporter(t *testing.T, source client.Object) *reporter {
	t.Helper()
	r := &reporter{t: t, clock: testclock.NewFakeClock(time.Now()), source: source, events: events.NewFakeRecorder(1000)}
	r.client = fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(source).WithStatusSubresource(source).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			r.writes++
			return c.Patch(ctx, object, patch, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			r.writes++
			return c.SubResource(name).Patch(ctx, object, patch, options...)
		},
	}).Build()
	r.Reconciler = &Reconciler{
		direct: r.client, writer: apply.Writer{Client: r.client, FieldManager: FieldManager}, recorder: r.events, reports: newReports(r.clock),
	}
	return r
}

// tell reports an answer as of a time after the last one, and gives the delay until the next
// report.
func (r *reporter) tell(after time.Duration, answer Answer) time.Duration {
	r.t.Helper()
	r.clock.Step(after)
	r.read()
	later, err := r.report(r.t.Context(), r.client, r.source, answer)
	if err != nil {
		r.t.Fatal(err)
	}
	return later
}

func (r *reporter) read() {
	r.t.Helper()
	if err := r.client.Get(r.t.Context(), client.ObjectKeyFromObject(r.source), r.source); err != nil {
		r.t.Fatal(err)
	}
}

// says gives the annotations of the source.
func (r *reporter) says() string {
	r.t.Helper()
	r.read()
	a := r.source.GetAnnotations()
	return a[v1alpha1.BarStateAnnotation] + " @" + a[v1alpha1.BarAddressAnnotation]
}

// reasons gives the reasons of the Events so far.
func (r *reporter) reasons() (reasons []string) {
	for len(r.events.Events) > 0 {
		reasons = append(reasons, strings.Fields(<-r.events.Events)[1])
	}
	return reasons
}

// remove removes the annotations of the source, as somebody else may.
func (r *reporter) remove() {
	r.t.Helper()
	r.read()
	changed := r.source.DeepCopyObject().(client.Object) //nolint:forcetypeassert // it is one
	changed.SetAnnotations(nil)
	if err := r.client.Update(r.t.Context(), changed); err != nil {
		r.t.Fatal(err)
	}
}

func deploymentWith(replicas, ready int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "web", UID: "u"},
		Spec:       appsv1.DeploymentSpec{Replicas: ptr.To(replicas)},
		Status:     appsv1.DeploymentStatus{ReadyReplicas: ready},
	}
}

func word(phase v1alpha1.BarPhase, message string, addresses ...string) Answer {
	answer := Answer{Word: string(phase), Message: message}
	for _, address := range addresses {
		answer.Addresses = append(answer.Addresses, v1alpha1.BarAddress{Type: v1alpha1.IPAddressType, Value: address})
	}
	return answer
}

func TestDebounce(t *testing.T) {
	const ms = time.Millisecond
	pending, provisioning := word(v1alpha1.PhasePending, "recorded"), word(v1alpha1.PhaseProvisioning, "being made")
	ready, moved := word(v1alpha1.PhaseReady, "", "203.0.113.1"), word(v1alpha1.PhaseReady, "", "203.0.113.2")
	releasing := word(v1alpha1.PhaseReleasing, "")
	type step struct {
		after  time.Duration
		answer Answer
		says   string
	}
	cases := map[string]struct {
		reason string
		source *appsv1.Deployment // nil: one with a ready Pod
		steps  []step
		writes int
		events []string
	}{
		"New": {
			reason: "A load balancer that is soon ready takes one write.",
			steps:  []step{{0, pending, " @"}, {100 * ms, provisioning, " @"}, {1800 * ms, ready, "Ready @203.0.113.1"}},
			writes: 1, events: []string{eventEnsured},
		},
		"Slow": {
			reason: "One that takes longer says so, and from then on what it waits for.",
			steps: []step{
				{0, pending, " @"},
				{1900 * ms, provisioning, " @"},
				{100 * ms, provisioning, "Provisioning: being made @"},
				{10 * ms, word(v1alpha1.PhaseProvisioning, "no address yet"), "Provisioning: no address yet @"},
				{time.Second, ready, "Ready @203.0.113.1"},
			},
			writes: 3, events: []string{eventEnsuring, eventEnsured},
		},
		"Failed": {
			reason: "A failure is told at once.",
			steps:  []step{{0, pending, " @"}, {10 * ms, word(v1alpha1.PhaseFailed, "in the way"), "Failed: in the way @"}},
			writes: 1, events: []string{eventFailed},
		},
		"Refused": {
			reason: "So is a refusal.",
			steps:  []step{{0, Answer{Word: v1alpha1.ReasonOverLimit, Message: "too many"}, "OverLimit: too many @"}},
			writes: 1, events: []string{eventFailed},
		},
		"ReleasePending": {
			reason: "So is a release that is about to come, while the address is kept.",
			steps: []step{
				{0, ready, "Ready @203.0.113.1"},
				{0, word(v1alpha1.ReasonReleasePending, "at 12:00", "203.0.113.1"), "ReleasePending: at 12:00 @203.0.113.1"},
				{30 * time.Second, releasing, "ReleasePending: at 12:00 @203.0.113.1"},
				{100 * ms, Answer{}, " @"},
			},
			writes: 3, events: []string{eventEnsured, eventPending, eventDeleted},
		},
		"Changed": {
			reason: "A change that is soon over, and leaves the address, is not told.",
			steps:  []step{{0, ready, "Ready @203.0.113.1"}, {0, provisioning, "Ready @203.0.113.1"}, {100 * ms, ready, "Ready @203.0.113.1"}},
			writes: 1, events: []string{eventEnsured},
		},
		"Moved": {
			reason: "One that changes it is.",
			steps:  []step{{0, ready, "Ready @203.0.113.1"}, {0, provisioning, "Ready @203.0.113.1"}, {100 * ms, moved, "Ready @203.0.113.2"}},
			writes: 2, events: []string{eventEnsured, eventUpdated},
		},
		"StaleAddress": {
			reason: "An address that is no longer true stays no longer than the debounce.",
			steps: []step{
				{0, ready, "Ready @203.0.113.1"},
				{0, provisioning, "Ready @203.0.113.1"},
				{1900 * ms, pending, "Ready @203.0.113.1"},
				{100 * ms, provisioning, "Provisioning: being made @"},
			},
			writes: 2, events: []string{eventEnsured, eventEnsuring},
		},
		"Released": {
			reason: "A release that is soon over takes one write.",
			steps:  []step{{0, ready, "Ready @203.0.113.1"}, {0, releasing, "Ready @203.0.113.1"}, {100 * ms, Answer{}, " @"}},
			writes: 2, events: []string{eventEnsured, eventDeleted},
		},
		"SlowRelease": {
			reason: "One that takes longer is told, and so is what holds it, at once.",
			steps: []step{
				{0, ready, "Ready @203.0.113.1"},
				{0, releasing, "Ready @203.0.113.1"},
				{2 * time.Second, releasing, "Releasing @"},
				{0, word(v1alpha1.PhaseReleasing, "waiting for x"), "Releasing: waiting for x @"},
				{0, Answer{}, " @"},
			},
			writes: 4, events: []string{eventEnsured, eventDeleting, eventDeleted},
		},
		"ReleaseTakenBack": {
			reason: "What was not told is not announced.",
			steps:  []step{{0, ready, "Ready @203.0.113.1"}, {0, releasing, "Ready @203.0.113.1"}, {0, ready, "Ready @203.0.113.1"}, {0, moved, "Ready @203.0.113.2"}},
			writes: 2, events: []string{eventEnsured, eventUpdated},
		},
		"Starting": {
			reason: "The Pods of a new Deployment have a moment to become ready.",
			source: deploymentWith(2, 0),
			steps: []step{
				{0, ready, " @"},
				{2 * time.Second, ready, `Ready: no Pod is ready behind it yet: Deployment "web" has no ready replica @203.0.113.1`},
			},
			writes: 1, events: []string{eventEnsured},
		},
		"Stopped": {
			reason: "Where no Pod is wanted none is waited for.",
			source: deploymentWith(0, 0),
			steps:  []step{{0, ready, `Ready: no Pod is ready behind it yet: Deployment "web" is scaled to 0 @203.0.113.1`}},
			writes: 1, events: []string{eventEnsured},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			source := tc.source
			if source == nil {
				source = deploymentWith(1, 1)
			}
			r := newReporter(t, source)
			for i, step := range tc.steps {
				later := r.tell(step.after, step.answer)
				if says := r.says(); says != step.says {
					t.Fatalf("%s\nstep %d: got %q, want %q", tc.reason, i, says, step.says)
				}
				if heldBack := (news{state: step.answer.State(), address: step.answer.Address()}).differ(r.source.GetAnnotations()); heldBack && tc.source == nil && later == 0 {
					t.Errorf("%s\nstep %d: the answer is held back for ever", tc.reason, i)
				}
			}
			if r.writes != tc.writes {
				t.Errorf("%s\n%d writes, want %d", tc.reason, r.writes, tc.writes)
			}
			if reasons := r.reasons(); !slices.Equal(reasons, tc.events) {
				t.Errorf("%s\nEvents %v, want %v", tc.reason, reasons, tc.events)
			}
		})
	}
}

// TestContested has something else remove the annotations each time, and counts what the operator
// writes against it.
func TestContested(t *testing.T) {
	r := newReporter(t, deploymentWith(1, 1))
	ready := word(v1alpha1.PhaseReady, "", "203.0.113.1")
	// fight removes the annotations as soon as they are there, and looks at the source ten times a
	// second.
	fight := func(span time.Duration, answer Answer) (writes int) {
		before := r.writes
		for end := r.clock.Now().Add(span); r.clock.Now().Before(end); {
			r.tell(100*time.Millisecond, answer)
			if r.says() != " @" {
				r.remove()
			}
		}
		return r.writes - before
	}
	if writes := fight(20*time.Second, ready); writes != 5 { // at 0, 1, 3, 7 and 15 s
		t.Errorf("%d writes in 20 s", writes)
	}
	if writes := fight(10*time.Minute, ready); writes < 19 || writes > 22 {
		t.Errorf("%d writes in 10 min, want about one in 30 s", writes)
	}
	if reasons := r.reasons(); !slices.Equal(reasons, []string{eventEnsured, eventContested}) {
		t.Errorf("Events %v", reasons)
	}
	if writes := fight(10*time.Second, word(v1alpha1.PhaseReady, "", "203.0.113.2")); writes != 4 {
		t.Errorf("%d writes of another value in 10 s", writes)
	}
	// Once nobody removes the annotations any more the back-off is over, and forgotten.
	r.tell(time.Minute, ready)
	r.tell(2*time.Minute, ready)
	if len(r.reports.sources) != 0 {
		t.Errorf("remembered: %+v", r.reports.sources)
	}
	before := r.writes
	r.remove()
	r.tell(time.Millisecond, ready)
	if r.writes != before+1 {
		t.Error("the first removal is not put right at once")
	}
}

// TestContestedIngress does the same with the status of a Service.
func TestContestedIngress(t *testing.T) {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "web", UID: "u"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To(v1alpha1.LoadBalancerClassPrefix + "a")},
	}
	r := newReporter(t, service)
	for range 200 {
		r.tell(100*time.Millisecond, word(v1alpha1.PhaseReady, "", "203.0.113.1"))
		changed := service.DeepCopy()
		changed.Status.LoadBalancer.Ingress = nil
		if err := r.client.Status().Update(t.Context(), changed); err != nil {
			t.Fatal(err)
		}
	}
	if r.writes != 6 { // one of the annotations, and of the status at 0, 1, 3, 7 and 15 s
		t.Errorf("%d writes in 20 s", r.writes)
	}
	if reasons := r.reasons(); !slices.Equal(reasons, []string{eventEnsured, eventContested}) {
		t.Errorf("Events %v", reasons)
	}
}

// TestForgotten keeps nothing of what is gone, nor for an object of the same name.
func TestForgotten(t *testing.T) {
	r := newReporter(t, deploymentWith(1, 1))
	r.tell(0, word(v1alpha1.PhasePending, ""))
	other := r.source.DeepCopyObject().(client.Object) //nolint:forcetypeassert // it is one
	other.SetUID("other")
	if known := r.reports.of(other); !known.since.IsZero() {
		t.Errorf("another object of the same name is held back: %+v", known)
	}
	r.reports.forget(client.ObjectKeyFromObject(r.source))
	if len(r.reports.sources) != 0 {
		t.Errorf("remembered: %+v", r.reports.sources)
	}
}

func TestWritersSince(t *testing.T) {
	now := time.Now()
	at := func(d time.Duration) *metav1.Time { return ptr.To(metav1.NewTime(now.Add(d).Truncate(time.Second))) }
	source := deploymentWith(1, 1)
	source.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "before", Time: at(-time.Minute)},
		{Manager: FieldManager, Time: at(0)},
		{Manager: "argocd-controller", Time: at(0)},
		{Manager: "kube-controller-manager", Time: at(time.Second), Subresource: "status"},
		{Manager: "timeless"},
	}
	for subresource, want := range map[string]string{"": `"argocd-controller"`, "status": `"kube-controller-manager"`} {
		if got := writersSince(now, source, subresource); !slices.Equal(got, []string{want}) {
			t.Errorf("subresource %q: got %v", subresource, got)
		}
	}
}
