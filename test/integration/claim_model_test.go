package integration

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

var (
	modelSpan = flag.Duration("model-span", time.Minute, "how long TestRandomSources changes sources")
	modelSeed = flag.Uint64("model-seed", 20240229, "what TestRandomSources chooses by")
)

const (
	modelNamespaces = 20
	modelSources    = 200
)

func modelNamespace(i int) string { return fmt.Sprintf("model-%02d", i) }

// modelTenants share the namespaces of the model: one may use one class, the other both.
func modelTenants() []map[string]any {
	var few, many []string
	for i := range modelNamespaces {
		if i < modelNamespaces/2 {
			few = append(few, modelNamespace(i))
		} else {
			many = append(many, modelNamespace(i))
		}
	}
	one, both := newTenant("model-one", few...), newTenant("model-both", many...)
	both["allowedBarClasses"] = []any{internalClass, nodePortClass}
	return []map[string]any{one, both}
}

// modelSource is a source as the model sees it.
type modelSource struct {
	service   bool
	namespace string
	name      string
	exists    bool
	class     string // asked for; empty: none
	ports     []int32
	pick      string // the annotation bar-port
	// kept is what a request that cannot be granted may leave: which of the earlier requests the
	// operator has met is a matter of time.
	kept []*modelBar
}

// modelBar is what a source gets: where, of which class, with which ports.
type modelBar struct {
	Class string
	Type  corev1.ServiceType
	Ports []int32
}

// request is what a source asks for, if anything, and if that can be granted.
func (s *modelSource) request() (bar modelBar, asks, granted bool) {
	if !s.exists || s.class == "" {
		return modelBar{}, false, false
	}
	few := s.namespace < modelNamespace(modelNamespaces/2)
	if s.class != internalClass && (s.class != nodePortClass || few) {
		return modelBar{}, true, false
	}
	ports := slices.Clone(s.ports)
	if s.pick != "" {
		ports = slices.DeleteFunc(ports, func(port int32) bool { return fmt.Sprint(port) != s.pick })
	}
	if len(ports) == 0 {
		return modelBar{}, true, false
	}
	kind := corev1.ServiceTypeClusterIP
	if s.class == nodePortClass {
		kind = corev1.ServiceTypeNodePort
	}
	return modelBar{Class: s.class, Type: kind, Ports: ports}, true, true
}

// gets are the rules, once more and as plain as they can be: what a source may have in the end. nil
// stands for no load balancer.
func (s *modelSource) gets() []*modelBar {
	switch bar, asks, granted := s.request(); {
	case granted:
		return []*modelBar{&bar}
	case asks:
		return s.kept
	default:
		return []*modelBar{nil}
	}
}

// remember notes what the present request may leave to the next one.
func (s *modelSource) remember(recreated bool) {
	if recreated || len(s.kept) == 0 {
		s.kept = []*modelBar{nil}
	}
	if bar, asks, granted := s.request(); granted {
		s.kept = append(s.kept, &bar)
	} else if !asks {
		s.kept = append(s.kept, nil)
	}
}

// object makes what the API server is to have of the source.
func (s *modelSource) object() client.Object {
	if s.service {
		return newService(s.namespace, s.name, "", func(service *corev1.Service) { s.apply(service) })
	}
	return newDeployment(s.namespace, s.name, "", func(d *appsv1.Deployment) { s.apply(d) })
}

