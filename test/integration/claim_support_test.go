package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/claim"
)

// BarClasses of the tests besides the chart's own.
const (
	internalClass = "internal"
	nodePortClass = "test-node-port"
	passingClass  = "test-passing" // comes and goes
	graceClass    = "test-grace"   // has a grace period; all others have none
	shortClass    = "test-short"   // has a short grace period
)

// breakGlassGroup may write Bars and their objects, for what only a fault can bring about.
const breakGlassGroup = "break-glass"

// claimTenants are those whose sources ask for load balancers.
func claimTenants() []map[string]any {
	claims := newTenant("claims", "claim-basic", "claim-refused", "claim-class", "claim-foo", "claim-service", "claim-sweep", "claim-grace", "claim-report")
	claims["allowedBarClasses"] = []any{internalClass, nodePortClass, passingClass, graceClass, shortClass}
	limited := newTenant("limited", "limited-a", "limited-b")
	limited["maxBars"] = 2
	return append([]map[string]any{claims, limited}, modelTenants()...)
}

// needClass makes a BarClass of node ports, once for all tests.
func needClass(t *testing.T, name string) *v1alpha1.BarClass {
	t.Helper()
	class := &v1alpha1.BarClass{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.BarClassSpec{Provider: v1alpha1.BarProvider{
			Type: v1alpha1.ServiceProvider, Service: &v1alpha1.ServiceProviderSpec{Type: corev1.ServiceTypeNodePort},
		}, ReleaseGracePeriodSeconds: ptr.To[int32](0)},
	}
	if err := admin.Create(t.Context(), class); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	return class
}

// newDeployment makes a Deployment that opts in with a class, or not, and runs no Pods.
func newDeployment(namespace, name, class string, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](0),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "web", Image: "registry.example/web:1", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
				}}},
			},
		},
	}
	askFor(d, class)
	for _, change := range changes {
		change(d)
	}
	return d
}

// newService makes a Service that opts in with a class, or not.
func newService(namespace, name, class string, changes ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": name},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
	askFor(s, class)
	for _, change := range changes {
		change(s)
	}
	return s
}

// askFor sets the annotation that opts in, or removes it.
func askFor(object client.Object, class string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, v1alpha1.BarClassAnnotation)
	if class != "" {
		annotations[v1alpha1.BarClassAnnotation] = class
	}
	object.SetAnnotations(annotations)
}

// barKey gives the name of the Bar of a source.
func barKey(source client.Object) client.ObjectKey {
	kind := v1alpha1.SourceDeployment
	if _, ok := source.(*corev1.Service); ok {
		kind = v1alpha1.SourceService
	}
	return client.ObjectKey{Namespace: systemNamespace, Name: claim.BarName(kind, source.GetNamespace(), source.GetName())}
}

// barObject is the Bar of a source with its name alone.
func barObject(source client.Object) *v1alpha1.Bar {
	key := barKey(source)
	return &v1alpha1.Bar{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
}

// waitState waits until the state on a source begins with want; "" stands for none.
func waitState(t *testing.T, source client.Object, want string) {
	t.Helper()
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(source), source); err != nil {
			return err
		}
		state, told := source.GetAnnotations()[v1alpha1.BarStateAnnotation]
		if want == "" && told || !strings.HasPrefix(state, want) {
			return fmt.Errorf("the state of %s is %q, want %q", source.GetName(), state, want)
		}
		return nil
	})
}

// waitExposed waits until a source's load balancer is ready, and gives its Bar and the one Service that is there for it.
func waitExposed(t *testing.T, source client.Object) (*v1alpha1.Bar, *corev1.Service) {
	t.Helper()
	waitState(t, source, string(v1alpha1.PhaseReady))
	bar, services := &v1alpha1.Bar{}, &corev1.ServiceList{}
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(source), source); err != nil {
			return err
		}
		if err := admin.Get(ctx, barKey(source), bar); err != nil {
			return err
		}
		if bar.Status.Phase != v1alpha1.PhaseReady || bar.Spec.SourceRef.UID != source.GetUID() || bar.Status.ObservedGeneration != bar.Generation {
			return fmt.Errorf("Bar %+v of source %s", bar, source.GetUID())
		}
		if err := admin.List(ctx, services, client.InNamespace(source.GetNamespace()), client.MatchingLabels{v1alpha1.BarLabel: bar.Name}); err != nil {
			return err
		}
		if len(services.Items) != 1 {
			return fmt.Errorf("%d Services of Bar %s", len(services.Items), bar.Name)
		}
		if address := source.GetAnnotations()[v1alpha1.BarAddressAnnotation]; address != services.Items[0].Spec.ClusterIP {
			return fmt.Errorf("the address on the source is %q, the Service has %q", address, services.Items[0].Spec.ClusterIP)
		}
		return nil
	})
	return bar, &services.Items[0]
}

