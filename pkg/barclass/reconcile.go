package barclass

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/message"
	"github.com/controlee/controlee/pkg/provider"
	"github.com/controlee/controlee/pkg/retry"
	"github.com/controlee/controlee/pkg/tenancy"
)

// Reconciler writes the status of BarClasses.
type Reconciler struct {
	Cache     client.Reader // reads BarClasses from a cache
	Client    client.Client // writes the status
	Late      *tenancy.LateKinds
	Providers provider.Set
}

// Reconcile writes the status of one BarClass, if it differs.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	class := &v1alpha1.BarClass{}
	if err := r.Cache.Get(ctx, request.NamespacedName, class); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	status, err := desireStatus(class, r.check(class))
	if err != nil || equality.Semantic.DeepEqual(status, class.Status) {
		return reconcile.Result{}, err
	}
	changed := class.DeepCopy()
	changed.Status = status
	err = r.Client.Status().Patch(ctx, changed, client.MergeFromWithOptions(class, client.MergeFromWithOptimisticLock{}))
	return retry.Outcome(reconcile.Result{}, client.IgnoreNotFound(err), func() {})
}

// check says why a class cannot be used, nil if it can.
func (r *Reconciler) check(class *v1alpha1.BarClass) error {
	chosen, err := r.Providers.For(class)
	if err != nil {
		return err
	}
	for _, kind := range chosen.Needs(class) {
		if _, err := r.Late.Version(kind); err != nil {
			return err
		}
	}
	return nil
}

// desireStatus says what a class's status is, given what stands against its use. An error that says nothing about the class is given back.
func desireStatus(class *v1alpha1.BarClass, problem error) (v1alpha1.BarClassStatus, error) {
	ready := metav1.Condition{
		Type: v1alpha1.BarClassReady, Status: metav1.ConditionFalse, ObservedGeneration: class.Generation,
	}
	var (
		refused  *provider.RefusalError
		notThere *tenancy.NotInstalledError
	)
	switch {
	case problem == nil:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionTrue, v1alpha1.ReasonClassReady, "what the class needs is there"
	case errors.As(problem, &refused):
		ready.Reason, ready.Message = refused.Reason, refused.Message
	case errors.As(problem, &notThere):
		ready.Reason, ready.Message = v1alpha1.ReasonKindNotInstalled, notThere.Error()+"; within a minute of that the class can be used"
	default:
		return v1alpha1.BarClassStatus{}, problem
	}
	ready.Message = message.Shorten(ready.Message, message.MaxCondition)
	status := *class.Status.DeepCopy()
	status.ObservedGeneration = class.Generation
	meta.SetStatusCondition(&status.Conditions, ready)
	return status, nil
}
