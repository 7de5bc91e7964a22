package failover

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/controlee/controlee/test/cluster"
)

// What an operator of the operator looks at: metrics and Events.
func TestLeadershipIsTold(t *testing.T) {
	all := startReplicas(t, 2, fast)
	old, epoch := all.leading(t, 0, time.Minute)
	expectMetrics(t, old, epoch)
	for _, replica := range all {
		if told := scrape(t, replica); replica != old && told["controlee_leader"] != 0 {
			t.Errorf("controlee_leader of %s, a standby, is %v", replica.PodName, told["controlee_leader"])
		}
	}
	expectEvent(t, old, "Leading", fmt.Sprintf("leads with epoch %d", epoch))

	if err := pause(old); err != nil {
		t.Fatal(err)
	}
	wakeUp(t, old, 0)
	next, after := all.leading(t, epoch+1, time.Minute)
	waitFailed(t, old)
	// Whichever it notices first.
	log := old.LogTail(200)
	if !strings.Contains(log, "Lost the leadership") || !strings.Contains(log, next.PodName+" holds it") && !strings.Contains(log, "could not be renewed") {
		t.Errorf("the log does not say why it ended:\n%s", log)
	}
	expectEvent(t, old, "LeadershipLost", "as it is meant to")
	expectEvent(t, next, "Leading", old.PodName+" gave no sign of life")
	expectMetrics(t, next, after)
}

// expectMetrics waits until a replica's metrics say that it leads.
func expectMetrics(t *testing.T, replica *cluster.OperatorProcess, epoch int64) {
	t.Helper()
	within(t, 5*time.Second, func() error {
		told := scrape(t, replica)
		renewed := time.UnixMilli(int64(told["controlee_lease_last_renewal_timestamp_seconds"] * 1000))
		if told["controlee_leader"] != 1 || told["controlee_fence_epoch"] != float64(epoch) ||
			told["controlee_handover_duration_seconds_count"] != 1 || time.Since(renewed).Abs() > 5*time.Second {
			return fmt.Errorf("%s leads with epoch %d and says %v", replica.PodName, epoch, told)
		}
		return nil
	})
}

// expectEvent waits for an Event of a replica's Pod.
func expectEvent(t *testing.T, replica *cluster.OperatorProcess, reason, note string) {
	t.Helper()
	within(t, 10*time.Second, func() error {
		events := &eventsv1.EventList{}
		if err := admin.List(t.Context(), events, client.InNamespace(systemNamespace)); err != nil {
			return err
		}
		var seen []string
		for i := range events.Items {
			if e := &events.Items[i]; string(e.Regarding.UID) == replica.PodUID {
				if e.Reason == reason && strings.Contains(e.Note, note) {
					return nil
				}
				seen = append(seen, e.Reason+": "+e.Note)
			}
		}
		return fmt.Errorf("no Event %s with %q about %s, only %q", reason, note, replica.PodName, seen)
	})
}

// scrape gives a replica's own metrics: those without labels.
func scrape(t *testing.T, replica *cluster.OperatorProcess) map[string]float64 {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, replica.MetricsURL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	values := map[string]float64{}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		name, text, found := strings.Cut(lines.Text(), " ")
		if !found || !strings.HasPrefix(name, "controlee_") || strings.Contains(name, "{") {
			continue
		}
		if values[name], err = strconv.ParseFloat(text, 64); err != nil {
			t.Fatal(err)
		}
	}
	return values
}
