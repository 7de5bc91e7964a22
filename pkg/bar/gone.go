package bar

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// isVersionMissing says whether the API server does not serve the version of a kind that was asked
// for. It then answers NotFound, as for an object that is gone, but not with a Status of its own:
// no API is behind the path.
func isVersionMissing(err error) bool {
	return meta.IsNoMatchError(err) ||
		apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// readTarget reads the metadata of an object live; nil if the object is gone. Where the recorded
// version is no longer served, it reads the object in a version that is. Without any the CRD was
// deleted, and all objects with it.
func (w *work) readTarget(ctx context.Context, target *v1alpha1.BarTarget) (*metav1.PartialObjectMetadata, error) {
	kind := schema.GroupKind{Group: target.APIGroup, Kind: target.Kind}
	key := client.ObjectKey{Namespace: target.Namespace, Name: target.Name}
	object, err := w.readMetadata(ctx, kind.WithVersion(target.Version), key)
	if !isVersionMissing(err) {
		return object, err
	}
	versions, err := w.Late.Served(ctx, kind)
	if err != nil || len(versions) == 0 {
		return nil, err
	}
	return w.readMetadata(ctx, kind.WithVersion(versions[0]), key)
}

// readMetadata returns nil without an error for an object that the API server says is gone.
func (w *work) readMetadata(ctx context.Context, kind schema.GroupVersionKind, key client.ObjectKey) (*metav1.PartialObjectMetadata, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	err := w.Client.Get(ctx, key, object)
	switch {
	case err == nil:
		return object, nil
	case apierrors.IsNotFound(err) && !isVersionMissing(err):
		return nil, nil
	default:
		return nil, err
	}
}
