package claim

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/message"
	"github.com/controlee/controlee/pkg/retry"
)

// report tells a source what becomes of its load balancer, where that differs from what the source
// says. It gives the delay until the source has to be told (again), 0 for none.
func (r *Reconciler) report(ctx context.Context, reader client.Reader, source client.Object, answer Answer) (later time.Duration, err error) {
	answer, err = withReadiness(ctx, reader, source, answer)
	if err != nil {
		return 0, err
	}
	memory := r.reports.of(source)
	memory.observe(answer, r.reports.clock.Now())
	defer r.reports.keep(source, memory)
	later, err = r.annotate(ctx, source, answer, memory)
	if err != nil {
		return 0, err
	}
	ingress, err := r.reportIngress(ctx, source, answer, memory)
	return sooner(later, ingress), err
}

// annotate writes the annotations of a source, unless the answer is held back. What the API server
// does not take, as where the annotations of a source are full, an Event says.
func (r *Reconciler) annotate(ctx context.Context, source client.Object, answer Answer, memory *reported) (later time.Duration, err error) {
	present := source.GetAnnotations()
	before := news{state: present[v1alpha1.BarStateAnnotation], address: present[v1alpha1.BarAddressAnnotation]}
	after := news{state: answer.State(), address: answer.Address()}
	if !after.differ(present) {
		if !answer.transitional() {
			memory.heldBack = ""
		}
		return 0, nil
	}
	now := r.reports.clock.Now()
	if wait := memory.wait(after, now); wait > 0 {
		return wait, nil
	}
	changed, err := r.writer.Annotate(ctx, source, after.annotations())
	if retry.IsRefusal(err) {
		memory.annotations.wrote(after.topic(), before.value(), news{}.value(), now)
		r.recorder.Eventf(source, nil, corev1.EventTypeWarning, eventFailed, "Annotate", "%s", message.Shorten(untold(after, err), message.MaxEventNote))
		// Rather no answer than an old one: the address may be another tenant's by now.
		_, err = r.writer.Annotate(ctx, source, news{}.annotations())
		if retry.IsRefusal(err) {
			err = nil
		}
		return retry.Jitter(retry.AfterRefusal), err
	}
	if err != nil || !changed {
		return 0, err
	}
	found := before.value()
	if after.state == "" && memory.heldBack == string(v1alpha1.PhaseReleasing) {
		before.state = memory.heldBack // a release that was over before it was told
	}
	memory.heldBack = ""
	last := memory.annotations.last
	switch first, contested := memory.annotations.wrote(after.topic(), found, after.value(), now); {
	case first:
		r.announce(source, before, after)
	case contested:
		r.contested(source, "the annotations "+v1alpha1.BarStateAnnotation+" and "+v1alpha1.BarAddressAnnotation, writersSince(last, source, ""))
	}
	return 0, nil
}

// contested says that something else keeps changing what the operator writes on a source, and which
// field managers that may be.
func (r *Reconciler) contested(source client.Object, what string, managers []string) {
	suspicion := ""
	if len(managers) > 0 {
		suspicion = " (this object was written meanwhile by " + strings.Join(managers, ", ") + ")"
	}
	r.recorder.Eventf(source, nil, corev1.EventTypeWarning, eventContested, "SyncLoadBalancer",
		"something else keeps removing or changing %s, which are the operator's%s: have it ignore them. The operator writes them again, at most once in %s",
		what, suspicion, lastRewrite)
}

// operatorManagers begins the names of the operator's field managers.
const operatorManagers = "controlee-"

// writersSince gives the field managers besides the operator's that have written a source, or a
// subresource of it, since a time. One that removes what it does not own, and writes nothing else,
// is not among them.
func writersSince(since time.Time, source client.Object, subresource string) (managers []string) {
	for _, entry := range source.GetManagedFields() {
		// Times are in seconds there.
		if entry.Time != nil && !entry.Time.Time.Before(since.Truncate(time.Second)) && entry.Subresource == subresource &&
			!strings.HasPrefix(entry.Manager, operatorManagers) {
			managers = append(managers, quote(entry.Manager))
		}
	}
	return managers
}

// untold says that a source cannot be told its news, and why.
func untold(n news, err error) string {
	why := err.Error()
	if apierrors.IsInvalid(err) && strings.Contains(why, "metadata.annotations: Too long") {
		why = "make room in metadata.annotations, which are full"
	}
	return fmt.Sprintf("%s cannot be written: %s. It would be: %s", v1alpha1.BarStateAnnotation,
		message.Shorten(why, message.MaxEventNote/2), cmp.Or(n.state, "nothing"))
}

// reportIngress writes the status of a Service whose class is a BarClass.
func (r *Reconciler) reportIngress(ctx context.Context, source client.Object, answer Answer, memory *reported) (later time.Duration, err error) {
	service, ok := source.(*corev1.Service)
	if !ok || isBarObject(service) || loadBalancerClass(service) == "" {
		return 0, nil // the status of other Services is other controllers'
	}
	ingress := answer.ingress()
	if equality.Semantic.DeepEqual(service.Status.LoadBalancer.Ingress, ingress) {
		return 0, nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": service.UID},
		"status":   map[string]any{"loadBalancer": map[string]any{"ingress": ingress}},
	})
	if err != nil {
		return 0, err
	}
	now := r.reports.clock.Now()
	if wait := memory.ingress.wait(string(patch), now); wait > 0 {
		return wait, nil
	}
	if err := r.direct.Status().Patch(ctx, service, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(FieldManager)); err != nil {
		return 0, err
	}
	last := memory.ingress.last
	if _, contested := memory.ingress.wrote(string(patch), "", string(patch), now); contested {
		r.contested(source, "the addresses in status.loadBalancer", writersSince(last, source, "status"))
	}
	return 0, nil
}
