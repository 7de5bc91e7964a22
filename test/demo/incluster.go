package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// clusterOperators are Pods that really run, from the image in DEMO_IMAGE.
type clusterOperators struct {
	w *world
}

func (o *clusterOperators) start(ctx context.Context) error {
	return o.restore(ctx)
}

// kill deletes a Pod by force. A kubelet that is there may still let it end in order, and the Lease then passes on sooner.
func (o *clusterOperators) kill(ctx context.Context, pod *corev1.Pod) (time.Time, error) {
	at := time.Now()
	err := o.w.run(ctx, o.w.admin, "delete", "pod", pod.Name, "-n", pod.Namespace, "--force", "--grace-period=0", "--wait=false")
	o.w.page.Say("To the API server it is gone; its process may still get the time to give up its Lease.")
	return at, err
}

func (o *clusterOperators) restore(ctx context.Context) error {
	expected := fmt.Sprintf("%d available Pods of Deployment %s/%s", operatorReplicas, systemNamespace, operatorName)
	return eventually(ctx, expected, func(ctx context.Context) (bool, string) {
		deployment := &appsv1.Deployment{}
		if err := o.w.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: operatorName}, deployment); err != nil {
			return false, err.Error()
		}
		status := deployment.Status
		current := status.ObservedGeneration >= deployment.Generation
		return current && status.AvailableReplicas == operatorReplicas, fmt.Sprintf("%d", status.AvailableReplicas)
	})
}

func (o *clusterOperators) logs(ctx context.Context) string {
	pods, err := operatorPods(ctx, o.w.client)
	if err != nil {
		return err.Error()
	}
	var text strings.Builder
	for _, pod := range pods {
		out, errOut, _ := o.w.try(ctx, o.w.admin, "logs", pod.Name, "-n", pod.Namespace, "--tail=20")
		text.WriteString(out + errOut)
	}
	return text.String()
}
