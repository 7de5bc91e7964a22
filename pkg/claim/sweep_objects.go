package claim

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/tenancy"
)

// +kubebuilder:rbac:roleName=controlee-operator-tenant,groups="",resources=services,verbs=delete

// objectKinds are the kinds of object that Bars are made into.
func (s *sweep) objectKinds() []schema.GroupVersionKind {
	return append(s.options.Late.Present(), corev1.SchemeGroupVersion.WithKind("Service"))
}

// objects gives the objects of a kind, in a namespace, that carry the label of a Bar.
func (s *sweep) objects(ctx context.Context, namespace *tenancy.Namespace, kind schema.GroupVersionKind) (objects []client.Object, err error) {
	options := []client.ListOption{client.InNamespace(namespace.Name), client.HasLabels{v1alpha1.BarLabel}}
	if kind.Group == corev1.GroupName {
		services := &corev1.ServiceList{}
		if err := namespace.List(ctx, services, options...); err != nil {
			return nil, err
		}
		for i := range services.Items {
			objects = append(objects, &services.Items[i])
		}
		return objects, nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	err = namespace.List(ctx, list, options...)
	if notCached := (*cache.ErrResourceNotCached)(nil); errors.As(err, &notCached) {
		return nil, nil // a kind that has just come, or one that the operator may not list here
	}
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		objects = append(objects, &list.Items[i])
	}
	return objects, nil
}

// hasNoBar says whether an object was made for a Bar that is gone, or that no longer has it among
// its targets although it is settled. Only an object that this operator can have made counts:
// controlled by a source, and labelled with the name that this source's Bar has.
func (s *sweep) hasNoBar(ctx context.Context, namespace *tenancy.Namespace, kind string, object client.Object) (bool, error) {
	k, owner, ok := controllerOf(object)
	if !ok || !object.GetDeletionTimestamp().IsZero() {
		return false, nil
	}
	key := client.ObjectKey{Namespace: namespace.Name, Name: owner.Name}
	name := BarName(k.name, key.Namespace, key.Name)
	if object.GetLabels()[v1alpha1.BarLabel] != name {
		return false, nil
	}
	r := s.reconcilers[k.name]
	for _, from := range []struct{ system, sources client.Reader }{{s.cached, namespace}, {s.direct, s.direct}} { // what the caches say is confirmed live
		bar := &v1alpha1.Bar{}
		err := from.system.Get(ctx, client.ObjectKey{Namespace: s.systemNamespace, Name: name}, bar)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return false, err
		case err == nil && mayHave(bar, kind, object):
			return false, nil
		case err == nil:
			continue
		}
		// A source that is about to get its Bar, such as one whose namespace is served again, gets
		// its objects back with it.
		now, err := r.assess(ctx, from.sources, from.system, namespace.Tenant, key)
		if err != nil || now.tenant == nil || now.entitles(owner.UID) && !r.limits.waits(k.ref(key)) {
			return false, err
		}
	}
	return true, nil
}

// mayHave says whether an object is one of a Bar's targets, or may become one: the Bar is not
// settled, and its controller may be about to plan it or to take it away. A Bar whose status says
// that its namespace is lost has not been looked at since.
func mayHave(bar *v1alpha1.Bar, kind string, object client.Object) bool {
	settled := !bar.Spec.Release && bar.Status.ObservedGeneration == bar.Generation &&
		(bar.Status.Phase == v1alpha1.PhaseReady || bar.Status.Phase == v1alpha1.PhaseFailed) &&
		!bar.IsNamespaceLost()
	if !settled {
		return true
	}
	return slices.ContainsFunc(bar.Status.Targets, func(t v1alpha1.BarTarget) bool {
		return t.Kind == kind && t.Namespace == object.GetNamespace() && t.Name == object.GetName()
	})
}

// remove deletes an object exactly as it was judged.
func (s *sweep) remove(ctx context.Context, object client.Object) error {
	uid, resourceVersion := object.GetUID(), object.GetResourceVersion()
	err := s.direct.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &resourceVersion},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
