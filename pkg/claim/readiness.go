package claim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/tenancy"
)

// NoPodReady says that no Pod is ready behind a load balancer, given the Deployments whose Pods it
// leads to; "" when one of them has a ready replica, or when no Deployment is known. starting says
// whether Pods are to be expected.
func NoPodReady(deployments ...*appsv1.Deployment) (text string, starting bool) {
	var causes []string
	for _, deployment := range slices.SortedFunc(slices.Values(deployments), byName) {
		switch state := readinessOf(deployment); {
		case state.ready:
			return "", false
		case state.stopped:
			causes = append(causes, fmt.Sprintf("Deployment %q is scaled to 0", deployment.Name))
		default:
			causes = append(causes, fmt.Sprintf("Deployment %q has no ready replica", deployment.Name))
			starting = true
		}
	}
	if len(causes) == 0 {
		return "", false
	}
	return "no Pod is ready behind it yet: " + strings.Join(causes, ", "), starting
}

func byName(a, b *appsv1.Deployment) int { return cmp.Compare(a.Name, b.Name) }

// readiness is what of a Deployment decides about the state of a load balancer that leads to its
// Pods.
type readiness struct {
	ready, stopped bool
	labels         string // of its Pods
}

func readinessOf(deployment *appsv1.Deployment) readiness {
	return readiness{
		ready:   deployment.Status.ReadyReplicas > 0,
		stopped: ptr.Deref(deployment.Spec.Replicas, 1) == 0,
		labels:  labels.Set(deployment.Spec.Template.Labels).String(),
	}
}

// withReadiness adds to the answer that a load balancer is ready whether no Pod is ready behind it.
func withReadiness(ctx context.Context, reader client.Reader, source client.Object, answer Answer) (Answer, error) {
	if answer.Word != string(v1alpha1.PhaseReady) {
		return answer, nil
	}
	deployments, err := deploymentsBehind(ctx, reader, source)
	if err != nil {
		return answer, err
	}
	note := answer.Message
	answer.Message, answer.starting = NoPodReady(deployments...)
	return answer.noting(note), nil
}

// deploymentsBehind gives the Deployments whose Pods a source leads to. Other Pods that a Service
// selects are not known.
func deploymentsBehind(ctx context.Context, reader client.Reader, source client.Object) ([]*appsv1.Deployment, error) {
	switch source := source.(type) {
	case *appsv1.Deployment:
		return []*appsv1.Deployment{source}, nil
	case *corev1.Service:
		list := &appsv1.DeploymentList{}
		if err := reader.List(ctx, list, client.InNamespace(source.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		var behind []*appsv1.Deployment
		for i := range list.Items {
			if selects(source, &list.Items[i]) {
				behind = append(behind, &list.Items[i])
			}
		}
		return behind, nil
	}
	return nil, nil
}

// selects says whether a Service selects the Pods of a Deployment.
func selects(service *corev1.Service, deployment *appsv1.Deployment) bool {
	return len(service.Spec.Selector) > 0 && labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(deployment.Spec.Template.Labels))
}

// readinessEvents brings a Deployment whose readiness has changed to the Services that lead to its
// Pods.
func (r *Reconciler) readinessEvents() handler.EventHandler {
	enqueue := func(ctx context.Context, queue tenancy.Queue, objects ...client.Object) {
		for _, object := range objects {
			if deployment, ok := object.(*appsv1.Deployment); ok {
				for _, request := range r.servicesOf(ctx, deployment) {
					queue.Add(request)
				}
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, queue tenancy.Queue) {
			if !e.IsInInitialList { // then the Services are new as well, and are not reconciled before the cache is filled
				enqueue(ctx, queue, e.Object)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue tenancy.Queue) {
			before, isBefore := e.ObjectOld.(*appsv1.Deployment)
			after, isAfter := e.ObjectNew.(*appsv1.Deployment)
			if isBefore && isAfter && readinessOf(before) != readinessOf(after) {
				enqueue(ctx, queue, before, after)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue tenancy.Queue) {
			enqueue(ctx, queue, e.Object)
		},
	}
}

// servicesOf gives the Services that ask for a load balancer and lead to the Pods of a Deployment.
func (r *Reconciler) servicesOf(ctx context.Context, deployment *appsv1.Deployment) (requests []reconcile.Request) {
	namespace, served := r.namespaces.Lookup(deployment.Namespace)
	if !served {
		return nil
	}
	list := &corev1.ServiceList{}
	if err := namespace.List(ctx, list, client.InNamespace(deployment.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		logf.FromContext(ctx).Error(err, "Could not list the Services of a namespace", "namespace", deployment.Namespace)
		return nil
	}
	for i := range list.Items {
		service := &list.Items[i]
		if className, _ := classOf(service); className != "" && selects(service, deployment) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(service)})
		}
	}
	return requests
}
