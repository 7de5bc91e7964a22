package leader

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// LeaseName is the name of the Lease in the system namespace. The chart makes it, and the operator's rights on it
// name it.
const LeaseName = "controlee"

// Identity names one pod. A container that restarts in its pod has the same identity, so it takes its Lease back
// at once instead of waiting until it expires.
func Identity(podName, podUID string) string {
	return podName + "_" + podUID
}

// Options say who takes part in leader election, and how.
type Options struct {
	// Namespace is the system namespace: the Lease and the Fence are there.
	Namespace string
	// PodName and PodUID are this replica's Pod. The token of its ServiceAccount has to be bound to it.
	PodName, PodUID string
	// Timings are the periods of leader election.
	Timings Timings
	// Clock measures them; nil is the machine's.
	Clock clock.WithTicker
	// Log gets a line for each thing that somebody may wonder about.
	Log logr.Logger
}

// Lock is the resource lock of controller-runtime's manager: the Lease, with the Fence behind it.
type Lock struct {
	options  Options
	identity string
	clock    clock.WithTicker
	leases   coordinationv1client.LeaseInterface
	watched  coordinationv1client.LeaseInterface // for requests that last
	fence    *fence
	events   *events
	seen     *observer
	lost     chan error
	suspect  chan struct{}

	// Of the election loop alone:
	lease    *coordinationv1.Lease // as last read or written
	marks    metav1.ObjectMeta     // its labels and annotations
	missing  time.Time             // since when there is none
	previous previous              // whose the Lease was when it was last found to be free

	mu      sync.Mutex
	leading bool      // the Fence is ours and in force
	renewed time.Time // when the last renewal that succeeded was sent
	gone    bool      // lost has its error
}

var _ resourcelock.Interface = (*Lock)(nil)

// NewLock makes a Lock. It has clients of its own, so that nothing else the operator does can starve the renewals.
func NewLock(config *rest.Config, options Options) (*Lock, error) {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	config = rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	config.QPS = -1
	watching, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("leader election client: %w", err)
	}
	// Not less: whether a request that was given up was carried out, nobody knows, and to find out takes more requests than an
	// API server that is only slow leaves time for.
	config.Timeout = options.Timings.RenewDeadline
	leases, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("leader election client: %w", err)
	}
	holder := v1alpha1.FenceHolder{PodName: options.PodName, PodUID: types.UID(options.PodUID)}
	fence, err := newFence(config, options.Namespace, holder, options.Clock)
	if err != nil {
		return nil, err
	}
	events, err := newEvents(config, options)
	if err != nil {
		return nil, err
	}
	return &Lock{
		options:  options,
		identity: Identity(options.PodName, options.PodUID),
		clock:    options.Clock,
		leases:   leases.Leases(options.Namespace),
		watched:  watching.Leases(options.Namespace),
		fence:    fence,
		events:   events,
		seen:     newObserver(options.Clock, options.Timings.LeaseDuration),
		lost:     make(chan error, 1),
		suspect:  make(chan struct{}, 1),
	}, nil
}

// Identity is how the Lease names this replica.
func (l *Lock) Identity() string { return l.identity }

// Describe names the Lease, for client-go's log.
func (l *Lock) Describe() string { return l.options.Namespace + "/" + LeaseName }

// RecordEvent is client-go's; the events that this package writes say more.
func (l *Lock) RecordEvent(string) {}

// Get gives the Lease as the API server has it. In a standby it first waits until there is reason to ask: nobody holds the
// Lease, or its holder gave no sign of life for the lease duration, by this replica's clock. Such an expired Lease is given as one
// that nobody holds; that it was not renewed in the meantime is for the API server to decide, by the resource version.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	for {
		lease, err := l.leases.Get(ctx, LeaseName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			l.see(nil)
			l.previous = previous{missing: true}
			if l.missing.IsZero() {
				l.missing = l.clock.Now()
			}
			return nil, nil, err // Create is next
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read the Lease: %w", err)
		}
		l.see(lease)
		record := resourcelock.LeaseSpecToLeaderElectionRecord(&lease.Spec)
		if l.isLeading() && record.HolderIdentity != l.identity {
			return nil, nil, l.lose(heldBy(record.HolderIdentity))
		}
		free, _, _ := l.seen.free()
		if record.HolderIdentity == l.identity || free {
			l.previous = previous{holder: record.HolderIdentity, own: record.HolderIdentity == l.identity}
			if !l.previous.own {
				record.HolderIdentity = ""
			}
			raw, err := json.Marshal(record)
			return record, raw, err
		}
		if err := l.seen.wait(ctx); err != nil {
			return nil, nil, err
		}
	}
}

// leaderPatience is how long the Lease has to be missing before the leader makes it again. When the release is removed, the rights go a moment
// before the Lease does: one made in between would be in the way of the next installation.
const leaderPatience = time.Second

// patience is how long the Lease has to be missing before this replica makes it again: the leader has time to do so while it may still
// lead, and a standby leaves it that time, and the one that it has without a Lease.
func (l *Lock) patience() time.Duration {
	if l.isLeading() {
		return min(leaderPatience, l.options.Timings.RenewDeadline/2)
	}
	return l.options.Timings.LeaseDuration
}

