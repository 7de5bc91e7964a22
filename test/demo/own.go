package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/controlee/controlee/pkg/operator"
	"github.com/controlee/controlee/test/cluster"
	"github.com/controlee/controlee/test/cluster/programs"
	"github.com/controlee/controlee/test/demo/internal/tell"
)

// pretendNodes is how many nodes there are: more than operator replicas, so that those can keep apart.
const pretendNodes = 3

// buildLimit is how long building may take: some ten minutes on two idle cores, and machines are not always idle.
const buildLimit = 2 * time.Hour

// ownCluster are the steps that make a control plane for the story.
func (w *world) ownCluster() []tell.Step {
	return []tell.Step{
		{Title: "Build Kubernetes and the operator from source", Run: w.build},
		{Title: fmt.Sprintf("Start a control plane with %d nodes that pretend to run Pods", pretendNodes), Run: w.startCluster},
	}
}

func (w *world) build(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, buildLimit)
	defer cancel()
	w.page.Say("Everything is a Go module. Kubernetes takes minutes the first time, and is then kept in the user's cache folder.")
	paths, err := programs.Find(ctx, w.root, os.Stdout, "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "kubectl")
	if err != nil {
		return err
	}
	w.kubectl = paths["kubectl"]
	w.page.Say("Kubernetes: %s", filepath.Dir(w.kubectl))
	return w.buildOperator(ctx)
}

func (w *world) buildOperator(ctx context.Context) error {
	w.binary = filepath.Join(w.dir, "controlee")
	if err := programs.BuildOperator(ctx, w.root, w.binary); err != nil {
		return err
	}
	w.page.Say("Operator:   %s", w.binary)
	return nil
}

func (w *world) startCluster(ctx context.Context) error {
	c, err := cluster.Start(ctx, cluster.Options{ControllerManager: true, Nodes: pretendNodes, AuditLog: true, Progress: os.Stdout, Dir: w.dir})
	if err != nil {
		return err
	}
	w.cluster = c
	w.cleanup.Add("stop the control plane", func(ctx context.Context) error {
		stop := context.AfterFunc(ctx, func() { killServers(c) })
		defer stop()
		return c.Stop()
	})
	if err := w.connect(); err != nil {
		return err
	}
	if err := w.makePeople(); err != nil {
		return err
	}
	w.page.Say("Kubernetes %s: etcd, kube-apiserver, kube-controller-manager, kube-scheduler; logs in %s", c.Version, filepath.Join(w.dir, "logs"))
	if err := w.run(ctx, w.admin, "get", "nodes"); err != nil {
		return err
	}
	w.page.Line("")
	w.page.Say("Three people type in this story. In a shell of your own you are one of them with")
	for _, p := range []person{w.admin, w.teamA, w.teamB} {
		w.page.Say("  %-7s export KUBECONFIG=%s", p.prompt, p.kubeconfig)
	}
	w.page.Say("where kubectl is the one in %s.", filepath.Dir(w.kubectl))
	return nil
}

// makePeople gives the admin and the users client certificates, as a cluster's authority would sign them.
func (w *world) makePeople() error {
	w.admin = person{prompt: "admin", kubeconfig: filepath.Join(w.dir, "admin.kubeconfig"), user: "the admin"}
	w.teamA = person{prompt: "team-a", kubeconfig: filepath.Join(w.dir, "team-a.kubeconfig"), user: userOfTeamA, group: groupOfTeamA}
	w.teamB = person{prompt: "team-b", kubeconfig: filepath.Join(w.dir, "team-b.kubeconfig"), user: userOfTeamB, group: groupOfTeamB}
	if err := w.cluster.WriteKubeconfig(w.admin.kubeconfig, w.cluster.AdminConfig(), ""); err != nil {
		return err
	}
	for _, user := range []struct {
		person
		namespace string
	}{{w.teamA, teamANamespace}, {w.teamB, teamBNamespace}} {
		config, err := w.cluster.UserConfig(user.user, user.group)
		if err != nil {
			return err
		}
		if err := w.cluster.WriteKubeconfig(user.kubeconfig, config, user.namespace); err != nil {
			return err
		}
	}
	return nil
}

// connect makes the admin's client, for waiting and timing: what people would type goes through kubectl.
func (w *world) connect() (err error) {
	config := rest.CopyConfig(w.cluster.AdminConfig())
	config.QPS = -1
	w.client, err = client.NewWithWatch(config, client.Options{Scheme: operator.NewScheme()})
	return err
}

// killServers ends a control plane at once.
func killServers(c *cluster.Cluster) {
	for _, p := range []*cluster.Process{c.Kwok, c.Scheduler, c.ControllerManager, c.APIServer.Process, c.Etcd} {
		if p != nil {
			p.Kill()
		}
	}
}
