package failover

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/controlee/controlee/test/cluster"
)

// handover is one change of the leader.
type handover struct {
	began time.Time // when the old one was told, killed or stopped
	epoch int64     // the next one's
}

// series is a number of handovers of one kind.
type series struct {
	name      string
	goal      time.Duration // for the 99th percentile
	down      func(*cluster.OperatorProcess) error
	paused    bool          // the old leader goes on once it is replaced
	asleep    time.Duration // and at least this much later
	share     float64       // of FAILOVER_N
	handovers []handover
}

// lines are what is printed at the end, after all tests.
var lines []string

func note(t *testing.T, format string, args ...any) {
	t.Helper()
	line := fmt.Sprintf(format, args...)
	t.Log(line)
	lines = append(lines, line)
}

// report prints how long the handovers took, from their begin to the answer to the next leader's first write.
func report(t *testing.T, set timings, all []*series) {
	t.Helper()
	firsts := map[int64]time.Time{}
	for _, r := range reigns(audit.writes) {
		firsts[r.epoch] = r.firstAt
	}
	note(t, "%-42s %5s %8s %8s %8s  goal for p99", "handovers at "+set.name, "n", "p50", "p99", "max")
	for _, s := range all {
		var took []time.Duration
		silent := 0
		for _, h := range s.handovers {
			at := firsts[h.epoch]
			if at.IsZero() {
				silent++ // another one followed at once, which is counted as unasked for
				continue
			}
			took = append(took, at.Sub(h.began))
		}
		if len(took) == 0 || silent > len(took)/20 {
			t.Errorf("%s: %d of %d leaders wrote nothing", s.name, silent, len(s.handovers))
			continue
		}
		slices.Sort(took)
		verdict := "met"
		if percentile(took, 99) > s.goal {
			verdict = "MISSED"
		}
		note(t, "%-42s %5d %8s %8s %8s  %s %s", s.name, len(took), round(percentile(took, 50)), round(percentile(took, 99)), round(took[len(took)-1]), s.goal, verdict)
	}
}

// percentile gives the smallest value that p percent do not exceed.
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[(len(sorted)*p+99)/100-1]
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }

// judge reads the audit log and gives the stale writes among those that came after a time.
func judge(t *testing.T, since time.Time) []write {
	t.Helper()
	time.Sleep(500 * time.Millisecond) // the log is written after the answer
	if err := audit.read(); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(stale(audit.writes), func(w write) bool { return w.received.Before(since) })
}

func describe(writes []write) string {
	var all []string
	for i, w := range writes {
		if i == 5 {
			all = append(all, fmt.Sprintf("and %d more", len(writes)-i))
			break
		}
		all = append(all, fmt.Sprintf("%s by %s at %s, version %d", w.verb+" "+w.object, w.pod, w.answered.Format(time.TimeOnly+".000"), w.version))
	}
	return strings.Join(all, "\n")
}
