package tenancy

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := live.Get(ctx, client.ObjectKey{Name: name}, namespace)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return namespace.CreationTimestamp.After(made.Add(maxClockSkew)), nil
}
