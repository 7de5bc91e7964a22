package offboard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/claim"
	"github.com/controlee/controlee/pkg/tenancy"
)

// left returns what is left of a Tenant's load balancers, and what each waits for. It reads the
// caches or, with live, the API server.
func (r *Reconciler) left(ctx context.Context, tenant *v1alpha1.Tenant, live bool) ([]string, error) {
	bars := r.Cache
	if live {
		bars = r.Client
	}
	left, err := leftBars(ctx, bars, r.SystemNamespace, tenant)
	if err != nil {
		return nil, err
	}
	kinds, err := r.kinds(ctx, live)
	if err != nil {
		return nil, err
	}
	for _, name := range ownNamespaces(tenant) {
		namespace, served := r.Namespaces.Lookup(name)
		if !served || namespace.Tenant != tenant.Name {
			why, err := r.unserved(ctx, tenant, name)
			if err != nil {
				return nil, err
			}
			left = append(left, why...)
			continue
		}
		here, err := r.leftIn(ctx, namespace, kinds, live)
		if err != nil {
			return nil, fmt.Errorf("namespace %s: %w", name, err)
		}
		left = append(left, here...)
	}
	return left, nil
}

// ownNamespaces are the namespaces of a Tenant without those that it names and an older Tenant has:
// what is in these is not its own to release.
func ownNamespaces(tenant *v1alpha1.Tenant) []string {
	return slices.DeleteFunc(slices.Clone(tenant.Spec.Namespaces), func(name string) bool {
		return slices.ContainsFunc(tenant.Status.Namespaces, func(status v1alpha1.TenantNamespaceStatus) bool {
			return status.Name == name && (status.Reason == v1alpha1.ReasonNamespaceClaimed || status.Reason == v1alpha1.ReasonSystemNamespace)
		})
	})
}

// unserved says why it is not known what is left in a namespace. In one that does not exist nothing
// is.
func (r *Reconciler) unserved(ctx context.Context, tenant *v1alpha1.Tenant, name string) ([]string, error) {
	if gone, err := tenancy.IsGone(ctx, r.Client, name, metav1.Now()); gone || err != nil {
		return nil, err
	}
	why := ""
	for _, status := range tenant.Status.Namespaces {
		if status.Name == name && status.State != v1alpha1.NamespaceEngaged && status.Message != "" {
			why = ": " + status.Message
		}
	}
	return []string{"namespace " + name + ", which is not served, so that nothing can be released in it" + why}, nil
}

