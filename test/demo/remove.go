package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/test/cluster"
	"github.com/controlee/controlee/test/demo/internal/tell"
)

// requestLimit is how long the requests of a removal may take. Waiting for their effects is limited by patience.
const requestLimit = time.Minute

// madeNamespaces are what the release puts its objects into; it is made sure before that they are not there.
var madeNamespaces = []string{teamANamespace, teamBNamespace, systemNamespace}

// customResourceDefinitions lists those of controlee.dev.
func (w *world) customResourceDefinitions(ctx context.Context) (map[types.UID]*unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinitionList"})
	if err := w.client.List(ctx, list); err != nil {
		return nil, err
	}
	found := map[types.UID]*unstructured.Unstructured{}
	for i := range list.Items {
		if group, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "group"); group == v1alpha1.GroupName {
			found[list.Items[i].GetUID()] = &list.Items[i]
		}
	}
	return found, nil
}

// remove undoes what the story did to a cluster that was there before: the release, the namespaces, and those
// CustomResourceDefinitions that it brought and that nobody else has come to use. When ctx is done it still asks for all
// of that, and leaves it to the cluster to get it done.
func (w *world) remove(ctx context.Context, before map[types.UID]*unstructured.Unstructured) error {
	start := time.Now()
	w.page.Line("Removing release %s, the namespaces and the CustomResourceDefinitions that came with it.", releaseName)
	requests, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestLimit)
	defer cancel()
	all := []error{w.uninstall(requests)}
	for _, name := range madeNamespaces {
		namespace := &corev1.Namespace{}
		namespace.Name = name
		all = append(all, client.IgnoreNotFound(w.client.Delete(requests, namespace)))
	}
	brought, err := w.deleteDefinitions(requests, before)
	if err := errors.Join(append(all, err)...); err != nil {
		return err
	}
	for _, name := range madeNamespaces {
		if err := w.waitGone(ctx, &corev1.Namespace{}, name); err != nil {
			return fmt.Errorf("namespace %s: %w", name, err)
		}
	}
	for _, definition := range brought {
		if err := w.waitGone(ctx, definition, definition.GetName()); err != nil {
			return fmt.Errorf("CustomResourceDefinition %s: %w", definition.GetName(), err)
		}
	}
	if ctx.Err() != nil {
		w.page.Line("All of it is being deleted; the cluster may need a moment for it.")
		return nil
	}
	w.page.Line("Removed in %s.", tell.Duration(time.Since(start)))
	return nil
}

// uninstall can do without a release: the story may have ended before there was one.
func (w *world) uninstall(ctx context.Context) error {
	secrets := &corev1.SecretList{}
	if err := w.client.List(ctx, secrets, client.InNamespace(systemNamespace), client.MatchingLabels{"owner": "helm", "name": releaseName}); err != nil {
		return err
	}
	if len(secrets.Items) == 0 {
		return nil
	}
	return w.cluster.UninstallChart(ctx, cluster.Chart{Release: releaseName, Namespace: systemNamespace, Timeout: requestLimit})
}

// deleteDefinitions returns the CustomResourceDefinitions that it deletes.
func (w *world) deleteDefinitions(ctx context.Context, before map[types.UID]*unstructured.Unstructured) (deleted []client.Object, err error) {
	now, err := w.customResourceDefinitions(ctx)
	if err != nil {
		return nil, err
	}
	var all []error
	for uid, definition := range now {
		if _, wasThere := before[uid]; wasThere {
			continue
		}
		user, err := w.userOf(ctx, definition)
		if err == nil && user != "" {
			w.page.Line("CustomResourceDefinition %s stays: somebody has made %s of it by now.", definition.GetName(), user)
			continue
		}
		if err == nil {
			err = client.IgnoreNotFound(w.client.Delete(ctx, definition, client.Preconditions{UID: &uid}))
		}
		all = append(all, err)
		deleted = append(deleted, definition)
	}
	return deleted, errors.Join(all...)
}

// userOf returns an object of a CustomResourceDefinition that is not the story's, or nothing.
func (w *world) userOf(ctx context.Context, definition *unstructured.Unstructured) (string, error) {
	kind, _, err := unstructured.NestedString(definition.Object, "spec", "names", "listKind")
	if err != nil {
		return "", err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	if err := w.client.List(ctx, list); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	for _, object := range list.Items {
		if !slices.Contains(madeNamespaces, object.GetNamespace()) {
			return client.ObjectKeyFromObject(&object).String(), nil
		}
	}
	return "", nil
}

// waitGone waits until an object is gone, or nobody wants to wait any more.
func (w *world) waitGone(ctx context.Context, object client.Object, name string) error {
	limit := time.After(patience)
	for ctx.Err() == nil {
		err := w.client.Get(ctx, client.ObjectKey{Name: name}, object)
		if apierrors.IsNotFound(err) {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		case <-limit:
			return errors.Join(&tell.MismatchError{Expected: "it to be gone within " + tell.Duration(patience), Seen: "it is there"}, err)
		}
	}
	return nil
}
