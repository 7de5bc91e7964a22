package bar

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/message"
	"github.com/controlee/controlee/pkg/retry"
	"github.com/controlee/controlee/pkg/tenancy"
)

const (
	// lossGrace is how long a namespace must be lost before its Bars say so: a RoleBinding that is
	// deleted and created again, as `helm upgrade` may do, is no outage.
	lossGrace = 30 * time.Second
	// untilLooked is how long a Bar waits, during lossGrace, before its namespace is looked for
	// again.
	untilLooked = 5 * time.Second
	// untilLookedAgain is the same once the Bar says that its namespace is lost.
	untilLookedAgain = time.Minute
)

// outOfReach handles a Bar whose namespace is not served. The operator can do nothing there, and
// sees nothing: so the targets, and with them the exclusive names, are kept until the namespace
// itself is seen to be gone. It returns gone when that is so. During lossGrace a failure to look is
// no error: the next look is due soon.
func (w *work) outOfReach(ctx context.Context) (gone bool, result reconcile.Result, err error) {
	namespace := w.bar.Spec.SourceRef.Namespace
	since, lost := w.Namespaces.LostSince(namespace)
	if !lost {
		return false, reconcile.Result{RequeueAfter: retry.Jitter(untilServed)}, nil
	}
	gone, lookErr := tenancy.IsGone(ctx, w.Client, namespace, w.bar.CreationTimestamp)
	if gone {
		return true, reconcile.Result{}, nil
	}
	if left := lossGrace - w.Now().Sub(since); left > 0 && !w.bar.IsNamespaceLost() {
		return false, reconcile.Result{RequeueAfter: min(retry.Jitter(untilLooked), left+time.Millisecond)}, nil
	}
	// Whether the namespace exists may be unknown. That it is lost is known, and has to be
	// reported.
	w.next = namespaceLost(w.bar)
	if err := errors.Join(w.write(ctx), lookErr); err != nil {
		return false, reconcile.Result{}, err
	}
	return false, reconcile.Result{RequeueAfter: retry.Jitter(untilLookedAgain)}, nil
}

// namespaceLost is the status of a Bar whose namespace is lost. All that was recorded is kept.
func namespaceLost(bar *v1alpha1.Bar) v1alpha1.BarStatus {
	phase := v1alpha1.PhaseFailed
	if bar.Spec.Release {
		phase = v1alpha1.PhaseReleasing
	}
	return status(bar, phase, bar.Status.Targets, v1alpha1.ReasonNamespaceLost, lostMessage(bar))
}

// namespaceGone is the status of a Bar whose namespace is gone, and with it all objects there. The
// claim controller then releases the Bar.
func namespaceGone(bar *v1alpha1.Bar) v1alpha1.BarStatus {
	result := status(bar, v1alpha1.PhaseFailed, nil, v1alpha1.ReasonNamespaceLost,
		fmt.Sprintf("namespace %s is gone, and with it the load balancer, which is about to be released", bar.Spec.SourceRef.Namespace))
	result.Addresses = nil
	return result
}

// lostMessage says what is kept, why, and what a platform admin can do. Only those read Bars.
func lostMessage(bar *v1alpha1.Bar) string {
	namespace := bar.Spec.SourceRef.Namespace
	kept := make([]string, 0, len(bar.Status.Targets))
	for i := range bar.Status.Targets {
		target := &bar.Status.Targets[i]
		text := target.Kind + " " + target.Name
		if _, name, ok := strings.Cut(target.Holds, "/"); ok {
			text += " with " + name
		}
		kept = append(kept, text)
	}
	slices.Sort(kept)
	what := "nothing"
	if len(kept) > 0 {
		what = strings.Join(kept, ", ")
	}
	// The last part is what an admin needs, so a long list of objects must not push it out of the
	// message.
	what = message.Shorten(what, message.MaxCondition/2)
	return fmt.Sprintf("the operator cannot see namespace %[1]s: no Tenant names it, or RoleBinding %[2]s or ClusterRole controlee-operator-tenant is missing. "+
		"Kept, because it may still be there and serve: %[3]s. Either have the namespace served again, by an upgrade of the Helm release with the tenant in its values, "+
		"or give the load balancer up: delete these objects in namespace %[1]s, then run `kubectl delete bar %[4]s -n %[5]s`",
		namespace, tenancy.RoleBindingName, what, bar.Name, bar.Namespace)
}