// leftBars returns the Bars of a Tenant, and those of others in its namespaces.
func leftBars(ctx context.Context, reader client.Reader, systemNamespace string, tenant *v1alpha1.Tenant) (left []string, err error) {
	bars := &v1alpha1.BarList{}
	if err := reader.List(ctx, bars, client.InNamespace(systemNamespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	for i := range bars.Items {
		bar := &bars.Items[i]
		source := &bar.Spec.SourceRef
		if bar.Spec.Tenant != tenant.Name && !slices.Contains(ownNamespaces(tenant), source.Namespace) {
			continue
		}
		item := fmt.Sprintf("Bar %s of %s %s/%s", bar.Name, source.Kind, source.Namespace, source.Name)
		if why := claim.AnswerOf(bar).Message; why != "" {
			item += " (" + why + ")"
		}
		left = append(left, item)
	}
	return left, nil
}

// kinds returns the kinds that Bars are made into besides Services, each in a version that is
// served. With live it asks the API server: one that serves a kind only in versions that nobody
// here knows, or knows yet, still has the objects. A kind without a served version is gone, and its
// objects with it.
func (r *Reconciler) kinds(ctx context.Context, live bool) ([]schema.GroupVersionKind, error) {
	if !live {
		return r.Late.Present(), nil
	}
	var kinds []schema.GroupVersionKind
	for _, kind := range r.Kinds {
		versions, err := r.Late.Served(ctx, kind.GroupKind)
		if err != nil {
			return nil, err
		}
		if len(versions) > 0 {
			kinds = append(kinds, kind.WithVersion(versions[0]))
		}
	}
	return kinds, nil
}

// leftIn returns what is left in a namespace.
func (r *Reconciler) leftIn(ctx context.Context, namespace *tenancy.Namespace, kinds []schema.GroupVersionKind, live bool) (left []string, err error) {
	var reader client.Reader = namespace
	if live {
		reader = r.Client
	}
	services, deployments, foos := &corev1.ServiceList{}, &appsv1.DeploymentList{}, &v1alpha1.FooList{}
	for _, list := range []client.ObjectList{services, deployments, foos} {
		if err := reader.List(ctx, list, client.InNamespace(namespace.Name), client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
	}
	for i := range services.Items {
		if object := &services.Items[i]; isMade(object) {
			left = append(left, describe("Service", object))
		} else {
			left = append(left, traces("Service", object)...)
		}
	}
	for i := range deployments.Items {
		left = append(left, traces("Deployment", &deployments.Items[i])...)
	}
	for i := range foos.Items {
		if foo := &foos.Items[i]; foo.DeletionTimestamp.IsZero() && !isReported(foo) {
			left = append(left, fmt.Sprintf("Foo %s/%s, whose status does not say yet that it is no longer managed", foo.Namespace, foo.Name))
		}
	}
	for _, kind := range kinds {
		routes, err := leftOfKind(ctx, reader, namespace, kind)
		if err != nil {
			return nil, err
		}
		left = append(left, routes...)
	}
	return left, nil
}

// leftOfKind returns the objects of a kind that were made for a Bar.
func leftOfKind(ctx context.Context, reader client.Reader, namespace *tenancy.Namespace, kind schema.GroupVersionKind) (left []string, err error) {
	if denied := namespace.Denied(kind.GroupKind()); denied != nil {
		return []string{fmt.Sprintf("what there is of kind %s in namespace %s (%s)", kind.Kind, namespace.Name, denied)}, nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	err = reader.List(ctx, list, client.InNamespace(namespace.Name), client.HasLabels{v1alpha1.BarLabel}, client.UnsafeDisableDeepCopy)
	switch notCached := (*cache.ErrResourceNotCached)(nil); {
	// That the list is not found says nothing of the objects: the version may have gone since the
	// kinds were determined.
	case errors.As(err, &notCached), apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return []string{fmt.Sprintf("what there is of kind %s in namespace %s, which is about to be read", kind.Kind, namespace.Name)}, nil
	case err != nil:
		return nil, err
	}
	for i := range list.Items {
		left = append(left, describe(kind.Kind, &list.Items[i]))
	}
	return left, nil
}

func isMade(object client.Object) bool {
	_, made := object.GetLabels()[v1alpha1.BarLabel]
	return made
}

// isReported returns whether a Foo says that it is no longer managed.
func isReported(foo *v1alpha1.Foo) bool {
	ready := meta.FindStatusCondition(foo.Status.Conditions, v1alpha1.FooReady)
	return ready != nil && ready.Reason == v1alpha1.ReasonTenantLeaving
}

// describe names an object that was made for a Bar, and what holds it.
func describe(kind string, object client.Object) string {
	item := fmt.Sprintf("%s %s/%s", kind, object.GetNamespace(), object.GetName())
	switch {
	case object.GetDeletionTimestamp().IsZero():
		return item
	case len(object.GetFinalizers()) == 0:
		return item + " (it is being deleted)"
	default:
		return fmt.Sprintf("%s (it is being deleted and held by the finalizers %s)", item, strings.Join(object.GetFinalizers(), ", "))
	}
}

// traces returns what the operator wrote on a source and has not removed yet. The removal can be
// refused, such as by a policy: of an annotation package claim then writes an Event on the source.
func traces(kind string, source client.Object) []string {
	fields := claim.Traces(source)
	if len(fields) == 0 {
		return nil
	}
	name := fmt.Sprintf("%s %s/%s", kind, source.GetNamespace(), source.GetName())
	reason := "the Events of " + name
	if !slices.ContainsFunc(fields, func(field string) bool { return strings.HasPrefix(field, "the annotation ") }) {
		reason = "the operator's log"
	}
	return []string{fmt.Sprintf("%s of %s (if it stays, see %s)", strings.Join(fields, " and "), name, reason)}
}
