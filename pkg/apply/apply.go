// Package apply is the only writer of the objects that Controlee makes for others.
//
// It writes with server-side apply, one field manager per controller, and only when the fields that this
// manager owns in the live object differ from the wanted ones: a converged object costs no request.
// It never takes over an object that it does not control.
package apply

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Writer writes on behalf of one controller.
type Writer struct {
	// Client writes to the API server.
	Client client.Client
	// FieldManager is the controller's own. Two controllers that shared one would drop each other's fields.
	FieldManager string
}

// Ensure makes an object that owner controls hold exactly the wanted fields, and leaves everybody else's fields alone.
//
// wanted is an apply configuration with apiVersion, kind, name and namespace; Ensure adds the owner reference.
// live is the object as the cache has it, with the managed fields that KeepManagedFields keeps, or a zero object
// when the cache has none. On return live holds what the API server answered.
//
// A *ForeignError means that the name is taken by an object that owner does not control: it stays as it is. Other
// errors are the API server's.
func (w *Writer) Ensure(ctx context.Context, owner, live client.Object, wanted runtime.ApplyConfiguration) error {
	gvk, err := w.Client.GroupVersionKindFor(owner)
	if err != nil {
		return err
	}
	return w.EnsureControlled(ctx, *metav1.NewControllerRef(owner, gvk), live, wanted)
}

// EnsureControlled is Ensure for an owner of which only the reference is at hand. It is to be the object's controller.
func (w *Writer) EnsureControlled(ctx context.Context, controller metav1.OwnerReference, live client.Object, wanted runtime.ApplyConfiguration) error {
	config, err := toUnstructured(wanted)
	if err != nil {
		return err
	}
	config.SetOwnerReferences([]metav1.OwnerReference{controller})

	if live.GetUID() == "" {
		// Without force: if the cache has not seen an object of this name yet, any field that somebody else set to another
		// value is a conflict, and the object stays as it is. The next try finds it in the cache.
		return w.apply(ctx, live, config)
	}
	if err := mustControl(controller, live, config.GetKind()); err != nil {
		return err
	}
	owned, err := ownedFields(live, w.FieldManager)
	if err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(owned.Object, config.Object) {
		return nil
	}
	return w.update(ctx, live, config)
}

// update applies with force: a field that we mean is ours, whoever changed it. The UID keeps an object that was
// deleted and made again by somebody else in the meantime from being taken for the one that was checked.
func (w *Writer) update(ctx context.Context, live client.Object, config *unstructured.Unstructured) error {
	config.SetUID(live.GetUID())
	return w.apply(ctx, live, config, client.ForceOwnership)
}

func (w *Writer) apply(ctx context.Context, live client.Object, config *unstructured.Unstructured, opts ...client.ApplyOption) error {
	opts = append(opts, client.FieldOwner(w.FieldManager))
	if err := w.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(config), opts...); err != nil {
		return err
	}
	if object, ok := live.(*unstructured.Unstructured); ok {
		object.Object = config.Object
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(config.Object, live)
}

// Delete deletes an object that owner controls, exactly as it was read: a newer version or another object of the
// same name is not deleted. What is absent, being deleted already, or not owner's is left alone.
// The result says whether a request was made.
func (w *Writer) Delete(ctx context.Context, owner, live client.Object) (bool, error) {
	if live.GetUID() == "" || !live.GetDeletionTimestamp().IsZero() || !metav1.IsControlledBy(live, owner) {
		return false, nil
	}
	uid, resourceVersion := live.GetUID(), live.GetResourceVersion()
	err := w.Client.Delete(ctx, live, client.Preconditions{UID: &uid, ResourceVersion: &resourceVersion},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	return true, client.IgnoreNotFound(err)
}

// toUnstructured gives the JSON form of an apply configuration: the fields that are set, and no others.
func toUnstructured(config runtime.ApplyConfiguration) (*unstructured.Unstructured, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(config)
	if err != nil {
		return nil, fmt.Errorf("apply configuration %T: %w", config, err)
	}
	return &unstructured.Unstructured{Object: object}, nil
}

// Release gives up a field of live without changing its value, so that somebody else can own it: to just leave it out of
// the next apply would set it back to its default. Whoever writes the field next, by update or apply, takes it over.
// It does nothing when this writer does not own the field. The result says whether it did.
func (w *Writer) Release(ctx context.Context, live client.Object, path ...string) (bool, error) {
	owned, err := ownedFields(live, w.FieldManager)
	if err != nil {
		return false, err
	}
	value, found, err := unstructured.NestedFieldCopy(owned.Object, path...)
	if err != nil || !found {
		return false, err
	}
	return true, w.SetReleased(ctx, live, value, path...)
}

// SetReleased sets a field of live and leaves it to whoever writes it next, as Release does. The
// resource version keeps a value that somebody else has written in the meantime.
func (w *Writer) SetReleased(ctx context.Context, live client.Object, value any, path ...string) error {
	gvk, err := w.Client.GroupVersionKindFor(live)
	if err != nil {
		return err
	}
	config := &unstructured.Unstructured{}
	config.SetGroupVersionKind(gvk)
	config.SetNamespace(live.GetNamespace())
	config.SetName(live.GetName())
	config.SetResourceVersion(live.GetResourceVersion())
	if err := unstructured.SetNestedField(config.Object, value, path...); err != nil {
		return err
	}
	holder := &Writer{Client: w.Client, FieldManager: w.FieldManager + "-released"}
	return holder.update(ctx, live, config)
}
