package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// A Foo that is changed from A to B has the same children as one that was created as B: the API
// server computes a default from what it has and keeps it later, so a field that the operator
// leaves out could keep the value that suited the earlier spec.
func TestFooDoesNotDependOnItsHistory(t *testing.T) {
	type spec = v1alpha1.FooSpec
	image := func(name string) func(*spec) { return func(s *spec) { s.Image = name } }
	probe := func(p v1alpha1.Probe) func(*spec) {
		return func(s *spec) {
			liveness := p
			s.Probes = &v1alpha1.Probes{Readiness: &p, Liveness: &liveness}
		}
	}
	volume := func(v v1alpha1.Volume) func(*spec) {
		return func(s *spec) {
			v.Name = "data"
			s.Volumes, s.VolumeMounts = []v1alpha1.Volume{v}, []v1alpha1.VolumeMount{{Name: "data", MountPath: "/data"}}
		}
	}
	env := func(list ...v1alpha1.EnvVar) func(*spec) { return func(s *spec) { s.Env = list } }
	account := func(name string) func(*spec) { return func(s *spec) { s.ServiceAccountName = name } }
	amounts := func(requests, limits corev1.ResourceList) func(*spec) {
		return func(s *spec) { s.Resources = v1alpha1.ResourceRequirements{Requests: requests, Limits: limits} }
	}
	cpu := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
	http := v1alpha1.Probe{HTTPGet: &v1alpha1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080), Scheme: corev1.URISchemeHTTPS}}
	configMap := v1alpha1.Volume{ConfigMap: &v1alpha1.ConfigMapVolumeSource{Name: "c"}}
	secret := v1alpha1.Volume{Secret: &v1alpha1.SecretVolumeSource{SecretName: "s"}}
	projected := v1alpha1.Volume{Projected: &v1alpha1.ProjectedVolumeSource{Sources: []v1alpha1.VolumeProjection{
		{ServiceAccountToken: &v1alpha1.ServiceAccountTokenProjection{Path: "token"}},
	}}}
	none := func(*spec) {}

	cases := map[string]struct {
		reason string
		a, b   func(*spec)
	}{
		"PinnedToLatest": {"The pull policy follows the tag.", image("registry.example/nginx:1.27"), image("registry.example/nginx:latest")},
		"NoTagToDigest": {
			"No tag stands for latest, a digest does not.",
			image("registry.example:5000/nginx"), image("registry.example:5000/nginx@sha256:" + strings.Repeat("a", 64)),
		},
		"PolicySetAndNot": {"A policy that is no longer set is a default again.", func(s *spec) { s.ImagePullPolicy = corev1.PullNever }, none},
		"Account":         {"The deprecated twin field must not bring an account back.", account("web"), none},
		"AnotherAccount":  {"Nor one of another name.", account("web"), account("api")},
		"NoProbe":         {"No default of a probe is left.", probe(http), none},
		"HTTPToGRPC":      {"A probe of one kind leaves nothing behind that makes it two.", probe(http), probe(v1alpha1.Probe{GRPC: &v1alpha1.GRPCAction{Port: 9000}})},
		"GRPCToExec": {
			"The name of a gRPC service has a default.",
			probe(v1alpha1.Probe{GRPC: &v1alpha1.GRPCAction{Port: 9000}}), probe(v1alpha1.Probe{Exec: &v1alpha1.ExecAction{Command: []string{"true"}}}),
		},
		"TCPToHTTP":         {"Path and scheme are those of the Foo.", probe(v1alpha1.Probe{TCPSocket: &v1alpha1.TCPSocketAction{Port: intstr.FromInt32(80)}}), probe(http)},
		"ConfigMapToSecret": {"The mode of the files has a default, in each kind of volume.", volume(configMap), volume(secret)},
		"SecretToProjected": {"The same.", volume(secret), volume(projected)},
		"ProjectedToEmpty":  {"The same.", volume(projected), volume(v1alpha1.Volume{EmptyDir: &v1alpha1.EmptyDirVolumeSource{}})},
		"EmptyToClaim": {
			"An empty structure leaves nothing behind.",
			volume(v1alpha1.Volume{EmptyDir: &v1alpha1.EmptyDirVolumeSource{SizeLimit: ptr.To(resource.MustParse("1Gi"))}}),
			volume(v1alpha1.Volume{PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}),
		},
		"NoVolume":       {"Nothing is left.", volume(configMap), none},
		"ModeSetAndNot":  {"A mode that is no longer set is a default again.", volume(v1alpha1.Volume{ConfigMap: &v1alpha1.ConfigMapVolumeSource{Name: "c", DefaultMode: ptr.To[int32](0o400)}}), volume(configMap)},
		"LimitsAlone":    {"A limit alone makes no request that stays.", amounts(nil, cpu), amounts(cpu, nil)},
		"NoResources":    {"Nothing is left.", amounts(cpu, cpu), none},
		"EnvOrder":       {"A variable may name one before it, so the order counts.", env(v1alpha1.EnvVar{Name: "A", Value: "1"}, v1alpha1.EnvVar{Name: "B", Value: "$(A)"}), env(v1alpha1.EnvVar{Name: "B", Value: "2"}, v1alpha1.EnvVar{Name: "C"}, v1alpha1.EnvVar{Name: "A", Value: "$(B)"})},
		"EnvValueToFrom": {"A value leaves nothing behind.", env(v1alpha1.EnvVar{Name: "A", Value: "1"}), env(v1alpha1.EnvVar{Name: "A", ValueFrom: &v1alpha1.EnvVarSource{FieldRef: &v1alpha1.FieldRef{FieldPath: "metadata.name"}}})},
		"Ports": {
			"Ports are named and renumbered.",
			func(s *spec) { s.Ports = []v1alpha1.ContainerPort{{Name: "http", ContainerPort: 8080}} },
			func(s *spec) {
				s.Ports = []v1alpha1.ContainerPort{{ContainerPort: 8080, Protocol: corev1.ProtocolUDP}, {Name: "http", ContainerPort: 80}}
			},
		},
		"Command": {
			"What is not set is the image's.",
			func(s *spec) { s.Command, s.Args = []string{"a"}, []string{"b"} }, none,
		},
		"Deadline": {"A deadline that is no longer set is a default again.", func(s *spec) { s.ProgressDeadlineSeconds = ptr.To[int32](60) }, none},
		"Bar": {
			"The port goes with the request.",
			func(s *spec) {
				s.Ports = []v1alpha1.ContainerPort{{ContainerPort: 8080}}
				s.Bar = &v1alpha1.FooBar{ClassName: "no-such-class", Port: ptr.To(intstr.FromInt32(8080))}
			}, none,
		},
		"Autoscaling": {
			"An autoscaler begins where a new one does, and leaves no number behind.",
			func(s *spec) {
				amounts(cpu, nil)(s)
				s.Replicas, s.Autoscaling = nil, &v1alpha1.Autoscaling{MinReplicas: ptr.To[int32](2), MaxReplicas: 5}
			},
			amounts(cpu, nil),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			build := func(prefix string, set func(*spec)) *v1alpha1.Foo {
				return newFoo("drift", prefix+strings.ToLower(name), replicas(0), func(f *v1alpha1.Foo) { set(&f.Spec) })
			}
			changed := build("changed-", tc.a)
			create(t, changed)
			waitApplied(t, changed)
			for prefix, set := range map[string]func(*spec){"b-": tc.b, "a-": tc.a} {
				change(t, changed, func(f *v1alpha1.Foo) { f.Spec = build("", set).Spec })
				waitApplied(t, changed)
				fresh := build(prefix, set)
				create(t, fresh)
				waitApplied(t, fresh)
				if diff := cmp.Diff(childrenOf(t, fresh), childrenOf(t, changed)); diff != "" {
					t.Errorf("%s\n-created as it is, +changed into it (%s)\n%s", tc.reason, prefix, diff)
				}
			}
		})
	}
}