// waitUnexposed waits until nothing is left of a source's load balancer.
func waitUnexposed(t *testing.T, source client.Object) {
	t.Helper()
	eventually(t, wait, func(ctx context.Context) error {
		if err := nothingLeft(ctx, source); err != nil {
			return err
		}
		err := admin.Get(ctx, client.ObjectKeyFromObject(source), source)
		if err == nil && source.GetAnnotations()[v1alpha1.BarAddressAnnotation] != "" {
			return errors.New("the source still has an address")
		}
		return client.IgnoreNotFound(err)
	})
}

// nothingLeft checks that there is neither a Bar of a source nor an object of it.
func nothingLeft(ctx context.Context, source client.Object) error {
	bar := &v1alpha1.Bar{}
	if err := admin.Get(ctx, barKey(source), bar); !apierrors.IsNotFound(err) {
		return fmt.Errorf("Bar of %s: %w %+v", source.GetName(), err, bar.Status)
	}
	services := &corev1.ServiceList{}
	if err := admin.List(ctx, services, client.InNamespace(source.GetNamespace()), client.MatchingLabels{v1alpha1.BarLabel: barKey(source).Name}); err != nil {
		return err
	}
	if len(services.Items) > 0 {
		return fmt.Errorf("%d Services of %s are left", len(services.Items), source.GetName())
	}
	return nil
}

// withoutOperator stops all operators, does something, and starts them again.
func withoutOperator(t *testing.T, do func()) {
	t.Helper()
	for _, process := range operators {
		if err := process.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	do()
	for _, process := range operators {
		restart(t, process)
	}
	waitForLeader(t)
}

// changeTenant changes a Tenant until the end of the test.
func changeTenant(t *testing.T, name string, set func(*v1alpha1.TenantSpec)) {
	t.Helper()
	tenant := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: name}}
	change(t, tenant, func(tenant *v1alpha1.Tenant) { set(&tenant.Spec) })
}

// assertQuiet checks that the operator writes nothing for a while. The end of a series of Events may be written minutes after its last one.
func assertQuiet(t *testing.T, span time.Duration) {
	t.Helper()
	time.Sleep(time.Second) // what is under way comes to an end
	since := time.Now()
	time.Sleep(span)
	for _, e := range operatorRequests(t, since) {
		if isWrite(e) && (e.Object().Resource != "events" || e.Verb != "patch") {
			t.Errorf("wrote although nothing changed: %s", e)
		}
	}
}

// cutState gives the word and the message of the state on a source.
func cutState(source client.Object) (word, message string, told bool) {
	state, told := source.GetAnnotations()[v1alpha1.BarStateAnnotation]
	word, message, _ = strings.Cut(state, ": ")
	return word, message, told
}

// useClaimRights makes the operator use each right that it has for claims.
func useClaimRights(t *testing.T) {
	t.Helper()
	deployment := newDeployment("claim-basic", "rights", internalClass)
	service := newService("claim-basic", "rights", "", withClass(v1alpha1.LoadBalancerClassPrefix+internalClass))
	create(t, deployment)
	create(t, service)
	waitExposed(t, deployment)
	_, made := waitExposed(t, service)
	waitIngress(t, service, made.Spec.ClusterIP)
	change(t, deployment, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Ports[0].ContainerPort = 9090 })
	waitExposed(t, deployment)
	change(t, deployment, func(d *appsv1.Deployment) { askFor(d, "") }) // deleted, the garbage collector might be faster than the operator
	waitUnexposed(t, deployment)
	for _, source := range []client.Object{deployment, service} {
		if err := admin.Delete(t.Context(), source); err != nil {
			t.Fatal(err)
		}
		waitUnexposed(t, source)
	}
}

// addTenant adds a tenant of one namespace to the release, until the end of the test, and waits until
// it is served.
func addTenant(t *testing.T, tenant map[string]any, namespace string) {
	t.Helper()
	if err := shared.UpgradeChart(t.Context(), release(append(tenants(), tenant)...)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shared.UpgradeChart(context.Background(), release(tenants()...)); err != nil {
			t.Error(err)
		}
		_ = admin.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	})
	name, _ := tenant["name"].(string)
	waitEngaged(t, name, metav1.ConditionTrue, v1alpha1.ReasonEngaged)
}
