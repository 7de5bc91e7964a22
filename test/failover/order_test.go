package failover

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"
)

// write is a request of the operator's that changed something, or tried to.
type write struct {
	version  uint64 // resource version of the object after it; 0 where the answer has none
	pod      string // whose token it carried
	code     int
	verb     string
	object   string // resource, namespace and name
	received time.Time
	answered time.Time
	epoch    int64 // for a claim of the Fence: the epoch that was claimed
	exempt   bool  // leader election's own: Lease, Fence, Events
}

func (w write) accepted() bool { return w.code >= 200 && w.code < 300 }

// reign is the time of one epoch.
type reign struct {
	epoch   int64
	pod     string
	claimed uint64    // resource version of the Fence
	first   uint64    // resource version of the first write after it, 0 if there was none
	firstAt time.Time // when that was answered
}

// reigns gives the epochs in order, with the first write of each.
func reigns(writes []write) []reign {
	var all []reign
	for _, w := range inOrder(writes) {
		if w.epoch > 0 {
			all = append(all, reign{epoch: w.epoch, pod: w.pod, claimed: w.version})
			continue
		}
		if i := latest(all, w.pod); !w.exempt && i >= 0 && all[i].first == 0 {
			all[i].first, all[i].firstAt = w.version, w.answered
		}
	}
	return all
}

// latest gives the index of a Pod's latest reign, -1 if it never reigned.
func latest(all []reign, pod string) int {
	for i, r := range slices.Backward(all) {
		if r.pod == pod {
			return i
		}
	}
	return -1
}

// stale gives the writes that were accepted although a newer epoch had already begun to write: in the order of resource versions,
// that is as the store has them, after the first write of an epoch of another Pod that came later.
func stale(writes []write) []write {
	all := reigns(writes)
	var found []write
	for _, w := range inOrder(writes) {
		if w.exempt {
			continue
		}
		// Whose turn it is: the last epoch that has begun to write.
		turn := -1
		for i, r := range all {
			if r.first != 0 && r.first <= w.version {
				turn = i
			}
		}
		if turn >= 0 && all[turn].pod != w.pod && !slices.ContainsFunc(all[turn+1:], func(r reign) bool { return r.pod == w.pod && r.claimed <= w.version }) {
			found = append(found, w)
		}
	}
	return found
}

// inOrder gives the writes that were accepted, and of which the answer tells the resource version, in the store's order.
func inOrder(writes []write) []write {
	accepted := slices.DeleteFunc(slices.Clone(writes), func(w write) bool { return !w.accepted() || w.version == 0 })
	slices.SortStableFunc(accepted, func(a, b write) int { return cmp.Compare(a.version, b.version) })
	return accepted
}

// The judge must be able to find fault.
func TestStale(t *testing.T) {
	claim := func(version uint64, pod string, epoch int64) write {
		return write{version: version, pod: pod, code: 200, epoch: epoch, exempt: true}
	}
	done := func(version uint64, pod string) write { return write{version: version, pod: pod, code: 200} }
	cases := map[string]struct {
		reason string
		writes []write
		want   []uint64
	}{
		"InTurn": {
			reason: "Each leader writes in its own time.",
			writes: []write{claim(1, "a", 1), done(2, "a"), claim(3, "b", 2), done(4, "b"), claim(5, "a", 3), done(6, "a")},
		},
		"LateButBeforeTheFirstWrite": {
			reason: "The new leader has not done anything yet that the old one could spoil.",
			writes: []write{claim(1, "a", 1), done(2, "a"), claim(3, "b", 2), done(4, "a"), done(5, "b")},
		},
		"Stale": {
			reason: "The old leader writes after the new one.",
			writes: []write{claim(1, "a", 1), done(2, "a"), claim(3, "b", 2), done(4, "b"), done(5, "a"), done(6, "b")},
			want:   []uint64{5},
		},
		"OutOfOrderInTheLog": {
			reason: "The log is in the order of the answers; the store's order counts.",
			writes: []write{done(5, "a"), claim(1, "a", 1), done(2, "a"), done(4, "b"), claim(3, "b", 2)},
			want:   []uint64{5},
		},
		"Refused": {
			reason: "What the fence refused did no harm.",
			writes: []write{claim(1, "a", 1), claim(3, "b", 2), done(4, "b"), {version: 5, pod: "a", code: 422}},
		},
		"RestartInThePod": {
			reason: "The same Pod again is the same writer.",
			writes: []write{claim(1, "a", 1), done(2, "a"), claim(3, "a", 2), done(4, "a")},
		},
		"BackAgain": {
			reason: "A Pod that claimed anew may write, its predecessor no longer.",
			writes: []write{claim(1, "a", 1), done(2, "a"), claim(3, "b", 2), done(4, "b"), claim(5, "a", 3), done(6, "a"), done(7, "b")},
			want:   []uint64{7},
		},
		"NeverClaimed": {
			reason: "A Pod that never was the leader writes.",
			writes: []write{claim(1, "a", 1), done(2, "a"), done(3, "c")},
			want:   []uint64{3},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []uint64
			for _, w := range stale(tc.writes) {
				got = append(got, w.version)
			}
			if fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("%s\ngot %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}
