package tenancy

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// RoleBindingName is the name of the RoleBinding that the chart makes in each tenant namespace. It gives the operator
// its rights there, and no other one does.
const RoleBindingName = "controlee-operator"

// AccessDenied says that the operator lacks a right in a namespace.
type AccessDenied struct {
	Namespace, Verb, Resource string
}

// Error tells the platform admin what is missing and how to mend it.
func (e *AccessDenied) Error() string {
	return fmt.Sprintf("the operator may not %s %s in namespace %s: the namespace or its RoleBinding %s is missing; `helm upgrade` with the tenant in the values makes both right",
		e.Verb, e.Resource, e.Namespace, RoleBindingName)
}

// access asks the API server what the operator may do in a namespace. Every account may ask that of itself, so a missing
// RoleBinding is found out without a single refused request.
type access struct {
	client client.Client
	scheme *runtime.Scheme
	mapper meta.RESTMapper
}

// check returns an *AccessDenied when one of the kinds cannot be listed, and any other error when there is no answer.
func (a *access) check(ctx context.Context, namespace string, kinds []client.Object) error {
	for _, kind := range kinds {
		gvk, err := apiutil.GVKForObject(kind, a.scheme)
		if err != nil {
			return err
		}
		mapping, err := a.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return err
		}
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: "list", Group: gvk.Group, Version: gvk.Version, Resource: mapping.Resource.Resource,
			},
		}}
		if err := a.client.Create(ctx, review); err != nil {
			return fmt.Errorf("access review in namespace %s: %w", namespace, err)
		}
		if !review.Status.Allowed {
			return &AccessDenied{Namespace: namespace, Verb: "list", Resource: mapping.Resource.GroupResource().String()}
		}
	}
	return nil
}
