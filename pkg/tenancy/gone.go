package tenancy

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Whether a namespace still exists is the one question that no right within that namespace can
// answer, because such a right goes with it.
//
// +kubebuilder:rbac:roleName=controlee-operator,groups="",resources=namespaces,verbs=get

// maxClockSkew is how far the clocks of two API servers may differ. A namespace that is younger
// than an object by more than that was created after the object.
const maxClockSkew = time.Minute

// IsGone reads a namespace live, its metadata alone. It returns true when the namespace in which
// something was made at the given time no longer exists: there is no namespace of that name, or
// one that was created later. Whatever was made in the old one is gone, too.
//
// A namespace that is being deleted is not gone: its objects can still be there, and serve.
func IsGone(ctx context.Context, live client.Reader, name string, made metav1.Time) (bool, error) {
	created, exists, err := readNamespace(ctx, live, name)
	return err == nil && (!exists || isYounger(created, made)), err
}

// readNamespace returns when a namespace was created, and whether it exists.
func readNamespace(ctx context.Context, live client.Reader, name string) (created metav1.Time, exists bool, err error) {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err = live.Get(ctx, client.ObjectKey{Name: name}, namespace)
	return namespace.CreationTimestamp, err == nil, client.IgnoreNotFound(err)
}

// isYounger returns whether a namespace was created after an object was made in one of that name.
func isYounger(created, made metav1.Time) bool {
	return created.After(made.Add(maxClockSkew))
}
