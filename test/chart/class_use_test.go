package chart_test

import (
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/controlee/controlee/pkg/api/v1alpha1"
)

// byClass is a Service that opts in by its class.
func byClass(name, class string) *corev1.Service {
	s := service(name, nil, nil)
	s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, ptr.To(v1alpha1.LoadBalancerClassPrefix+class)
	return s
}

// Whoever asks for a load balancer is asked for the verb "use" on its class; whoever leaves the class as it is, is not.
func TestClassUse(t *testing.T) {
	e := start(t)
	_, operator := e.locked(t)
	alice := newClient(t, e.user(t, "alice"))

	t.Run("create", func(t *testing.T) { testClassAtCreate(t, e, alice, operator) })
	t.Run("what is written as a class", func(t *testing.T) { testMessagesAreAlwaysThere(t, e) })
	t.Run("update", func(t *testing.T) { testClassAtUpdate(t, alice) })
	t.Run("by the status", func(t *testing.T) { testClassThroughStatus(t, e, alice) })
	t.Run("a class taken away later", func(t *testing.T) { testClassTakenAway(t, e, alice, operator) })
}

func testClassAtCreate(t *testing.T, e *env, alice, operator client) {
	annotated := func(class string) map[string]string { return map[string]string{v1alpha1.BarClassAnnotation: class} }
	creates := map[string]func(c client, namespace, class string) error{
		"Deployment": func(c client, namespace, class string) error {
			_, err := c.AppsV1().Deployments(namespace).Create(t.Context(), deployment("dry", annotated(class)), dryRun)
			return err
		},
		"Service": func(c client, namespace, class string) error {
			_, err := c.CoreV1().Services(namespace).Create(t.Context(), service("dry", nil, annotated(class)), dryRun)
			return err
		},
		"Service by its class": func(c client, namespace, class string) error {
			_, err := c.CoreV1().Services(namespace).Create(t.Context(), byClass("dry", class), dryRun)
			return err
		},
		"Foo": func(c client, namespace, class string) error {
			_, err := c.dynamic.Resource(fooGVR).Namespace(namespace).Create(t.Context(), foo("dry", class), dryRun)
			return err
		},
	}
	e.grant(t, "elsewhere", person("alice"))
	admin := client{e.kube, e.dynamic}
	for kind, create := range creates {
		t.Run(kind, func(t *testing.T) {
			admitted(t, "an editor, a class of the team's", create(alice, "team-a", "internal"))
			refused(t, "an editor, another class", create(alice, "team-a", "edge"), classUse,
				"alice may not use BarClass edge in namespace team-a", "(kubectl auth can-i --list --namespace team-a lists them")
			refused(t, "an editor, a class that is not there", create(alice, "team-a", "nowhere"), classUse, "alice may not use BarClass nowhere in namespace team-a")
			admitted(t, "who has all rights in a namespace", create(alice, "elsewhere", "edge"))
			admitted(t, "who has all rights", create(admin, "team-a", "edge"))
			admitted(t, "the operator", create(operator, "team-a", "edge"))
		})
	}
	for _, class := range []string{"Internal", "-x", "a.b", ""} {
		refused(t, "a name that is none", creates["Deployment"](admin, "team-a", class), classUse, `"`+class+`" is not the name of a BarClass`, "such as internal")
	}
	// The API server says that the part behind the slash has to be a label's.
	refused(t, "a Service's class that is none", creates["Service by its class"](admin, "team-a", "In_ternal"), classUse, `"In_ternal" is not the name of a BarClass`)

	both := byClass("dry", "edge")
	both.Annotations = annotated("internal")
	_, err := alice.CoreV1().Services("team-a").Create(t.Context(), both, dryRun)
	refused(t, "an allowed class besides one that is not", err, classUse, "alice may not use BarClass edge in namespace team-a")

	foreign := byClass("dry", "x")
	foreign.Spec.LoadBalancerClass = ptr.To("example.com/x")
	_, err = alice.CoreV1().Services("team-a").Create(t.Context(), foreign, dryRun)
	admitted(t, "another controller's class", err)
	annotatedFoo := foo("dry", "")
	annotatedFoo.SetAnnotations(annotated("edge"))
	_, err = alice.dynamic.Resource(fooGVR).Namespace("team-a").Create(t.Context(), annotatedFoo, dryRun)
	admitted(t, "the annotation on a Foo, where it means nothing", err)
}

var dryRun = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

