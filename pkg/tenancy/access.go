package tenancy

import (
	"context"
	"fmt"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// RoleBindingName is the name of the RoleBinding that the chart makes in each tenant namespace. It gives the operator
// its rights there, and no other one does.
const RoleBindingName = "controlee-operator"

// AccessDeniedError says that the operator lacks a right in a namespace.
type AccessDeniedError struct {
	Namespace, Verb, Resource string
}

// Error tells the platform admin what is missing and how to mend it.
func (e *AccessDeniedError) Error() string {
	return fmt.Sprintf("the operator may not %s %s in namespace %s: the namespace or its RoleBinding %s is missing; an upgrade of the Helm release with the tenant in its values makes both right",
		e.Verb, e.Resource, e.Namespace, RoleBindingName)
}

// access asks the API server what the operator may do in a namespace. Every account may ask that of itself, so a missing
// RoleBinding is found out without a single refused request.
type access struct {
	options Options
}

// check returns an *AccessDeniedError when one of the kinds cannot be listed or one of the rights is missing, and any other error
// when there is no answer.
func (a *access) check(ctx context.Context, namespace string) error {
	rights := slices.Clone(a.options.Rights)
	for _, kind := range a.options.Kinds {
		gvk, err := apiutil.GVKForObject(kind, a.options.Scheme)
		if err != nil {
			return err
		}
		mapping, err := a.options.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return err
		}
		rights = append(rights, authorizationv1.ResourceAttributes{Verb: "list", Group: gvk.Group, Resource: mapping.Resource.Resource})
	}
	for kind, version := range a.options.Late.present() {
		mapping, err := a.options.Mapper.RESTMapping(kind, version)
		if err != nil {
			return err
		}
		rights = append(rights, authorizationv1.ResourceAttributes{Verb: "list", Group: kind.Group, Resource: mapping.Resource.Resource})
	}
	asked := map[authorizationv1.ResourceAttributes]bool{}
	for _, right := range rights {
		if asked[right] {
			continue // two controllers need it
		}
		asked[right] = true
		right.Namespace = namespace
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
		if err := a.options.Client.Create(ctx, review); err != nil {
			return fmt.Errorf("access review in namespace %s: %w", namespace, err)
		}
		if !review.Status.Allowed {
			return &AccessDeniedError{Namespace: namespace, Verb: right.Verb, Resource: resourceOf(right)}
		}
	}
	return nil
}

// resourceOf writes a resource as kubectl does: deployments.apps, or foos.controlee.dev/status.
func resourceOf(right authorizationv1.ResourceAttributes) string {
	name := schema.GroupResource{Group: right.Group, Resource: right.Resource}.String()
	if right.Subresource != "" {
		name += "/" + right.Subresource
	}
	return name
}
