package claim

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

func TestVerdictOn(t *testing.T) {
	tenant := &v1alpha1.Tenant{
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Spec:       v1alpha1.TenantSpec{AllowedBarClasses: []string{"internal"}},
	}
	leaving := tenant.DeepCopy()
	leaving.Spec.Leaving = true
	bar := func(uid types.UID, class, tenant string) *v1alpha1.Bar {
		return &v1alpha1.Bar{Spec: v1alpha1.BarSpec{SourceRef: v1alpha1.BarSourceReference{UID: uid}, ClassName: class, Tenant: tenant}}
	}
	going := deployment()
	going.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
	externalName := service(func(s *corev1.Service) { s.UID, s.Spec.Type = "uid-web", corev1.ServiceTypeExternalName })
	asking := func(source client.Object, w wish) situation {
		return situation{source: source, tenant: tenant, asks: true, wish: w}
	}
	granted, refused := wish{spec: &v1alpha1.BarSpec{}}, wish{refusal: refuse("X", "x")}
	optedOut := verdict{action: releaseAfterGrace, reason: v1alpha1.ReasonOptedOut}
	notAllowed := verdict{action: releaseAfterGrace, reason: v1alpha1.ReasonClassNotAllowed}
	now := verdict{action: releaseNow}

	cases := map[string]struct {
		reason string
		now    situation
		bar    *v1alpha1.Bar
		want   verdict
	}{
		"Granted":         {reason: "The source asks for it.", now: asking(deployment(), granted), bar: bar("uid-web", "internal", "a")},
		"OtherClass":      {reason: "A change of class is an update, also away from a class that is no longer allowed.", now: asking(deployment(), granted), bar: bar("uid-web", "public", "a")},
		"OtherTenant":     {reason: "A Bar changes hands in place.", now: asking(deployment(), granted), bar: bar("uid-web", "internal", "b")},
		"SourceGone":      {reason: "To delete the source is to release.", now: situation{tenant: tenant}, bar: bar("uid-web", "internal", "a"), want: now},
		"SourceGoing":     {reason: "Somebody's finalizer must not delay the release.", now: asking(going, granted), bar: bar("uid-web", "internal", "a"), want: now},
		"SourceRecreated": {reason: "The Bar belongs to an earlier source of the name.", now: asking(deployment(), granted), bar: bar("uid-old", "internal", "a"), want: now},
		"OptedOut":        {reason: "`kubectl rollout undo` may have taken the annotation off.", now: situation{source: deployment(), tenant: tenant}, bar: bar("uid-web", "internal", "a"), want: optedOut},
		"Refused":         {reason: "A typo is no request to release.", now: asking(deployment(), refused), bar: bar("uid-web", "internal", "a")},
		"ClassRevoked":    {reason: "The platform's word counts, after the grace period.", now: asking(deployment(), refused), bar: bar("uid-web", "public", "a"), want: notAllowed},
		"ExternalName": {
			reason: "A route to such a Service leads wherever its tenant says.",
			now:    asking(externalName, refused), bar: bar("uid-web", "internal", "a"), want: verdict{action: releaseAfterGrace, reason: v1alpha1.ReasonUnsupportedSource},
		},
		"OptedOutRevoked": {reason: "The source's own word comes first.", now: situation{source: deployment(), tenant: tenant}, bar: bar("uid-web", "public", "a"), want: optedOut},
		"TenantMissing":   {reason: "The namespace is about to be lost, and what is lost is kept.", now: situation{}, bar: bar("uid-web", "internal", "a")},
		"Leaving":         {reason: "Off-boarding is on purpose.", now: situation{source: deployment(), tenant: leaving}, bar: bar("uid-web", "internal", "a"), want: now},
	}
	for name, tc := range cases {
		if got := tc.now.verdictOn(tc.bar); got != tc.want {
			t.Errorf("%s: %s\ngot %+v, want %+v", name, tc.reason, got, tc.want)
		}
	}
}