// waitApplied waits until the operator has written the children of a Foo's present spec.
func waitApplied(t *testing.T, foo *v1alpha1.Foo) {
	t.Helper()
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(foo), foo); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(foo.Status.Conditions, v1alpha1.FooReady)
		if foo.Status.ObservedGeneration != foo.Generation || ready == nil {
			return fmt.Errorf("%s: status of generation %d, want %d", foo.Name, foo.Status.ObservedGeneration, foo.Generation)
		}
		if ready.Reason == v1alpha1.ReasonRefused || ready.Reason == v1alpha1.ReasonConflict {
			return errors.New(ready.Message)
		}
		return nil
	})
}

// childrenOf gives the specs of a Foo's children, without the Foo's name.
func childrenOf(t *testing.T, foo *v1alpha1.Foo) map[string]any {
	t.Helper()
	deployment := deploymentOf(t, foo)
	autoscaler, budget := &autoscalingv2.HorizontalPodAutoscaler{}, &policyv1.PodDisruptionBudget{}
	for _, child := range []client.Object{autoscaler, budget} {
		if err := client.IgnoreNotFound(admin.Get(t.Context(), client.ObjectKeyFromObject(foo), child)); err != nil {
			t.Fatal(err)
		}
	}
	annotations := deployment.Annotations
	for _, key := range []string{v1alpha1.BarStateAnnotation, v1alpha1.BarAddressAnnotation, "deployment.kubernetes.io/revision"} {
		delete(annotations, key)
	}
	data, err := json.Marshal([]any{annotations, deployment.Labels, deployment.Spec, autoscaler.Spec, budget.Spec})
	if err != nil {
		t.Fatal(err)
	}
	children := []any{}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(data), `"`+foo.Name+`"`, `"NAME"`)), &children); err != nil {
		t.Fatal(err)
	}
	return map[string]any{"annotations": children[0], "labels": children[1], "deployment": children[2], "autoscaler": children[3], "budget": children[4]}
}

// The pull policy that a Foo leaves out is the one that Kubernetes itself would take for the
// present image.
func TestPullPolicyIsThatOfTheImage(t *testing.T) {
	foo := newFoo("drift", "pull", replicas(0))
	create(t, foo)
	digest := "@sha256:" + strings.Repeat("0", 64)
	images := []string{
		"nginx", "nginx:1.27", "nginx:latest", "nginx" + digest, "nginx:1.27" + digest, "nginx:latest" + digest,
		"registry.example:5000/shop/web", "registry.example:5000/shop/web:1", "registry.example:5000/shop/web:latest", "registry.example:5000/web" + digest,
		"localhost:5000/latest", "shop/latest:v1", "nginx:LATEST", "nginx:1.27",
	}
	for _, image := range images {
		change(t, foo, func(f *v1alpha1.Foo) { f.Spec.Image = image })
		waitApplied(t, foo)
		plain := newDeployment("drift", "plain", "", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = image })
		if err := admin.Create(t.Context(), plain, client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		want := plain.Spec.Template.Spec.Containers[0].ImagePullPolicy
		if got := deploymentOf(t, foo).Spec.Template.Spec.Containers[0].ImagePullPolicy; got != want {
			t.Errorf("%s: %s, Kubernetes' own default is %s", image, got, want)
		}
	}
}
