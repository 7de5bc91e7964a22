package barclass

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/provider"
	"github.com/controlee/controlee/pkg/retry"
	"github.com/controlee/controlee/pkg/tenancy"
)

// +kubebuilder:rbac:roleName=controlee-operator,groups=controlee.dev,resources=barclasses,verbs=list;watch
// +kubebuilder:rbac:roleName=controlee-operator,groups=controlee.dev,resources=barclasses/status,verbs=patch

// SetupWithManager adds the controller. writer writes to the API server directly.
func SetupWithManager(mgr ctrl.Manager, writer client.Client, late *tenancy.LateKinds, providers provider.Set) error {
	reader := mgr.GetCache()
	c, err := controller.New("barclass", mgr, controller.Options{
		RateLimiter: retry.NewRateLimiter(),
		Reconciler:  retry.OnConflict(&Reconciler{Cache: reader, Client: writer, Late: late, Providers: providers}),
	})
	if err != nil {
		return err
	}
	if err := c.Watch(source.Kind(reader, &v1alpha1.BarClass{}, &handler.TypedEnqueueRequestForObject[*v1alpha1.BarClass]{})); err != nil {
		return err
	}
	// When the cluster gets a kind or loses one, every class may be concerned.
	return c.Watch(source.Func(func(ctx context.Context, queue tenancy.Queue) error {
		late.Notify(func() {
			classes := &v1alpha1.BarClassList{}
			if err := reader.List(ctx, classes); err != nil {
				logf.FromContext(ctx).Error(err, "Could not list BarClasses")
			}
			for i := range classes.Items {
				queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&classes.Items[i])})
			}
		})
		return nil
	}))
}
