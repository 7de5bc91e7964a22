package tenancy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/message"
)

// statusReconciler writes into a Tenant's status which of its namespaces are served, and why not the others.
type statusReconciler struct {
	client          client.Client
	registry        *Registry
	systemNamespace string
}

// Reconcile writes only when something differs.
func (r *statusReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	tenants := &v1alpha1.TenantList{}
	if err := r.client.List(ctx, tenants, client.InNamespace(r.systemNamespace)); err != nil {
		return reconcile.Result{}, err
	}
	index := slices.IndexFunc(tenants.Items, func(t v1alpha1.Tenant) bool { return t.Name == request.Name })
	if index < 0 {
		return reconcile.Result{}, nil
	}
	tenant := tenants.Items[index]
	refused := Assign(tenants.Items, r.systemNamespace).Refused[tenant.Name]
	status := desiredStatus(&tenant, r.registry.States(tenant.Name), refused, metav1.Now())
	if equality.Semantic.DeepEqual(status, tenant.Status) {
		return reconcile.Result{}, nil
	}
	changed := tenant.DeepCopy()
	changed.Status = status
	patch := client.MergeFromWithOptions(&tenant, client.MergeFromWithOptimisticLock{})
	err := r.client.Status().Patch(ctx, changed, patch)
	return reconcile.Result{}, client.IgnoreNotFound(err)
}

// desiredStatus says what is served of a Tenant, given the states of the namespaces that are assigned to it and the refusals
// of those that are not.
func desiredStatus(tenant *v1alpha1.Tenant, states map[string]State, refused map[string]Refusal, now metav1.Time) v1alpha1.TenantStatus {
	status := *tenant.Status.DeepCopy()
	status.ObservedGeneration = tenant.Generation
	status.Namespaces = nil

	engaged, reason := 0, ""
	var messages []string
	for _, name := range slices.Sorted(slices.Values(tenant.Spec.Namespaces)) {
		entry := v1alpha1.TenantNamespaceStatus{Name: name, Since: now}
		if refusal, ok := refused[name]; ok {
			entry.State, entry.Reason, entry.Message = v1alpha1.NamespaceRefused, refusal.Reason, refusal.Message
		} else if state, ok := states[name]; ok {
			entry.State, entry.Reason, entry.Message = state.State, state.Reason, state.Message
		} else {
			// Assigned, but this replica has not heard of the assignment yet; it is told of the change.
			entry.State, entry.Reason = v1alpha1.NamespacePending, v1alpha1.ReasonCacheNotSynced
		}
		for _, before := range tenant.Status.Namespaces {
			if before.Name == name && before.State == entry.State && before.Reason == entry.Reason {
				entry.Since = before.Since
			}
		}
		status.Namespaces = append(status.Namespaces, entry)
		if entry.State == v1alpha1.NamespaceEngaged {
			engaged++
			continue
		}
		if reason == "" {
			reason = entry.Reason
		}
		if entry.Message != "" {
			messages = append(messages, fmt.Sprintf("%s: %s", name, entry.Message))
		}
	}

	condition := metav1.Condition{
		Type:               v1alpha1.TenantEngaged,
		Status:             metav1.ConditionFalse,
		Reason:             reason,
		Message:            strings.Join(messages, "; "),
		ObservedGeneration: tenant.Generation,
		LastTransitionTime: now,
	}
	switch total := len(tenant.Spec.Namespaces); {
	case engaged == total:
		condition.Status, condition.Reason = metav1.ConditionTrue, v1alpha1.ReasonEngaged
		condition.Message = "every namespace is served"
	case engaged > 0:
		condition.Reason = v1alpha1.ReasonPartlyEngaged
	}
	condition.Message = message.Shorten(condition.Message, message.MaxCondition)
	meta.SetStatusCondition(&status.Conditions, condition)
	return status
}