func (s *modelSource) apply(object client.Object) {
	askFor(object, s.class)
	annotations := object.GetAnnotations()
	delete(annotations, v1alpha1.BarPortAnnotation)
	if s.pick != "" {
		annotations[v1alpha1.BarPortAnnotation] = s.pick
	}
	switch o := object.(type) {
	case *appsv1.Deployment:
		container := &o.Spec.Template.Spec.Containers[0]
		container.Ports = nil
		for _, port := range s.ports {
			container.Ports = append(container.Ports, corev1.ContainerPort{ContainerPort: port, Protocol: corev1.ProtocolTCP})
		}
	case *corev1.Service:
		o.Spec.Ports = nil
		for _, port := range s.ports {
			o.Spec.Ports = append(o.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", port), Port: port, TargetPort: intstr.FromInt32(port)})
		}
	}
}

// mutate changes the source at random, in the model.
func (s *modelSource) mutate(random *rand.Rand) {
	if !s.exists {
		s.exists = true
	}
	switch random.IntN(6) {
	case 0:
		s.class = ""
	case 1, 2:
		s.class = []string{internalClass, nodePortClass}[random.IntN(2)]
	case 3:
		s.ports = [][]int32{{80}, {80, 443}, {443, 8080}}[random.IntN(3)]
	case 4:
		s.pick = []string{"", "80", "8080"}[random.IntN(3)]
	case 5:
		s.exists = false
	}
}

// push brings a source of the API server to what the model says. recreate deletes it first, even if
// it exists and is wanted.
func (s *modelSource) push(ctx context.Context, recreate bool) error {
	object := s.object()
	if recreate || !s.exists {
		if err := admin.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil || !s.exists {
			return client.IgnoreNotFound(err)
		}
	}
	for {
		err := admin.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) {
			fresh := s.object()
			err = admin.Create(ctx, fresh)
		} else if err == nil {
			s.apply(object)
			err = admin.Update(ctx, object)
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
}

// Two hundred sources in twenty namespaces are made, changed, deleted and made again at random, and
// the operator is killed and started in between. In the end there is exactly what the rules say,
// and nothing else.
func TestRandomSources(t *testing.T) {
	t.Logf("go test -run TestRandomSources -model-seed=%d -model-span=%s", *modelSeed, *modelSpan)
	random := rand.New(rand.NewPCG(*modelSeed, 0))
	needClass(t, nodePortClass)
	sources := make([]*modelSource, modelSources)
	for i := range sources {
		sources[i] = &modelSource{
			service: i%2 == 1, namespace: modelNamespace(i / 2 % modelNamespaces), name: fmt.Sprintf("s%d", i/(2*modelNamespaces)),
			class: internalClass, ports: []int32{80},
		}
	}
	t.Cleanup(func() {
		for _, s := range sources {
			_ = admin.Delete(context.Background(), s.object())
		}
	})

	changes, kills := 0, 0
	end, nextKill := time.Now().Add(*modelSpan), time.Now().Add(15*time.Second)
	for time.Now().Before(end) {
		s := sources[random.IntN(len(sources))]
		s.mutate(random)
		recreate := random.IntN(10) == 0
		if err := s.push(t.Context(), recreate); err != nil {
			t.Fatalf("change %d: %v", changes, err)
		}
		s.remember(recreate || !s.exists)
		changes++
		if time.Now().After(nextKill) {
			leader := waitForLeader(t)
			leader.Kill()
			restart(t, leader)
			kills++
			nextKill = time.Now().Add(15 * time.Second)
		}
		time.Sleep(5 * time.Millisecond)
	}
	granted := 0
	for _, s := range sources {
		if _, _, ok := s.request(); ok {
			granted++
		}
	}
	if granted == 0 {
		t.Fatal("nothing is granted: what comes out says nothing")
	}
	t.Logf("%d changes, %d kills; the requests of %d of %d sources can be granted", changes, kills, granted, len(sources))
	began := time.Now()
	eventually(t, 2*time.Minute, func(ctx context.Context) error {
		bars, err := modelBars(ctx)
		if err != nil {
			return err
		}
		return checkSources(ctx, sources, bars)
	})
	t.Logf("as the model says %s after the last change", time.Since(began).Round(time.Millisecond))
	assertQuiet(t, 3*time.Second)
}

// modelBars gives the Bars of the model's tenants that are ready.
func modelBars(ctx context.Context) (map[string]modelBar, error) {
	list := &v1alpha1.BarList{}
	if err := admin.List(ctx, list, client.InNamespace(systemNamespace)); err != nil {
		return nil, err
	}
	bars := map[string]modelBar{}
	for i := range list.Items {
		bar := &list.Items[i]
		if bar.Spec.Tenant != "model-one" && bar.Spec.Tenant != "model-both" {
			continue
		}
		found := modelBar{Class: bar.Spec.ClassName, Type: corev1.ServiceType(bar.Status.Phase)}
		if bar.Status.Phase == v1alpha1.PhaseReady && bar.Status.ObservedGeneration == bar.Generation {
			found.Type = map[string]corev1.ServiceType{internalClass: corev1.ServiceTypeClusterIP, nodePortClass: corev1.ServiceTypeNodePort}[bar.Spec.ClassName]
		}
		for _, port := range bar.Spec.Ports {
			found.Ports = append(found.Ports, port.Port)
		}
		bars[bar.Name] = found
	}
	return bars, nil
}

// What the test above calls a rule is checked against what it is told to be.
func TestModel(t *testing.T) {
	few, many := modelNamespace(0), modelNamespace(modelNamespaces-1)
	cases := map[string]struct {
		source modelSource
		gets   bool
	}{
		"Asks":           {modelSource{namespace: few, exists: true, class: internalClass, ports: []int32{80}}, true},
		"Gone":           {modelSource{namespace: few, class: internalClass, ports: []int32{80}}, false},
		"DoesNotAsk":     {modelSource{namespace: few, exists: true, ports: []int32{80}}, false},
		"MayNot":         {modelSource{namespace: few, exists: true, class: nodePortClass, ports: []int32{80}}, false},
		"May":            {modelSource{namespace: many, exists: true, class: nodePortClass, ports: []int32{80}}, true},
		"PicksWhatIsNot": {modelSource{namespace: few, exists: true, class: internalClass, ports: []int32{80}, pick: "8080"}, false},
	}
	for name, tc := range cases {
		tc.source.remember(false)
		if got := tc.source.gets(); tc.gets != (got[len(got)-1] != nil) || tc.gets && len(got) != 1 {
			t.Errorf("%s: %v", name, got)
		}
	}
	typo := modelSource{namespace: few, exists: true, class: internalClass, ports: []int32{80}}
	typo.remember(true)
	typo.pick = "8080"
	typo.remember(false)
	if got := typo.gets(); len(got) != 2 || got[0] != nil || got[1] == nil {
		t.Errorf("a typo may leave %v, want nothing yet, or what was granted before", got)
	}
}
