package claim

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/names"
)

// BarName gives the name of the Bar of a source.
func BarName(kind v1alpha1.BarSourceKind, namespace, name string) string {
	return names.Derive(name, string(kind), namespace, name)
}

// kind is one of the kinds of source.
type kind struct {
	name   v1alpha1.BarSourceKind
	group  string
	object func() client.Object
	list   func() client.ObjectList
}

// kinds are all of them. Each has a controller of its own.
var kinds = []kind{
	{
		name: v1alpha1.SourceDeployment, group: appsv1.GroupName,
		object: func() client.Object { return &appsv1.Deployment{} },
		list:   func() client.ObjectList { return &appsv1.DeploymentList{} },
	},
	{
		name: v1alpha1.SourceService, group: corev1.GroupName,
		object: func() client.Object { return &corev1.Service{} },
		list:   func() client.ObjectList { return &corev1.ServiceList{} },
	},
}

// read gives a source, or nil when there is none.
func (k kind) read(ctx context.Context, reader client.Reader, key client.ObjectKey) (client.Object, error) {
	source := k.object()
	if err := reader.Get(ctx, key, source); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return source, nil
}

// isGoing says whether a source is being deleted: somebody's finalizer may hold it, but it asks for nothing any more.
func isGoing(source client.Object) bool { return !source.GetDeletionTimestamp().IsZero() }

// ref gives the reference to a source, without its UID, that tells it from all others.
func (k kind) ref(key client.ObjectKey) v1alpha1.BarSourceReference {
	return v1alpha1.BarSourceReference{APIGroup: k.group, Kind: k.name, Namespace: key.Namespace, Name: key.Name}
}

// nameless is a reference without the UID.
func nameless(ref v1alpha1.BarSourceReference) v1alpha1.BarSourceReference {
	ref.UID = ""
	return ref
}

// controllerOf gives the source that controls an object, if one does.
func controllerOf(object client.Object) (kind, metav1.OwnerReference, bool) {
	owner := metav1.GetControllerOf(object)
	if owner == nil {
		return kind{}, metav1.OwnerReference{}, false
	}
	version, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return kind{}, metav1.OwnerReference{}, false
	}
	for _, k := range kinds {
		if string(k.name) == owner.Kind && k.group == version.Group {
			return k, *owner, true
		}
	}
	return kind{}, metav1.OwnerReference{}, false
}

// waiter is a source that waits for room in its tenant's limit.
type waiter struct {
	source  v1alpha1.BarSourceReference // without UID
	created time.Time
}
