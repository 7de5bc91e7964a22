package main

import (
	"context"
	"fmt"
	"strconv"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/controlee/controlee/pkg/leader"
	"github.com/controlee/controlee/test/cluster"
)

// install does with Helm's SDK what the command line that it prints would do.
func (w *world) install(ctx context.Context) error {
	if w.options.kubeconfig != "" {
		before, err := w.customResourceDefinitions(ctx)
		if err != nil {
			return err
		}
		w.cleanup.Add("remove what was installed", func(ctx context.Context) error { return w.remove(ctx, before) })
	}
	w.installed = true
	values := w.values()
	command := []string{"install", releaseName, "charts/controlee", "--namespace", systemNamespace, "--create-namespace", "--values", valuesFile}
	for _, value := range values {
		command = append(command, "--set", value.path+"="+value.text)
	}
	w.page.Command(w.admin.prompt, commandLine("helm", command...))
	chart := cluster.Chart{Release: releaseName, Namespace: systemNamespace, ValuesFiles: []string{valuesFile}, Values: nested(values), Timeout: patience}
	if err := w.cluster.InstallChart(w.installContext(ctx), chart); err != nil {
		return err
	}
	return w.run(ctx, w.admin, "get", "namespaces", "-l", "controlee.dev/tenant")
}

// installContext does not end where what is installed has to be removed: Helm leaves off waiting when its context ends, but
// goes on installing, so an install that was begun is let end and then undone.
func (w *world) installContext(ctx context.Context) context.Context {
	if w.options.kubeconfig == "" {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// startOperators starts the replicas and waits for a leader that serves the teams.
func (w *world) startOperators(ctx context.Context) error {
	if w.options.image != "" {
		w.operators = &clusterOperators{w: w}
	} else {
		local := &localOperators{cluster: w.cluster, client: w.client, binary: w.binary, page: w.page}
		w.cleanup.Add("stop the operator", local.stop)
		w.operators = local
		pods := "which only pretend to run"
		if w.options.kubeconfig != "" {
			pods = "which stay Pending: no node has the label that they ask for"
		}
		w.page.Say("The chart's Deployment has two Pods, %s. For each of them the operator", pods)
		w.page.Say("runs here, as a process, with a token that is bound to the Pod: to the API server, it is that Pod.")
	}
	if err := eventually(ctx, fmt.Sprintf("%d Pods of Deployment %s", operatorReplicas, operatorName), w.podsMade); err != nil {
		return err
	}
	if err := w.operators.start(ctx); err != nil {
		return err
	}
	if err := w.run(ctx, w.admin, "get", "pods", "-n", systemNamespace); err != nil {
		return err
	}
	if local, ok := w.operators.(*localOperators); ok {
		for _, r := range local.list() {
			w.page.Say("process %d is Pod %s", r.PID(), r.PodName)
		}
	}
	if err := w.run(ctx, w.admin, "wait", "--for=condition=Engaged", "tenants", "--all", "-n", systemNamespace, "--timeout="+patienceFlag); err != nil {
		return err
	}
	if err := w.run(ctx, w.admin, "get", "tenants", "-n", systemNamespace); err != nil {
		return err
	}
	return w.showLease(ctx)
}

func (w *world) podsMade(ctx context.Context) (bool, string) {
	pods, err := operatorPods(ctx, w.client)
	if err != nil {
		return false, err.Error()
	}
	return len(pods) == operatorReplicas, strconv.Itoa(len(pods))
}

// currentLeader returns the Pod that leads.
func (w *world) currentLeader(ctx context.Context) (*corev1.Pod, error) {
	var found *corev1.Pod
	err := eventually(ctx, "a Pod of the operator to hold the Lease", func(ctx context.Context) (bool, string) {
		lease := &coordinationv1.Lease{}
		if err := w.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: leader.LeaseName}, lease); err != nil {
			return false, err.Error()
		}
		var err error
		if found, err = leaderPod(ctx, w.client, lease); err != nil {
			return false, err.Error()
		}
		return found != nil, fmt.Sprintf("its holder is %q", ptr.Deref(lease.Spec.HolderIdentity, ""))
	})
	return found, err
}
