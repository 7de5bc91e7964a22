package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

const reportNamespace = "claim-report"

// withPods has a Deployment run Pods as the level restricted demands.
func withPods(d *appsv1.Deployment) {
	d.Spec.Replicas = ptr.To[int32](1)
	d.Spec.Template.Spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: ptr.To(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	d.Spec.Template.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// nowhere keeps the Pods of a Deployment from every node.
func nowhere(d *appsv1.Deployment) {
	d.Spec.Template.Spec.NodeSelector = map[string]string{"controlee.example/node": "none"}
}

// eventsAbout gives the Events about an object.
func eventsAbout(ctx context.Context, object client.Object) ([]eventsv1.Event, error) {
	list := &eventsv1.EventList{}
	if err := admin.List(ctx, list, client.InNamespace(object.GetNamespace())); err != nil {
		return nil, err
	}
	var events []eventsv1.Event
	for i := range list.Items {
		if list.Items[i].Regarding.UID == object.GetUID() {
			events = append(events, list.Items[i])
		}
	}
	return events, nil
}

// countEvents gives the number of Event objects about an object, by reason.
func countEvents(t *testing.T, object client.Object) map[string]int {
	t.Helper()
	events, err := eventsAbout(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for i := range events {
		count[events[i].Reason]++
	}
	return count
}

// TestWritesForOneBar counts what the operator writes for one new load balancer.
func TestWritesForOneBar(t *testing.T) {
	deployment := newDeployment(reportNamespace, "counted", "", withPods)
	create(t, deployment)
	waitReplicas(t, deployment, 1)
	since := time.Now()
	change(t, deployment, func(d *appsv1.Deployment) { askFor(d, internalClass) })
	waitExposed(t, deployment)
	waitForEventOf(t, deployment, corev1.EventTypeNormal, "EnsuredLoadBalancer")
	assertQuiet(t, 3*time.Second)

	writes := map[string]int{}
	for _, e := range operatorRequests(t, since) {
		object := e.Object()
		ofBar := object.Resource == "bars" || object.Resource == "events" || strings.HasPrefix(object.Name, deployment.Name)
		if isWrite(e) && ofBar && e.Code() < 300 { // a reconcile before the cache has the last status ends in a conflict
			writes[strings.TrimSuffix(e.Verb+" "+object.Resource+"/"+object.Subresource, "/")]++
		}
	}
	want := map[string]int{
		"create bars":       1,
		"patch bars/status": 3, // recorded, about to be made, ready
		"patch services":    1, // created by server-side apply
		"patch deployments": 1, // the annotations of the source
		"create events":     3, // the Service, Ready, and on the source EnsuredLoadBalancer
	}
	if diff := cmp.Diff(want, writes); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"EnsuredLoadBalancer": 1}, onlyLoadBalancer(countEvents(t, deployment))); diff != "" {
		t.Errorf("Events, -want +got\n%s", diff)
	}
}

// onlyLoadBalancer leaves out the Events of other controllers.
func onlyLoadBalancer(count map[string]int) map[string]int {
	for reason := range count {
		if !strings.Contains(reason, "LoadBalancer") {
			delete(count, reason)
		}
	}
	return count
}

func waitReplicas(t *testing.T, deployment *appsv1.Deployment, ready int32) {
	t.Helper()
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(deployment), deployment); err != nil {
			return err
		}
		if deployment.Status.ReadyReplicas != ready || deployment.Status.ObservedGeneration != deployment.Generation {
			return fmt.Errorf("status %+v", deployment.Status)
		}
		return nil
	})
}

// TestContestedAnnotations has another controller remove the operator's annotations as soon as they
// are there.
func TestContestedAnnotations(t *testing.T) {
	deployment := newDeployment(reportNamespace, "contested", internalClass)
	create(t, deployment)
	waitExposed(t, deployment)
	since := time.Now()
	remove := []byte(`{"metadata":{"annotations":{"controlee.dev/bar-state":null,"controlee.dev/bar-address":null}}}`)
	removals := 0
	always(t, 20*time.Second, func(ctx context.Context) error {
		live := &appsv1.Deployment{}
		if err := admin.Get(ctx, client.ObjectKeyFromObject(deployment), live); err != nil {
			return err
		}
		if _, _, told := cutState(live); !told {
			return nil
		}
		removals++
		return admin.Patch(ctx, live, client.RawPatch("application/merge-patch+json", remove), client.FieldOwner("adversary"))
	})
	patches := 0
	for _, e := range operatorRequests(t, since) {
		if object := e.Object(); isWrite(e) && object.Resource == "deployments" && object.Name == deployment.Name {
			patches++
		}
	}
	if patches < 4 || patches > 7 || removals > 7 {
		t.Errorf("%d patches against %d removals in 20 s", patches, removals)
	}
	want := map[string]int{"EnsuredLoadBalancer": 1, "LoadBalancerStateContested": 1}
	if diff := cmp.Diff(want, countEvents(t, deployment)); diff != "" {
		t.Errorf("Event objects, -want +got\n%s", diff)
	}
	// Another answer is told at once, and when the other one stops so is the present one in time.
	change(t, deployment, func(d *appsv1.Deployment) { askFor(d, "no-such-class") })
	waitState(t, deployment, v1alpha1.ReasonBarClassNotFound)
}