func testClassAtUpdate(t *testing.T, alice client) {
	deployments := alice.AppsV1().Deployments("team-a")
	patch := func(fields string) error {
		_, err := deployments.Patch(t.Context(), "plain", types.MergePatchType, []byte(fields), metav1.PatchOptions{})
		return err
	}
	const annotation = `{"metadata": {"annotations": {"controlee.dev/bar-class": `
	if _, err := deployments.Create(t.Context(), deployment("plain", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	refused(t, "a class that she may not use", patch(annotation+`"edge"}}}`), classUse, "may not use BarClass edge")
	admitted(t, "a class that she may use", patch(annotation+`"internal"}}}`))
	refused(t, "a change to one that she may not", patch(annotation+`"edge"}}}`), classUse)
	admitted(t, "the same class again", patch(annotation+`"internal"}}}`))
	admitted(t, "no class", patch(annotation+`null}}}`))

	foos := alice.dynamic.Resource(fooGVR).Namespace("team-a")
	if _, err := foos.Create(t.Context(), foo("plain", "internal"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := foos.Patch(t.Context(), "plain", types.MergePatchType, []byte(`{"spec": {"bar": {"className": "edge"}}}`), metav1.PatchOptions{})
	refused(t, "a change of a Foo's class", err, classUse)

	services := alice.CoreV1().Services("team-a")
	if _, err := services.Create(t.Context(), byClass("plain", "internal"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = services.Patch(t.Context(), "plain", types.MergePatchType, []byte(annotation+`"internal"}}}`), metav1.PatchOptions{})
	admitted(t, "the same class in another way", err)
}

// A class that its author may no longer use: the operator takes the load balancer away; until then, and after, everything
// that leaves the class alone works.
func testClassTakenAway(t *testing.T, e *env, alice, operator client) {
	// As if alice had been allowed before.
	annotations := map[string]string{v1alpha1.BarClassAnnotation: "edge"}
	if _, err := e.kube.AppsV1().Deployments("team-a").Create(t.Context(), deployment("web", annotations), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.dynamic.Resource(fooGVR).Namespace("team-a").Create(t.Context(), foo("web", "edge"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.kube.CoreV1().Services("team-a").Create(t.Context(), byClass("web", "edge"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	deployments := alice.AppsV1().Deployments("team-a")
	revision := func(want string) {
		t.Helper()
		eventually(t, "the Deployment controller is at revision "+want, func() bool {
			current, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
			return err == nil && current.Annotations["deployment.kubernetes.io/revision"] == want && current.Status.ObservedGeneration == current.Generation
		})
	}
	revision("1") // an annotation that the Deployment controller writes

	kubeconfig := t.TempDir() + "/kubeconfig"
	if err := e.WriteKubeconfig(kubeconfig, e.user(t, "alice"), "team-a"); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"rollout", "restart", "deployment/web"},
		{"scale", "deployment/web", "--replicas=2"},
		{"set", "image", "deployment/web", "main=example.invalid/web:2"},
		{"annotate", "deployment/web", "example.com/note=x"},
		{"label", "service/web", "example.com/note=x"},
		{"scale", "foo/web", "--replicas=2"},
		{"patch", "foo/web", "--type=merge", "--patch", `{"spec": {"image": "example.invalid/web:2"}}`},
	} {
		_, _, err := e.Kubectl(t.Context(), kubeconfig, args...)
		admitted(t, strings.Join(args, " "), err)
	}
	revision("3")

	// An autoscaler raises it to its least without any metrics.
	scaler := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MinReplicas:    ptr.To[int32](3), MaxReplicas: 4,
		},
	}
	if _, err := alice.AutoscalingV2().HorizontalPodAutoscalers("team-a").Create(t.Context(), scaler, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the autoscaler scales", func() bool {
		current, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
		return err == nil && *current.Spec.Replicas == 3
	})

	_, err := operator.AppsV1().Deployments("team-a").Patch(t.Context(), "web", types.MergePatchType,
		[]byte(`{"metadata": {"annotations": {"controlee.dev/bar-state": "ClassNotAllowed"}}}`), metav1.PatchOptions{})
	admitted(t, "the operator's answer", err)
	_, err = deployments.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"metadata": {"annotations": {"controlee.dev/bar-class": null}}}`), metav1.PatchOptions{})
	admitted(t, "giving the class up", err)
	_, err = deployments.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"metadata": {"annotations": {"controlee.dev/bar-class": "edge"}}}`), metav1.PatchOptions{})
	refused(t, "taking it again", err, classUse)
	foreground := metav1.DeletePropagationForeground
	admitted(t, "delete", deployments.Delete(t.Context(), "web", metav1.DeleteOptions{PropagationPolicy: &foreground}))
	eventually(t, "the Deployment is gone", func() bool { return !e.exists(t, deploymentGVR, "team-a", "web") })
}
