package tenancy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// existenceOf is an existence that counts its GETs.
type existenceOf struct {
	*existence
	clock  *testclock.FakeClock
	client client.WithWatch
	gets   atomic.Int64
	fails  error
}

func newExistenceOf(namespaces ...client.Object) *existenceOf {
	e := &existenceOf{clock: testclock.NewFakeClock(time.Date(2030, time.January, 1, 12, 0, 0, 0, time.UTC))}
	e.client = fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(namespaces...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			e.gets.Add(1)
			if e.fails != nil {
				return e.fails
			}
			return c.Get(ctx, key, object, options...)
		},
	}).Build()
	e.existence = newExistence(e.client, e.clock)
	return e
}

func namespaceMade(name string, at time.Time) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(at)}}
}

// expect asks whether a namespace is gone for an object that was made at a time.
func (e *existenceOf) expect(t *testing.T, name string, made time.Time, want bool) {
	t.Helper()
	if got, err := e.isGone(t.Context(), name, metav1.NewTime(made)); err != nil || got != want {
		t.Errorf("gone %v, %v, want %v", got, err, want)
	}
}

// TestExistenceIsSharedByAllObjects asks for a thousand objects of one lost namespace, from several
// workers, as often as the claim controllers do at first.
func TestExistenceIsSharedByAllObjects(t *testing.T) {
	e := newExistenceOf(namespaceMade("team-a", time.Unix(0, 0)))
	const rounds = 5
	for range rounds {
		var workers sync.WaitGroup
		for range 10 {
			workers.Go(func() {
				for range 100 {
					e.expect(t, "team-a", e.clock.Now(), false)
				}
			})
		}
		workers.Wait()
		e.clock.Step(existenceAge)
	}
	if gets := e.gets.Load(); gets != rounds {
		t.Errorf("%d GETs in %d times %s", gets, rounds, existenceAge)
	}
}

func TestExistenceOfEachObject(t *testing.T) {
	e := newExistenceOf()
	now := e.clock.Now()
	if err := e.client.Create(t.Context(), namespaceMade("team-a", now.Add(-time.Hour))); err != nil {
		t.Fatal(err)
	}
	e.expect(t, "team-a", now, false)
	e.expect(t, "team-a", now.Add(-2*time.Hour), true) // it was in another namespace of that name
	if gets := e.gets.Load(); gets != 1 {
		t.Errorf("%d GETs", gets)
	}
	// A namespace that is deleted is seen to be gone as soon as the answer is too old.
	if err := e.client.Delete(t.Context(), namespaceMade("team-a", now)); err != nil {
		t.Fatal(err)
	}
	e.expect(t, "team-a", now, false)
	e.clock.Step(existenceAge)
	e.expect(t, "team-a", now, true)
	// One that is made again exists at once, for an object that was made in it: the answer that
	// there is none is not kept.
	if err := e.client.Create(t.Context(), namespaceMade("team-a", e.clock.Now())); err != nil {
		t.Fatal(err)
	}
	e.expect(t, "team-a", e.clock.Now(), false)
}

func TestExistenceKeepsNoErrors(t *testing.T) {
	e := newExistenceOf(namespaceMade("team-a", time.Unix(0, 0)))
	e.expect(t, "team-a", e.clock.Now(), false)
	e.clock.Step(existenceAge)
	e.fails = errors.New("away")
	if gone, err := e.isGone(t.Context(), "team-a", metav1.NewTime(e.clock.Now())); gone || !errors.Is(err, e.fails) {
		t.Errorf("gone %v, %v, while the API server is away", gone, err)
	}
	e.fails = nil
	e.expect(t, "team-a", e.clock.Now(), false)
}

func TestExistenceIsFreed(t *testing.T) {
	e := newExistenceOf()
	for i := range 100 {
		e.expect(t, fmt.Sprint("n-", i), e.clock.Now(), true)
		e.clock.Step(existenceAge / 10)
	}
	if len(e.known) > 25 {
		t.Errorf("%d namespaces are remembered", len(e.known))
	}
}
