package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/claim"
)

const (
	// shop is an ordinary Deployment of team A's.
	shop = "shop"
	// barClass is the class that the chart brings: a Service that is reached from within the cluster.
	barClass = "internal"
	// fooWithBar is a Foo that asks for a load balancer, and exampleWithBar its file.
	fooWithBar     = "hello-with-bar"
	exampleWithBar = "examples/foo-with-bar.yaml"
)

// exposeDeployment has team A make a Deployment as anybody would, and ask for a load balancer with one annotation.
func (w *world) exposeDeployment(ctx context.Context) error {
	w.page.Say("No Foo this time, but what every team has: a Deployment.")
	if err := w.run(ctx, w.teamA, "create", "deployment", shop, "--image="+w.foo.Spec.Image, "--port=8080"); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	deployments, err := observe[*appsv1.Deployment](ctx, w.client, &appsv1.DeploymentList{}, teamANamespace, shop)
	if err != nil {
		return err
	}
	if err := w.run(ctx, w.teamA, "annotate", "deployment", shop, v1alpha1.BarClassAnnotation+"="+barClass); err != nil {
		return err
	}
	asked, err := deployments.until(ctx, "the annotation", func(s sighting[*appsv1.Deployment]) (bool, string) {
		class := s.object.Annotations[v1alpha1.BarClassAnnotation]
		return class == barClass, fmt.Sprintf("class %q", class)
	})
	if err != nil {
		return err
	}
	ready, err := deployments.until(ctx, "the Deployment to have an address", func(s sighting[*appsv1.Deployment]) (bool, string) {
		state, address := s.object.Annotations[v1alpha1.BarStateAnnotation], s.object.Annotations[v1alpha1.BarAddressAnnotation]
		return state == string(v1alpha1.PhaseReady) && address != "", fmt.Sprintf("state %q, address %q", state, address)
	})
	if err != nil {
		return err
	}
	if err := w.showShop(ctx); err != nil {
		return err
	}
	w.page.Say("Between the two is a Bar, where team A may not even look:")
	if err := w.refused(ctx, w.teamA, "get", "bars", "-n", systemNamespace); err != nil {
		return err
	}
	if err := w.run(ctx, w.admin, "get", "bars", "-n", systemNamespace); err != nil {
		return err
	}
	w.page.Measured("from the annotation to the address", ready.at.Sub(asked.at))
	return nil
}

// showShop shows what team A sees, and that the Service leads to the Pods.
func (w *world) showShop(ctx context.Context) error {
	told := `jsonpath={.metadata.annotations.controlee\.dev/bar-state}{" "}{.metadata.annotations.controlee\.dev/bar-address}{"\n"}`
	if err := w.run(ctx, w.teamA, "get", "deployment", shop, "-o", told); err != nil {
		return err
	}
	slices := client.MatchingLabels{v1alpha1.BarLabel: barName(shop)}
	err := eventually(ctx, "the Service to lead to a Pod that is ready", func(ctx context.Context) (bool, string) {
		list := &discoveryv1.EndpointSliceList{}
		if err := w.client.List(ctx, list, client.InNamespace(teamANamespace), slices); err != nil {
			return false, err.Error()
		}
		addresses := 0
		for i := range list.Items {
			for _, endpoint := range list.Items[i].Endpoints {
				if endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready {
					addresses += len(endpoint.Addresses)
				}
			}
		}
		return addresses > 0, fmt.Sprintf("%d EndpointSlices, %d addresses of Pods that are ready", len(list.Items), addresses)
	})
	if err != nil {
		return err
	}
	return w.run(ctx, w.teamA, "get", "services,endpointslices")
}

func barName(deployment string) string {
	return claim.BarName(v1alpha1.SourceDeployment, teamANamespace, deployment)
}

// releaseDeployment has team A delete the Deployment: its load balancer goes with it.
func (w *world) releaseDeployment(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	deployments, err := observe[*appsv1.Deployment](ctx, w.client, &appsv1.DeploymentList{}, teamANamespace, shop)
	if err != nil {
		return err
	}
	bars, err := observe[*v1alpha1.Bar](ctx, w.client, &v1alpha1.BarList{}, systemNamespace, barName(shop))
	if err != nil {
		return err
	}
	if err := w.run(ctx, w.teamA, "delete", "deployment", shop); err != nil {
		return err
	}
	deleted, err := deployments.until(ctx, "the Deployment to go", func(s sighting[*appsv1.Deployment]) (bool, string) { return s.deleted, "it is there" })
	if err != nil {
		return err
	}
	gone, err := bars.until(ctx, "the Bar to go", func(s sighting[*v1alpha1.Bar]) (bool, string) {
		return s.deleted, "it is " + string(s.object.Status.Phase)
	})
	if err != nil {
		return err
	}
	if err := w.run(ctx, w.teamA, "get", "services"); err != nil {
		return err
	}
	if err := w.run(ctx, w.admin, "get", "bars", "-n", systemNamespace); err != nil {
		return err
	}
	w.page.Measured("from the end of the Deployment to that of the Bar", gone.at.Sub(deleted.at))
	return nil
}

// exposeFoo has team A apply a Foo that asks for a load balancer.
func (w *world) exposeFoo(ctx context.Context) error {
	w.page.Say("A Foo asks with spec.bar, and says where it answers:")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	foos, err := observe[*v1alpha1.Foo](ctx, w.client, &v1alpha1.FooList{}, teamANamespace, fooWithBar)
	if err != nil {
		return err
	}
	if err := w.run(ctx, w.teamA, "apply", "-f", exampleWithBar); err != nil {
		return err
	}
	applied, err := foos.until(ctx, "the Foo", func(s sighting[*v1alpha1.Foo]) (bool, string) { return !s.deleted, "it is deleted" })
	if err != nil {
		return err
	}
	for _, condition := range []string{v1alpha1.FooReady, v1alpha1.FooExposed} {
		if err := w.run(ctx, w.teamA, "wait", "--for=condition="+condition, "foo/"+fooWithBar, "--timeout="+patienceFlag); err != nil {
			return err
		}
	}
	exposed, err := foos.until(ctx, "the Foo to have an address", func(s sighting[*v1alpha1.Foo]) (bool, string) {
		return s.object.Status.Address != "", fmt.Sprintf("%+v", s.object.Status.Conditions)
	})
	if err != nil {
		return err
	}
	if err := w.run(ctx, w.teamA, "get", "foo"); err != nil {
		return err
	}
	if err := w.run(ctx, w.admin, "get", "bars", "-n", systemNamespace, "-o", "wide"); err != nil {
		return err
	}
	w.page.Measured("from the Foo to its address", exposed.at.Sub(applied.at))
	return nil
}
