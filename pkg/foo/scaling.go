package foo

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// startingReplicas returns the number of Pods that the autoscaler begins with, given the present
// one. When it takes over, at first or from spec.replicas, that is the nearest one between its
// bounds. Later the number is the autoscaler's, except for 0: Kubernetes switches an autoscaler off
// where the number is 0, so it would stay there.
func startingReplicas(scaling *v1alpha1.Autoscaling, present int32, takesOver bool) int32 {
	least := ptr.Deref(scaling.MinReplicas, 1)
	if takesOver || present == 0 {
		return min(max(present, least), scaling.MaxReplicas)
	}
	return present
}

// startAutoscaling sets the number of Pods that the autoscaler begins with, if the Deployment has
// another one.
func (r *Reconciler) startAutoscaling(ctx context.Context, foo *v1alpha1.Foo, deployment *appsv1.Deployment, takesOver bool) error {
	present := ptr.Deref(deployment.Spec.Replicas, 1)
	start := startingReplicas(foo.Spec.Autoscaling, present, takesOver)
	if start == present {
		return nil
	}
	if err := r.Writer.SetReleased(ctx, deployment, int64(start), "spec", "replicas"); err != nil {
		return err
	}
	r.tell(foo, eventUpdated, "Update", deployment)
	return nil
}
