package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/controlee/controlee/test/cluster"
	"github.com/controlee/controlee/test/cluster/programs"
	"github.com/controlee/controlee/test/demo/internal/tell"
)

// existingCluster are the steps that get to know the cluster in DEMO_KUBECONFIG.
func (w *world) existingCluster() []tell.Step {
	return []tell.Step{
		{Title: "Find kubectl and build the operator", Run: w.findKubectl},
		{Title: "Look at the cluster", Run: w.attach},
	}
}

// findKubectl takes the user's own kubectl, which knows how to log in to the user's cluster.
func (w *world) findKubectl(ctx context.Context) (err error) {
	if w.kubectl, err = exec.LookPath("kubectl"); err != nil {
		ctx, cancel := context.WithTimeout(ctx, buildLimit)
		defer cancel()
		paths, err := programs.Find(ctx, w.root, os.Stdout, "kubectl")
		if err != nil {
			return err
		}
		w.kubectl = paths["kubectl"]
	}
	w.page.Say("kubectl:    %s", w.kubectl)
	if w.options.image != "" {
		w.page.Say("Operator:   image %s", w.options.image)
		return nil
	}
	return w.buildOperator(ctx)
}

func (w *world) attach(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", w.options.kubeconfig)
	if err != nil {
		return fmt.Errorf("DEMO_KUBECONFIG=%s: %w", w.options.kubeconfig, err)
	}
	c, err := cluster.Attach(ctx, config, cluster.Options{Progress: os.Stdout, Dir: w.dir})
	if err != nil {
		return err
	}
	w.cluster = c
	w.cleanup.Add("remove the harness's files", func(context.Context) error { return c.Stop() })
	if err := w.connect(); err != nil {
		return err
	}
	as := func(prompt, user, group, namespace string) person {
		flags := []string{"--as=" + user, "--as-group=" + group}
		return person{prompt: prompt, kubeconfig: w.options.kubeconfig, flags: flags, namespace: namespace, user: user, group: group}
	}
	w.admin = person{prompt: "admin", kubeconfig: w.options.kubeconfig, user: "the admin"}
	w.teamA = as("team-a", userOfTeamA, groupOfTeamA, teamANamespace)
	w.teamB = as("team-b", userOfTeamB, groupOfTeamB, teamBNamespace)

	w.page.Say("Kubernetes %s at %s", c.Version, config.Host)
	if err := w.fit(ctx); err != nil {
		return err
	}
	w.page.Say("To be installed, and removed at the end: release %s in namespace %s, namespaces %s and %s, and the",
		releaseName, systemNamespace, teamANamespace, teamBNamespace)
	w.page.Say("CustomResourceDefinitions of controlee.dev that are not there yet.")
	w.page.Say("Nobody but the cluster's own authority can sign certificates for users, so the admin impersonates them (--as).")
	w.page.Say("All commands are for a shell with export KUBECONFIG=%s", w.options.kubeconfig)
	return nil
}

// fit checks, before anything is changed, that the story can be told in this cluster and that nothing in it is somebody
// else's: what it makes is deleted in the end.
func (w *world) fit(ctx context.Context) error {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"},
	}}
	if err := w.client.Create(ctx, review); err != nil {
		return err
	}
	if !review.Status.Allowed {
		return &tell.MismatchError{Expected: "DEMO_KUBECONFIG to be of a cluster admin, who may do everything", Seen: "it is of somebody who may not"}
	}
	for _, name := range []string{systemNamespace, teamANamespace, teamBNamespace} {
		if err := w.absent(ctx, &corev1.Namespace{}, name, "namespace "+name); err != nil {
			return err
		}
	}
	return w.absent(ctx, &rbacv1.ClusterRole{}, "controlee-operator", "ClusterRole controlee-operator, so Controlee is installed")
}

func (w *world) absent(ctx context.Context, object client.Object, name, what string) error {
	switch err := w.client.Get(ctx, client.ObjectKey{Name: name}, object); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	return &tell.MismatchError{
		Expected: "a cluster without Controlee and without the namespaces of this story, which deletes in the end what it makes",
		Seen:     "there is a " + what,
	}
}