// Create makes the Lease again after somebody deleted it. It is an update without a resource version: the right to create by
// name holds for that, and if another replica was faster the API server refuses it.
func (l *Lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if left := l.patience() - l.clock.Since(l.missing); left > 0 {
		return fmt.Errorf("the Lease %s is missing; making it again in %s", l.Describe(), left)
	}
	l.lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: l.options.Namespace, Name: LeaseName,
		Labels: l.marks.Labels, Annotations: l.marks.Annotations, // by these the chart knows its own
	}}
	return l.Update(ctx, record)
}

// Update writes the Lease as it was last read: to take it, to renew it or to release it. When it is taken, the Fence is
// claimed as well; until that is in force, taking it is not done.
func (l *Lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	releasing := record.HolderIdentity != l.identity
	if releasing {
		l.resign()
	}
	if l.lease == nil {
		// client-go renews what it had before it looks again.
		return apierrors.NewNotFound(coordinationv1.Resource("leases"), LeaseName)
	}
	// client-go goes by what it last renewed, and would release whatever Lease it finds now.
	if holder := holderOf(l.lease); releasing && holder != l.identity {
		return fmt.Errorf("nothing to release: the Lease is held by %q", holder)
	}
	record.LeaderTransitions = min(record.LeaderTransitions, math.MaxInt32) // somebody wrote the last one there is
	sent := l.clock.Now()
	lease := l.lease.DeepCopy()
	lease.Spec = resourcelock.LeaderElectionRecordToLeaseSpec(&record)
	lease, err := l.leases.Update(ctx, lease, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	l.see(lease)
	if releasing {
		return nil
	}
	l.renew(sent)
	if l.isLeading() {
		return nil
	}
	err = l.lead(ctx, sent)
	if err != nil && ctx.Err() != nil {
		l.giveBack(context.WithoutCancel(ctx), record)
	}
	return err
}

// giveBack releases a Lease that was taken just when the process was asked to end: the election loop releases only what it has led with,
// and everybody would wait until it expires.
func (l *Lock) giveBack(ctx context.Context, record resourcelock.LeaderElectionRecord) {
	ctx, cancel := context.WithTimeout(ctx, l.options.Timings.RenewDeadline)
	defer cancel()
	record.HolderIdentity, record.LeaseDurationSeconds = "", 1
	if err := l.Update(ctx, record); err != nil {
		l.options.Log.Info("Could not release the Lease", "error", err.Error())
	}
}

// see takes in a Lease that was read or written by the election loop.
func (l *Lock) see(lease *coordinationv1.Lease) {
	if l.lease = lease; lease != nil {
		l.marks, l.missing = lease.ObjectMeta, time.Time{}
	}
	l.seen.see(lease)
}

// previous says whose the Lease was before this replica took it.
type previous struct {
	holder  string // empty: nobody's, or it was released
	own     bool   // this Pod's: its container restarted
	missing bool   // somebody deleted it
}

// expired says whether a holder was given up that may still be running.
func (p previous) expired() bool { return p.missing || p.holder != "" && !p.own }

func (p previous) String() string {
	switch {
	case p.own:
		return "after a restart in its Pod"
	case p.missing:
		return "after the Lease was missing for the lease duration"
	case p.expired():
		return fmt.Sprintf("after %s gave no sign of life for the lease duration", podOf(p.holder))
	default:
		return "after the Lease was released"
	}
}

// settle is how long a leader that took over from one that may still be running waits before it does anything. The write that proved
// its claim went through one API server. Where there are several, the others learn of the claim by a watch of their own, within tens of
// milliseconds, and the old leader may be talking to one of them.
const settle = 250 * time.Millisecond

// lead claims the Fence for a Lease that was just taken. It gives up while the Lease still holds, so that there is time to
// renew it and to try again; what was reached is kept.
func (l *Lock) lead(ctx context.Context, sent time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, l.options.Timings.LeaseDuration-stopMargin-l.clock.Since(sent))
	defer cancel()
	epoch, err := l.fence.claim(ctx, l.stillOurs)
	if err == nil && l.previous.expired() {
		err = sleep(ctx, l.clock, settle)
	}
	if err != nil {
		l.options.Log.Error(err, "Took the Lease but not the Fence yet; trying again", "lease", l.Describe())
		return err
	}
	took := l.clock.Since(sent)
	l.mu.Lock()
	l.leading = true
	l.mu.Unlock()
	metricLeader.Set(1)
	metricEpoch.Set(float64(epoch))
	metricHandover.Observe(took.Seconds())
	l.options.Log.Info("Leading", "epoch", epoch, "why", l.previous.String(), "claimTook", took.String())
	go l.events.write(context.WithoutCancel(ctx), corev1.EventTypeNormal, eventLeading,
		fmt.Sprintf("%s leads with epoch %d, %s", l.options.PodName, epoch, l.previous))
	return nil
}

// stillOurs asks the API server whether the Lease still is this replica's.
func (l *Lock) stillOurs(ctx context.Context) error {
	lease, err := l.leases.Get(ctx, LeaseName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the Lease: %w", err)
	}
	if holder := holderOf(lease); holder != l.identity {
		return fmt.Errorf("the Lease went to %q while the Fence was being claimed", holder)
	}
	return nil
}

func (l *Lock) isLeading() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leading
}

// resign notes that the Lease is about to be released on purpose.
func (l *Lock) resign() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leading = false
	metricLeader.Set(0)
}

func (l *Lock) renew(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed = sent
	metricRenewed.Set(float64(sent.UnixMilli()) / 1000)
}