// TestFlappingConditionIsASeries turns a condition back and forth: the Event of each of its states
// is there once.
func TestFlappingConditionIsASeries(t *testing.T) {
	foo := newFoo(reportNamespace, "flapping", replicas(1))
	create(t, foo)
	for range 4 {
		waitReady(t, foo)
		change(t, foo, replicas(0))
		waitFor(t, foo, v1alpha1.FooReady, "True/"+v1alpha1.ReasonScaledToZero)
		change(t, foo, replicas(1))
	}
	waitReady(t, foo)
	eventually(t, wait, func(ctx context.Context) error {
		events, err := eventsAbout(ctx, foo)
		if err != nil {
			return err
		}
		for _, reason := range []string{v1alpha1.ReasonAvailable, v1alpha1.ReasonScaledToZero, "Updated"} {
			count, series := 0, (*eventsv1.EventSeries)(nil)
			for i := range events {
				if events[i].Reason == reason {
					count, series = count+1, events[i].Series
				}
			}
			if count != 1 || series == nil || series.Count < 2 {
				return fmt.Errorf("%d Event objects with reason %s, series %+v", count, reason, series)
			}
		}
		return nil
	})
}

// TestOtherFactsAreOtherEvents tells two facts with the same reason: none is hidden in the series
// of the other.
func TestOtherFactsAreOtherEvents(t *testing.T) {
	service := newService(reportNamespace, "facts", internalClass)
	create(t, service)
	for range 2 {
		for _, port := range []string{"first", "second"} {
			change(t, service, func(s *corev1.Service) { s.Annotations[v1alpha1.BarPortAnnotation] = port })
			waitState(t, service, fmt.Sprintf("InvalidPorts: the annotation controlee.dev/bar-port picks port %q", port))
		}
	}
	eventually(t, wait, func(ctx context.Context) error {
		events, err := eventsAbout(ctx, service)
		if err != nil {
			return err
		}
		notes := map[string]int{}
		for i := range events {
			if events[i].Reason == "SyncLoadBalancerFailed" {
				_, note, _ := strings.Cut(events[i].Note, "picks port ")
				notes[note] = 1
				if events[i].Series != nil {
					notes[note] = 2
				}
			}
		}
		return compare(map[string]int{`"first", which is none of 80 (http)`: 2, `"second", which is none of 80 (http)`: 2}, notes)
	})
}

func compare(want, got any) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("-want +got\n%s", diff)
	}
	return nil
}

// TestPolicyWithTheWordsOfTheAuthorizer has a platform's policy refuse what a class makes, in words
// that the authorizer uses as well.
func TestPolicyWithTheWordsOfTheAuthorizer(t *testing.T) {
	needClass(t, nodePortClass)
	const name = "no-node-ports"
	const words = `Services of type "NodePort" cannot be created here`
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: reportNamespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"services"}},
				}}},
			},
			Validations: []admissionv1.Validation{{Expression: `object.spec.?type.orValue("ClusterIP") != "NodePort"`, Message: words, Reason: ptr.To(metav1.StatusReasonForbidden)}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}
	create(t, policy)
	create(t, binding)
	eventually(t, wait, func(ctx context.Context) error {
		probe := newService(reportNamespace, "probe", "", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort })
		if err := admin.Create(ctx, probe, client.DryRunAll); !apierrors.IsForbidden(err) {
			return fmt.Errorf("the policy is not in force: %w", err)
		}
		return nil
	})

	since := time.Now()
	deployment := newDeployment(reportNamespace, "refused", nodePortClass)
	create(t, deployment)
	waitState(t, deployment, "Failed: services ")
	if _, message, _ := cutState(deployment); !strings.HasSuffix(message, words) {
		t.Errorf("the tenant is told %q", message)
	}
	waitForEventOf(t, deployment, corev1.EventTypeWarning, "SyncLoadBalancerFailed")
	for _, e := range operatorRequests(t, since) {
		if e.Object().Resource == "selfsubjectaccessreviews" {
			t.Errorf("the policy is taken for a missing right: %s", e)
		}
	}
}

// TestReadyWithoutPods says of a load balancer that answers that nobody is behind it, as long as
// that is so.
func TestReadyWithoutPods(t *testing.T) {
	deployment := newDeployment(reportNamespace, "serves", internalClass, withPods, nowhere)
	service := newService(reportNamespace, "serves", internalClass)
	other := newService(reportNamespace, "other", internalClass)
	sources := []client.Object{deployment, service}
	for _, source := range append(sources, other) {
		create(t, source)
	}
	const none = "no Pod is ready behind it yet: "
	both := func(message string) {
		t.Helper()
		for _, source := range sources {
			waitExposed(t, source)
			eventually(t, wait, func(ctx context.Context) error {
				if err := admin.Get(ctx, client.ObjectKeyFromObject(source), source); err != nil {
					return err
				}
				if word, got, _ := cutState(source); word != "Ready" || got != message {
					return fmt.Errorf("%T is told %q, %q", source, word, got)
				}
				return nil
			})
		}
	}
	both(none + `Deployment "serves" has no ready replica`)
	change(t, deployment, func(d *appsv1.Deployment) { d.Spec.Template.Spec.NodeSelector = nil })
	both("")
	change(t, deployment, func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](0) })
	both(none + `Deployment "serves" is scaled to 0`)
	waitExposed(t, other)
	if _, message, _ := cutState(other); message != "" {
		t.Errorf("of a Service that selects nobody is said %q", message)
	}
	if err := admin.Delete(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	sources = sources[1:]
	both("")
}
