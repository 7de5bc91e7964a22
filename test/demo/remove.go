package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/test/cluster"
)

// removeLimit is how long each part of the removal may take.
const removeLimit = 3 * time.Minute

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
// CustomResourceDefinitions that it brought and that nobody else has come to use.
func (w *world) remove(ctx context.Context, before map[types.UID]*unstructured.Unstructured) error {
	w.page.Line("Removing release %s, namespaces %s, %s and %s, and CustomResourceDefinitions.", releaseName, teamANamespace, teamBNamespace, systemNamespace)
	uninstalled := w.uninstall(ctx)
	deleted := w.deleteNamespaces(ctx, teamANamespace, teamBNamespace, systemNamespace)
	return errors.Join(uninstalled, deleted, w.deleteDefinitions(ctx, before))
}

// uninstall can do without its namespace or release: the story may have ended before they were made.
func (w *world) uninstall(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("release %s in namespace %s may be left: %w", releaseName, systemNamespace, context.Cause(ctx))
	}
	secrets := &corev1.SecretList{}
	if err := w.client.List(ctx, secrets, client.InNamespace(systemNamespace), client.MatchingLabels{"owner": "helm", "name": releaseName}); err != nil {
		return err
	}
	if len(secrets.Items) == 0 {
		return nil
	}
	return w.cluster.UninstallChart(ctx, cluster.Chart{Release: releaseName, Namespace: systemNamespace, Timeout: removeLimit})
}

func (w *world) deleteNamespaces(ctx context.Context, names ...string) error {
	ctx, cancel := context.WithTimeout(ctx, removeLimit)
	defer cancel()
	var all []error
	for _, name := range names {
		namespace := &corev1.Namespace{}
		namespace.Name = name
		all = append(all, client.IgnoreNotFound(w.client.Delete(ctx, namespace)))
	}
	for _, name := range names {
		if err := w.waitGone(ctx, &corev1.Namespace{}, name); err != nil {
			all = append(all, fmt.Errorf("namespace %s is left: %w", name, err))
		}
	}
	return errors.Join(all...)
}

func (w *world) deleteDefinitions(ctx context.Context, before map[types.UID]*unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, removeLimit)
	defer cancel()
	now, err := w.customResourceDefinitions(ctx)
	if err != nil {
		return fmt.Errorf("CustomResourceDefinitions are left: %w", err)
	}
	var all []error
	for uid, definition := range now {
		if _, wasThere := before[uid]; wasThere {
			continue
		}
		used, err := w.inUse(ctx, definition)
		if err == nil && used {
			w.page.Line("CustomResourceDefinition %s stays: somebody else has objects of it by now.", definition.GetName())
			continue
		}
		if err == nil {
			err = client.IgnoreNotFound(w.client.Delete(ctx, definition, client.Preconditions{UID: &uid}))
		}
		if err == nil {
			err = w.waitGone(ctx, definition, definition.GetName())
		}
		if err != nil {
			all = append(all, fmt.Errorf("CustomResourceDefinition %s is left: %w", definition.GetName(), err))
		}
	}
	return errors.Join(all...)
}

// inUse says whether there are objects of a CustomResourceDefinition.
func (w *world) inUse(ctx context.Context, definition *unstructured.Unstructured) (bool, error) {
	kind, _, err := unstructured.NestedString(definition.Object, "spec", "names", "listKind")
	if err != nil {
		return false, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	err = w.client.List(ctx, list, client.Limit(1))
	return len(list.Items) > 0, client.IgnoreNotFound(err)
}

func (w *world) waitGone(ctx context.Context, object client.Object, name string) error {
	for {
		err := w.client.Get(ctx, client.ObjectKey{Name: name}, object)
		if apierrors.IsNotFound(err) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
