package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// modelService is the Service that a source gets: whose it is, and where it leads to.
type modelService struct {
	Bar      modelBar
	Owner    types.UID
	Selector map[string]string
	Targets  []int32
}

// checkSources compares the Bars, the Services, and what the sources are told, with what the model
// says.
func checkSources(ctx context.Context, sources []*modelSource, bars map[string]modelBar) error {
	live, err := liveSources(ctx)
	if err != nil {
		return err
	}
	services, addresses, err := modelServices(ctx)
	if err != nil {
		return err
	}
	wanted := map[string]modelService{}
	for _, s := range sources {
		name := barKey(s.object()).Name
		source, exists := live[name]
		if exists != s.exists {
			return fmt.Errorf("%s/%s exists: %t", s.namespace, s.name, exists)
		}
		var bar *modelBar
		if made, ok := bars[name]; ok {
			bar = &made
		}
		delete(bars, name)
		if !slices.ContainsFunc(s.gets(), func(may *modelBar) bool { return cmp.Equal(may, bar) }) {
			return fmt.Errorf("%s/%s, which asks for class %q with ports %v and picks %q, has %+v, and may have one of %+v",
				s.namespace, s.name, s.class, s.ports, s.pick, bar, s.gets())
		}
		if !exists {
			continue
		}
		if bar != nil {
			wanted[name] = modelService{Bar: *bar, Owner: source.GetUID(), Selector: map[string]string{"app": s.name}, Targets: bar.Ports}
		}
		if err := s.told(source, bar, addresses[name]); err != nil {
			return err
		}
	}
	if len(bars) > 0 {
		return fmt.Errorf("Bars of no source: %v", bars)
	}
	if diff := cmp.Diff(wanted, services); diff != "" {
		return fmt.Errorf("Services, -model +cluster:\n%s", diff)
	}
	return nil
}

// told checks what stands on a source: where its load balancer is, or why it does not get what it
// asks for, or nothing if it does not ask.
func (s *modelSource) told(source client.Object, bar *modelBar, address string) error {
	told := source.GetAnnotations()
	word, _, answered := cutState(source)
	_, asks, granted := s.request()
	if bar == nil {
		address = ""
	}
	if granted != (word == string(v1alpha1.PhaseReady)) || answered != asks || told[v1alpha1.BarAddressAnnotation] != address {
		return fmt.Errorf("%s/%s, which asks for class %q, is told %q and %q; has %+v, at %q",
			s.namespace, s.name, s.class, word, told[v1alpha1.BarAddressAnnotation], bar, address)
	}
	return nil
}

// liveSources gives the Deployments and Services that exist, by the names of the Bars that they
// have if they are sources.
func liveSources(ctx context.Context) (map[string]client.Object, error) {
	deployments, services := &appsv1.DeploymentList{}, &corev1.ServiceList{}
	if err := admin.List(ctx, deployments); err != nil {
		return nil, err
	}
	if err := admin.List(ctx, services); err != nil {
		return nil, err
	}
	live := map[string]client.Object{}
	for i := range deployments.Items {
		live[barKey(&deployments.Items[i]).Name] = &deployments.Items[i]
	}
	for i := range services.Items {
		live[barKey(&services.Items[i]).Name] = &services.Items[i]
	}
	return live, nil
}

// modelServices gives the Services that were made for Bars, and their addresses, by the Bar's name.
// A second one of a Bar stands beside the first.
func modelServices(ctx context.Context) (services map[string]modelService, addresses map[string]string, err error) {
	list := &corev1.ServiceList{}
	if err := admin.List(ctx, list, client.HasLabels{v1alpha1.BarLabel}); err != nil {
		return nil, nil, err
	}
	services, addresses = map[string]modelService{}, map[string]string{}
	for i := range list.Items {
		service := &list.Items[i]
		if !strings.HasPrefix(service.Namespace, "model-") {
			continue
		}
		found := modelService{Bar: modelBar{Class: internalClass, Type: service.Spec.Type}, Selector: service.Spec.Selector}
		if service.Spec.Type == corev1.ServiceTypeNodePort {
			found.Bar.Class = nodePortClass
		}
		for _, owner := range service.OwnerReferences {
			found.Owner += owner.UID
		}
		for _, port := range service.Spec.Ports {
			found.Bar.Ports = append(found.Bar.Ports, port.Port)
			found.Targets = append(found.Targets, port.TargetPort.IntVal) // 0: a name
		}
		name := service.Labels[v1alpha1.BarLabel]
		if _, second := services[name]; second {
			name += " (second)"
		}
		services[name], addresses[name] = found, service.Spec.ClusterIP
	}
	return services, addresses, nil
}
