package tenancy

import (
	"context"
	"fmt"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// RoleBindingName is the name of the RoleBinding that the chart makes in each tenant namespace. It
// gives the operator its rights there, and no other one does.
const RoleBindingName = "controlee-operator"

// checkTimeout is how long the API server may take to answer all access reviews of a namespace.
const checkTimeout = 30 * time.Second

// optionalVerbs are the rights that the operator needs on an optional kind in a namespace. The
// others come with the same rule.
var optionalVerbs = []string{"list", "patch"}

// AccessDeniedError says that the operator lacks a right in a namespace.
type AccessDeniedError struct {
	Namespace, Verb, Resource string
	// Optional is true for a right on a kind of Options.Late. The rest of the namespace is served
	// without it.
	Optional bool
}

// Error tells the platform admin what is missing and how to mend it.
func (e *AccessDeniedError) Error() string {
	if e.Optional {
		return fmt.Sprintf("the operator may not %s %s in namespace %s: the ClusterRole controlee-operator-tenant lacks that right; an upgrade of the Helm release makes it right",
			e.Verb, e.Resource, e.Namespace)
	}
	return fmt.Sprintf("the operator may not %s %s in namespace %s: the namespace or its RoleBinding %s is missing; "+
		"an upgrade of the Helm release with the tenant in its values makes both right",
		e.Verb, e.Resource, e.Namespace, RoleBindingName)
}

// access asks the API server what the operator may do in a namespace. Every account may ask that of
// itself, so a missing RoleBinding is found out without a single refused request.
type access struct {
	options Options
}

// check returns an *AccessDeniedError when one of Options.Kinds cannot be listed or one of
// Options.Rights is missing, and any other error when there is no answer.
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
	return a.review(ctx, namespace, rights, false)
}

// checkOptional does the same for one kind of Options.Late: a cluster may have its CRD before the
// operator has rights on it.
func (a *access) checkOptional(ctx context.Context, namespace string, kind schema.GroupVersionKind) error {
	mapping, err := a.options.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	rights := make([]authorizationv1.ResourceAttributes, len(optionalVerbs))
	for i, verb := range optionalVerbs {
		rights[i] = authorizationv1.ResourceAttributes{Verb: verb, Group: kind.Group, Resource: mapping.Resource.Resource}
	}
	return a.review(ctx, namespace, rights, true)
}

// review asks for each of some rights in a namespace.
func (a *access) review(ctx context.Context, namespace string, rights []authorizationv1.ResourceAttributes, optional bool) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
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
			return &AccessDeniedError{Namespace: namespace, Verb: right.Verb, Resource: resourceOf(right), Optional: optional}
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
