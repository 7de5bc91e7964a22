package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/controlee/controlee/test/cluster"
	"github.com/controlee/controlee/test/demo/internal/tell"
)

// restartDelay is how long a replica that ended is left alone before it is started again.
const restartDelay = time.Second

// localOperators play the kubelet for the operator's Pods: each Pod's container is a process of this machine, with the
// Pod's flags and a token bound to the Pod, so to the API server it is that Pod. Pods that come later get theirs, and the
// process of a Pod that goes is stopped.
type localOperators struct {
	cluster *cluster.Cluster
	client  client.Client
	binary  string
	page    *tell.Page

	cancel context.CancelFunc
	ended  chan struct{}

	mu       sync.Mutex
	replicas map[types.UID]*replica
	err      error   // of the last round
	died     []error // a replica that ended by itself
}

type replica struct {
	*cluster.OperatorProcess

	// lost says that the Pod's node is gone, so to speak: nobody starts the process again.
	lost bool
	// started is when it was last told to start.
	started time.Time
}

// start starts the replicas, and looks after them until stop.
func (l *localOperators) start(ctx context.Context) error {
	l.replicas = map[types.UID]*replica{}
	l.ended = make(chan struct{})
	var running context.Context
	running, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(l.ended)
		for running.Err() == nil {
			err := l.sync(running)
			l.mu.Lock()
			l.err = err
			l.mu.Unlock()
			select {
			case <-running.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	return l.ready(ctx)
}

// stop ends the replicas, at once when the context is done.
func (l *localOperators) stop(ctx context.Context) error {
	if l.cancel == nil {
		return nil
	}
	l.cancel()
	<-l.ended
	l.mu.Lock()
	defer l.mu.Unlock()
	hurry := context.AfterFunc(ctx, func() {
		for _, r := range l.replicas {
			r.Kill()
		}
	})
	defer hurry()
	var all sync.WaitGroup
	errs := make(chan error, len(l.replicas))
	for _, r := range l.replicas {
		all.Go(func() { errs <- r.Stop() })
	}
	all.Wait()
	close(errs)
	var failed []error
	for err := range errs {
		if ctx.Err() == nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// sync brings the processes in line with the Pods.
func (l *localOperators) sync(ctx context.Context) error {
	pods, err := operatorPods(ctx, l.client)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []error
	for uid, r := range l.replicas {
		if !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.UID == uid }) {
			all = append(all, r.Stop())
			delete(l.replicas, uid)
		}
	}
	for i := range pods {
		all = append(all, l.ensure(ctx, &pods[i]))
	}
	return errors.Join(all...)
}

// ensure starts the process of a Pod if it does not run.
func (l *localOperators) ensure(ctx context.Context, pod *corev1.Pod) error {
	r, known := l.replicas[pod.UID]
	if !known {
		p, err := l.cluster.StartOperator(ctx, cluster.Operator{
			Namespace: pod.Namespace, ServiceAccount: pod.Spec.ServiceAccountName, PodName: pod.Name,
			Binary: l.binary, Args: flagsOf(pod),
		})
		if err != nil {
			return err
		}
		l.replicas[pod.UID] = &replica{OperatorProcess: p, started: time.Now()}
		return nil
	}
	if r.Running() || r.lost || time.Since(r.started) < restartDelay {
		return nil
	}
	if died := r.Died(); died != nil {
		l.died = append(l.died, died)
		l.page.Say("The replica of Pod %s ended by itself and is started again.", pod.Name)
	}
	r.started = time.Now()
	return r.Start()
}

// flagsOf returns the flags in a Pod's container but those that name ports, which are free ones on this machine.
func flagsOf(pod *corev1.Pod) []string {
	var flags []string
	for _, flag := range pod.Spec.Containers[0].Args {
		if !strings.Contains(flag, "-bind-address=") {
			flags = append(flags, flag)
		}
	}
	return flags
}

// ready waits until as many replicas are ready as there should be.
func (l *localOperators) ready(ctx context.Context) error {
	return eventually(ctx, fmt.Sprintf("%d ready replicas", operatorReplicas), func(ctx context.Context) (bool, string) {
		l.mu.Lock()
		processes, err := make([]*replica, 0, len(l.replicas)), l.err
		for _, r := range l.replicas {
			processes = append(processes, r)
		}
		l.mu.Unlock()
		running := 0
		for _, r := range processes {
			if !r.Running() {
				continue
			}
			if notReady := r.Ready(ctx); notReady != nil {
				return false, notReady.Error()
			}
			running++
		}
		if err != nil {
			return false, err.Error()
		}
		return running == operatorReplicas, strconv.Itoa(running)
	})
}

// list returns the replicas by Pod.
func (l *localOperators) list() []*replica {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*replica
	for _, r := range l.replicas {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *replica) int { return strings.Compare(a.PodName, b.PodName) })
	return all
}

// kill ends a process as if its node were lost.
func (l *localOperators) kill(_ context.Context, pod *corev1.Pod) (time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, known := l.replicas[pod.UID]
	if !known || !r.Running() {
		return time.Time{}, &tell.MismatchError{Expected: "the replica of Pod " + pod.Name + " to run", Seen: "it does not"}
	}
	r.lost = true
	l.page.Command("admin", commandLine("kill", "-9", strconv.Itoa(r.PID())))
	at := time.Now()
	r.Kill()
	l.page.Say("It is gone without a word, and as long as nobody starts it again, its node could be gone as well.")
	return at, nil
}

func (l *localOperators) restore(ctx context.Context) error {
	l.mu.Lock()
	for _, r := range l.replicas {
		r.lost = false
	}
	died := errors.Join(l.died...)
	l.mu.Unlock()
	if died != nil {
		return &tell.MismatchError{Expected: "no replica to end but the one that was killed", Seen: died.Error()}
	}
	return l.ready(ctx)
}

func (l *localOperators) logs(context.Context) string {
	var text strings.Builder
	for _, r := range l.list() {
		fmt.Fprintf(&text, "\n%s\n%s\n", r.LogPath, lastLines(r.LogTail(200), 20))
	}
	return text.String()
}

// lastLines returns the last lines of a log, without those about being asked, too early, whether it is ready.
func lastLines(log string, count int) string {
	lines := slices.DeleteFunc(strings.Split(log, "\n"), func(line string) bool { return strings.Contains(line, "healthz check failed") })
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
