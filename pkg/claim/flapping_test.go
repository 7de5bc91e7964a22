package claim

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// set changes the source in the API server.
func (r *reporter) set(change func(*appsv1.Deployment)) {
	r.t.Helper()
	r.read()
	changed := r.source.DeepCopyObject().(*appsv1.Deployment) //nolint:forcetypeassert // as the tests have it
	ready := changed.Status.ReadyReplicas
	change(changed)
	status := changed.Status.ReadyReplicas
	var err error
	if status == ready {
		err = r.client.Update(r.t.Context(), changed)
	} else {
		err = r.client.Status().Update(r.t.Context(), changed)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func setReady(replicas int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Status.ReadyReplicas = replicas }
}

func setState(state string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Annotations[v1alpha1.BarStateAnnotation] = state }
}

// TestFlapping counts the writes on a source whose answer changes again and again, or is overwritten with values that
// differ from each other, while it is reconciled four times a second.
func TestFlapping(t *testing.T) {
	const tick = 250 * time.Millisecond
	const none = `Ready: no Pod is ready behind it yet: Deployment "web" has no ready replica`
	ready := word(v1alpha1.PhaseReady, "", "203.0.113.1")
	cases := map[string]struct {
		reason string
		every  time.Duration
		change func(r *reporter, n int)
		// limits of the number of writes in ten minutes
		least, most int
		events      []string
	}{
		"Readiness": {
			reason: "A Pod that fails and starts again and again costs one write in 30 s, and nobody contests anything.",
			every:  5 * time.Second,
			change: func(r *reporter, n int) { r.set(setReady(int32(n % 2))) },
			least:  15, most: 25, events: []string{eventEnsured},
		},
		"FastReadiness": {
			reason: "So does one that does it faster than a state is held back.",
			every:  time.Second,
			change: func(r *reporter, n int) { r.set(setReady(int32(n % 2))) },
			least:  1, most: 25, events: []string{eventEnsured},
		},
		"Scaled": {
			reason: "A tenant who scales up and down gets the same.",
			every:  5 * time.Second,
			change: func(r *reporter, n int) {
				r.set(func(d *appsv1.Deployment) { *d.Spec.Replicas = int32(n % 2) })
				r.set(setReady(int32(n % 2)))
			},
			least: 15, most: 25, events: []string{eventEnsured},
		},
		"Slow": {
			reason: "One that fails once in some minutes is told of at once.",
			every:  90 * time.Second,
			change: func(r *reporter, n int) { r.set(setReady(int32(n % 2))) },
			least:  7, most: 7, events: []string{eventEnsured},
		},
		"Overwritten": {
			reason: "Who overwrites the state with ever other values is slowed down, and named.",
			every:  500 * time.Millisecond,
			change: func(r *reporter, n int) { r.set(setState([]string{"Ready", "Failed: x", none, ""}[n%4])) },
			least:  15, most: 25, events: []string{eventEnsured, eventContested},
		},
		"OverwrittenAndFlapping": {
			reason: "So is who has the answer change meanwhile.",
			every:  500 * time.Millisecond,
			change: func(r *reporter, n int) {
				r.set(setState([]string{"Ready", "Failed: x", none, ""}[n%4]))
				if n%10 == 0 {
					r.set(setReady(int32(n / 10 % 2)))
				}
			},
			least: 15, most: 25, events: []string{eventEnsured, eventContested},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newReporter(t, deploymentWith(1, 1))
			r.tell(0, ready)
			steps := int(tc.every / tick)
			for i := range int(10 * time.Minute / tick) {
				if i%steps == steps-1 {
					tc.change(r, i/steps)
				}
				r.tell(tick, ready)
			}
			if r.writes < tc.least || r.writes > tc.most {
				t.Errorf("%s\n%d writes in 10 min, want %d to %d", tc.reason, r.writes, tc.least, tc.most)
			}
			if reasons := r.reasons(); !slices.Equal(reasons, tc.events) {
				t.Errorf("%s\nEvents %v, want %v", tc.reason, reasons, tc.events)
			}
			// What is true in the end is told, and then nothing is remembered.
			r.set(setReady(1))
			later := r.tell(0, ready)
			r.tell(later, ready)
			if says := r.says(); later > lastRewrite || says != "Ready @203.0.113.1" {
				t.Errorf("%s\n%q after %s", tc.reason, says, later)
			}
			r.tell(3*lastRewrite, ready)
			if len(r.reports.sources) != 0 {
				t.Errorf("remembered: %+v", r.reports.sources)
			}
		})
	}
}

// TestOtherWordsAreImmediate tells a tenant whose Pods flap at once what is not about Pods.
func TestOtherWordsAreImmediate(t *testing.T) {
	r := newReporter(t, deploymentWith(1, 1))
	ready := word(v1alpha1.PhaseReady, "", "203.0.113.1")
	for n := range 60 {
		r.set(setReady(int32(n % 2)))
		r.tell(5*time.Second, ready)
	}
	for _, step := range []struct {
		answer Answer
		says   string
	}{
		{word(v1alpha1.PhaseFailed, "the port is taken", "203.0.113.1"), "Failed: the port is taken @203.0.113.1"},
		{word(v1alpha1.PhaseReady, "", "203.0.113.2"), "Ready @203.0.113.2"},
		{word(v1alpha1.PhaseReady, "", "203.0.113.3"), "Ready @203.0.113.3"},
		{word(v1alpha1.ReasonReleasePending, "at 12:00", "203.0.113.3"), "ReleasePending: at 12:00 @203.0.113.3"},
		{Answer{}, " @"},
	} {
		r.tell(time.Millisecond, step.answer)
		if says := r.says(); says != step.says {
			t.Errorf("told %q, want %q", says, step.says)
		}
	}
}
