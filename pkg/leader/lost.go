package leader

import (
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// lastWords is how long a replica that lost the Lease takes to say so in an Event.
const lastWords = 300 * time.Millisecond

// Lost gives an error when this replica led and finds that it does not any more. The process must then end at once: another
// replica may be writing. A release on purpose is no loss.
func (l *Lock) Lost() <-chan error { return l.lost }

// Run watches the Lease until ctx is done: a standby hears of a release, and a leader of its loss, without asking.
func (l *Lock) Run(ctx context.Context) {
	go l.watchdog(ctx)
	go l.answerSuspicions(ctx)
	named := fields.OneTermEqualSelector(metav1.ObjectNameField, LeaseName).String()
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = named
			return l.watched.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = named
			return l.watched.Watch(ctx, options)
		},
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source,
		ObjectType:    &coordinationv1.Lease{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { l.told(object) },
			UpdateFunc: func(_, object any) { l.told(object) },
			DeleteFunc: func(any) { l.seen.see(nil) }, // the next renewal makes it again
		},
	})
	informer.RunWithContext(ctx)
}

// told takes in the Lease as the watch tells it. What a watch tells may be long past, so a leader that does not find
// itself in it asks.
func (l *Lock) told(object any) {
	lease, ok := object.(*coordinationv1.Lease)
	if !ok {
		return
	}
	l.seen.see(lease)
	if l.isLeading() && holderOf(lease) != l.identity {
		l.Suspect()
	}
}

// Suspect has the Lease and the Fence asked for now: something says that this replica no longer leads.
func (l *Lock) Suspect() {
	select {
	case l.suspect <- struct{}{}:
	default: // it is about to be
	}
}

func (l *Lock) answerSuspicions(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.suspect:
		}
		if !l.isLeading() {
			continue
		}
		l.check(ctx)
	}
}

// check ends a leader whose Lease is somebody else's, or whose Fence names another Pod or none: only a leader that begins claims the Fence.
// Without an answer the election loop decides, and the watchdog. While there is no Fence, nobody else can lead either.
func (l *Lock) check(ctx context.Context) {
	lease, err := l.leases.Get(ctx, LeaseName, metav1.GetOptions{})
	if err != nil || !l.isLeading() {
		return
	}
	if holder := holderOf(lease); holder != l.identity {
		l.lose(heldBy(holder)) //nolint:errcheck // it is given to Lost
		return
	}
	if holder, err := l.fence.named(ctx); err == nil && l.isLeading() && !l.fence.names(holder) {
		l.end(fmt.Errorf("the Fence %s was changed or made again by somebody, and names %s", l.fence.key, nameOf(holder))) //nolint:errcheck // as above
	}
}

func nameOf(holder *v1alpha1.FenceHolder) string {
	if holder == nil {
		return "nobody"
	}
	return "Pod " + holder.PodName
}

// watchdog ends a leader that did not renew in time, should the election loop itself be stuck.
func (l *Lock) watchdog(ctx context.Context) {
	ticker := l.clock.NewTicker(l.options.Timings.RetryPeriod / 2)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		if silence, overdue := l.overdue(); overdue {
			l.lose(fmt.Sprintf("it could not be renewed for %s", silence)) //nolint:errcheck // it is given to Lost
		}
	}
}

// overdue says whether a leader is past the time at which the election loop would have given up, if it were alive. By clocks that
// run alike, that is before any other replica may begin.
func (l *Lock) overdue() (silence time.Duration, overdue bool) {
	limit := l.options.Timings.RenewDeadline + l.options.Timings.RetryPeriod + stopMargin/2
	l.mu.Lock()
	defer l.mu.Unlock()
	silence = l.clock.Since(l.renewed)
	return silence, l.leading && silence > limit
}

// lose says why the Lease is lost.
func (l *Lock) lose(why string) error {
	return l.end(fmt.Errorf("the Lease %s is lost: %s", l.Describe(), why))
}

// end gives the error to Lost, if it is the first, and returns it.
func (l *Lock) end(err error) error {
	l.mu.Lock()
	first := !l.gone
	l.gone, l.leading = true, false
	l.mu.Unlock()
	if first {
		metricLeader.Set(0)
		l.lost <- err
	}
	return err
}

// Explain says in the log and in an Event why the process is about to end, so that nobody takes it for a crash. It takes no longer
// than a moment.
func (l *Lock) Explain(ctx context.Context, err error) {
	l.options.Log.Error(err, "Lost the leadership: ending at once, since another replica may be writing. This is how it is meant to be; "+
		"the restarted container stands by", "pod", l.options.PodName)
	ctx, cancel := context.WithTimeout(ctx, lastWords)
	defer cancel()
	l.events.write(ctx, corev1.EventTypeWarning, eventLost,
		fmt.Sprintf("%s ends and restarts as a standby, as it is meant to: %v", l.options.PodName, err))
}

func heldBy(holder string) string {
	if holder == "" {
		return "somebody released it"
	}
	return podOf(holder) + " holds it"
}

// podOf takes the Pod's name out of an identity, or gives what somebody else wrote there.
func podOf(identity string) string {
	pod, _, _ := strings.Cut(identity, "_")
	return pod
}

func holderOf(lease *coordinationv1.Lease) string {
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}