func TestEntitles(t *testing.T) {
	tenant := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	granted := situation{source: deployment(), tenant: tenant, asks: true, wish: wish{spec: &v1alpha1.BarSpec{}}}
	cases := map[string]struct {
		reason string
		now    situation
		uid    types.UID
		want   bool
	}{
		"Granted":      {reason: "The source is about to get its Bar, and its objects with it.", now: granted, uid: "uid-web", want: true},
		"Recreated":    {reason: "An earlier source's objects are not this one's.", now: granted, uid: "uid-old"},
		"Gone":         {reason: "Nobody asks.", now: situation{tenant: tenant}, uid: "uid-web"},
		"ClassMissing": {reason: "No Bar will come that could take the objects over, so they are orphans.", now: situation{source: deployment(), tenant: tenant, asks: true, wish: wish{refusal: refuse(v1alpha1.ReasonBarClassNotFound, "x")}}, uid: "uid-web"},
	}
	for name, tc := range cases {
		if got := tc.now.entitles(tc.uid); got != tc.want {
			t.Errorf("%s: %s\ngot %v", name, tc.reason, got)
		}
	}
}

func TestPendingMessage(t *testing.T) {
	bar := &v1alpha1.Bar{Spec: v1alpha1.BarSpec{ClassName: "public"}}
	deadline := time.Date(2030, 1, 1, 13, 0, 0, 0, time.FixedZone("CET", 3600))
	cases := map[string]struct{ reason, word, want string }{
		"OptedOut":   {v1alpha1.ReasonOptedOut, v1alpha1.ReasonReleasePending, `will be released at 2030-01-01T12:00:00Z. To keep it and its address, ask for BarClass "public" again before that`},
		"NotAllowed": {v1alpha1.ReasonClassNotAllowed, v1alpha1.ReasonClassNotAllowed, `may no longer use BarClass "public": the load balancer will be released at 2030-01-01T12:00:00Z`},
	}
	for name, tc := range cases {
		answer := (&pending{reason: tc.reason, deadline: deadline}).answer(bar)
		if answer.reason != tc.word || !strings.Contains(answer.message, tc.want) {
			t.Errorf("%s: %+v", name, answer)
		}
	}
}

func TestStopwatches(t *testing.T) {
	start := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	fake := clocktesting.NewFakePassiveClock(start)
	watches := newStopwatches(fake)
	if begun := watches.begin("a"); !begun.Equal(start) {
		t.Errorf("begun at %s", begun)
	}
	fake.SetTime(start.Add(time.Minute))
	if begun := watches.begin("a"); !begun.Equal(start) {
		t.Errorf("a second begin moved the start to %s", begun)
	}
	if begun := watches.begin("b"); !begun.Equal(start.Add(time.Minute)) {
		t.Errorf("another Bar's stopwatch began at %s", begun)
	}
	watches.stop("a")
	if begun := watches.begin("a"); !begun.Equal(start.Add(time.Minute)) {
		t.Errorf("a stopped stopwatch began anew at %s", begun)
	}
}

func TestGracePeriods(t *testing.T) {
	const opted, notAllowed = v1alpha1.ReasonOptedOut, v1alpha1.ReasonClassNotAllowed
	start := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	steps := []struct {
		reason  string
		at      time.Duration
		grace   time.Duration
		applies []string
		want    string
		until   time.Duration
	}{
		{"The class sets the grace period.", 0, time.Hour, []string{opted}, opted, time.Hour},
		{"A class that is missing, or has a shorter one now, breaks no promise.", time.Minute, 30 * time.Second, []string{opted}, opted, time.Hour},
		{"A longer one counts from the start.", time.Minute, 2 * time.Hour, []string{opted}, opted, 2 * time.Hour},
		{"A request that comes back ends the grace period.", 3 * time.Minute, time.Minute, []string{notAllowed}, notAllowed, 4 * time.Minute},
		{"Another reason does not inherit the time, and the first deadline counts.", 3*time.Minute + time.Second, time.Minute, []string{opted, notAllowed}, notAllowed, 4 * time.Minute},
		{"To opt out and in again does not begin a lost right anew.", 3*time.Minute + 30*time.Second, time.Minute, []string{notAllowed}, notAllowed, 4 * time.Minute},
	}
	fake := clocktesting.NewFakePassiveClock(start)
	graces := newGracePeriods(fake)
	for _, step := range steps {
		fake.SetTime(start.Add(step.at))
		reason, deadline := graces.run("a", step.grace, step.applies...)
		if reason != step.want || !deadline.Equal(start.Add(step.until)) {
			t.Errorf("%s\ngot %s after %s, want %s after %s", step.reason, reason, deadline.Sub(start), step.want, step.until)
		}
	}
	graces.stop("a")
	if _, deadline := graces.run("a", time.Second, opted); !deadline.Equal(fake.Now().Add(time.Second)) {
		t.Errorf("a grace period that was stopped goes on until %s", deadline)
	}
}
