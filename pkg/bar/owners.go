package bar

import (
	"cmp"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/provider"
	"github.com/controlee/controlee/pkg/tenancy"
)

// owners is the leader's view of who owns which exclusive name, such as a host name. All workers
// share it, so that of two Bars that claim the same name at the same time one gets it.
//
// A name is free when no Bar's status.targets records it and no live object uses it. The records
// come from a live list of all Bars before the first grant, from the events of Bars, and from the
// statuses that this process writes. The objects that use names come from the events of routes; see
// users.
type owners struct {
	mu      sync.Mutex
	records map[string]record          // by name of the Bar
	holders map[string]map[string]bool // by exclusive name, the names of the Bars that record it
	grants  map[string]string          // by exclusive name, the Bar that may take it and has not recorded it yet
	users   users
	waiting waitList

	listed  bool               // whether the Bars were listed live
	listing int                // live lists of the Bars that run now
	removed map[types.UID]bool // Bars whose deletion was seen while a live list runs; nil while none runs
	synced  bool               // whether the registry has been synced once
}

// record is what one Bar's status.targets says of exclusive names.
type record struct {
	uid             types.UID
	resourceVersion string
	rank            rank
	held            map[string]hold // by exclusive name
}

// hold says with which object a Bar holds an exclusive name.
type hold struct {
	object   targetKey
	since    time.Time // when the state of the target last changed: about the creation of the object
	deleting bool      // the object is being deleted
}

// rank orders Bars, the oldest first. Of two Bars that were created in the same second the one
// whose name sorts first goes first.
type rank struct {
	created time.Time
	name    string
}

func rankOf(bar *v1alpha1.Bar) rank { return rank{bar.CreationTimestamp.Time, bar.Name} }

func (r rank) compare(other rank) int {
	return cmp.Or(r.created.Compare(other.created), cmp.Compare(r.name, other.name))
}

// need is an exclusive name that a Bar claims.
type need struct {
	*provider.Exclusive
	has   bool // the Bar records the name, or its own object uses it
	mine  hold // if has
	known bool // whether the Bar records it
}

// decision is the answer to a claim: granted if nothing is set.
type decision struct {
	refused *provider.Exclusive // a name that the Bar cannot have
	lost    bool                // the Bar has an object that uses the name, and must give it up
	user    *user               // the object that uses the name, if that is why
	doubts  []user              // objects that are in the way, unless they are gone meanwhile
}

func newOwners(namespace string) *owners {
	return &owners{
		records: map[string]record{}, holders: map[string]map[string]bool{}, grants: map[string]string{},
		users: newUsers(), waiting: waitList{namespace: namespace, bars: map[string]map[string]rank{}},
	}
}

// wakeThrough sets the queue through which Bars that wait are woken up.
func (o *owners) wakeThrough(queue tenancy.Queue) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting.queue = queue
}

// claim takes all names that a Bar needs, or none of them: then the Bar waits, and is reconciled
// again when the name is free. Of the Bars that wait the oldest comes first. Objects in the way are
// doubted once: the caller verifies them and claims again.
func (o *owners) claim(bar *v1alpha1.Bar, needs []need, verified bool) decision {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stopWaiting(bar.Name)
	for i := range needs {
		if needs[i].known {
			o.record(bar) // the cache can be ahead of its events
		}
		if o.grants[needs[i].Key] == bar.Name {
			delete(o.grants, needs[i].Key)
			o.waiting.wake(needs[i].Key) // who is woken up waits for the mutex, and finds it granted again
		}
	}
	var doubts []user
	for i := range needs {
		answer := o.judge(bar, &needs[i])
		switch {
		case answer.user != nil && !verified:
			doubts = append(doubts, o.users.others(needs[i].Key, bar)...)
		case answer.refused != nil:
			if !answer.lost {
				o.waiting.add(answer.refused.Key, bar)
			}
			return answer
		}
	}
	if len(doubts) > 0 {
		return decision{doubts: doubts}
	}
	for i := range needs {
		if !needs[i].known {
			o.grants[needs[i].Key] = bar.Name
		}
	}
	return decision{}
}

// judge decides about one name.
func (o *owners) judge(bar *v1alpha1.Bar, n *need) decision {
	refused := decision{refused: n.Exclusive}
	if n.has {
		refused.lost = o.mustYield(bar, n)
		if refused.lost {
			return refused
		}
		return decision{}
	}
	for holder := range o.holders[n.Key] {
		if holder != bar.Name {
			return refused
		}
	}
	if granted, ok := o.grants[n.Key]; ok && granted != bar.Name {
		return refused
	}
	if others := o.users.others(n.Key, bar); len(others) > 0 {
		refused.user = &others[0]
		return refused
	}
	if o.waiting.hasOlder(n.Key, rankOf(bar)) {
		return refused // it was woken up and is about to claim the name
	}
	return decision{}
}

// mustYield says whether another Bar that has the same name has the older object. Bars with younger
// objects are woken up, so that they yield.
func (o *owners) mustYield(bar *v1alpha1.Bar, n *need) bool {
	mine := o.age(n.mine)
	for name := range o.holders[n.Key] {
		other := o.records[name]
		theirs := other.held[n.Key]
		if name == bar.Name || theirs.deleting {
			continue
		}
		if cmp.Or(mine.Compare(o.age(theirs)), rankOf(bar).compare(other.rank)) > 0 {
			return true
		}
		o.waiting.enqueue(name)
	}
	return false
}

// age is when an object was created, and as long as the object has not been seen, when it was
// recorded.
func (o *owners) age(h hold) time.Time {
	if u, seen := o.users.objects[h.object]; seen {
		return u.created
	}
	return h.since
}

// sawBar takes over what a Bar records, unless a later status is known.
func (o *owners) sawBar(bar *v1alpha1.Bar) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.record(bar)
}

// record is sawBar. The caller holds the mutex.
func (o *owners) record(bar *v1alpha1.Bar) {
	before, known := o.records[bar.Name]
	if order, err := resourceversion.CompareResourceVersion(bar.ResourceVersion, before.resourceVersion); known && err == nil && order <= 0 {
		return
	}
	after := record{uid: bar.UID, resourceVersion: bar.ResourceVersion, rank: rankOf(bar), held: heldBy(bar)}
	o.records[bar.Name] = after
	for key := range after.held {
		if o.holders[key] == nil {
			o.holders[key] = map[string]bool{}
		}
		o.holders[key][bar.Name] = true
		if o.grants[key] == bar.Name {
			delete(o.grants, key)
		}
	}
	for key := range before.held {
		if _, still := after.held[key]; !still {
			o.unhold(key, bar.Name)
		}
	}
}

// beginList has the deletions noted that are seen while a live list of the Bars runs.
func (o *owners) beginList() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.removed == nil {
		o.removed = map[types.UID]bool{}
	}
	o.listing++
}

// endList takes over what a live list returned, without the Bars that were deleted meanwhile: no
// further event would remove them.
func (o *owners) endList(bars []v1alpha1.Bar) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range bars {
		if !o.removed[bars[i].UID] {
			o.record(&bars[i])
		}
	}
	o.listing--
	if o.listing == 0 {
		o.removed = nil
	}
}

// wrote takes note that this process has just written, or read live, all that a Bar records. A name
// that was granted and that the status does not record is free again.
func (o *owners) wrote(bar *v1alpha1.Bar) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dropGrants(bar.Name)
}

// heldBy returns the exclusive names that a Bar's status records.
func heldBy(bar *v1alpha1.Bar) map[string]hold {
	all := map[string]hold{}
	for i := range bar.Status.Targets {
		target := &bar.Status.Targets[i]
		if target.Holds == "" {
			continue
		}
		this := hold{keyOf(target), target.Since.Time, target.State == v1alpha1.TargetDeleting}
		if other, twice := all[target.Holds]; twice && !other.deleting && (this.deleting || other.since.Before(this.since)) {
			continue // the older of two objects counts, as a host name that moves to another Gateway has them
		}
		all[target.Holds] = this
	}
	return all
}

// deleted drops the record of a Bar that was deleted. The names that its objects use stay taken.
func (o *owners) deleted(bar *v1alpha1.Bar) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.removed != nil {
		o.removed[bar.UID] = true
	}
	o.stopWaiting(bar.Name)
	o.dropGrants(bar.Name)
	before, known := o.records[bar.Name]
	if !known || before.uid != bar.UID {
		return // another Bar of the same name has been created meanwhile
	}
	delete(o.records, bar.Name)
	for key := range before.held {
		o.unhold(key, bar.Name)
	}
}

// hasRecord returns the UID of the Bar of a name whose record is known.
func (o *owners) hasRecord(name string) (types.UID, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r, known := o.records[name]
	return r.uid, known
}

// hasGrant returns whether a Bar was granted a name that it has not recorded.
func (o *owners) hasGrant(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, granted := range o.grants {
		if granted == name {
			return true
		}
	}
	return false
}

// leave drops a Bar from all that it waits for: it no longer needs it, or cannot use it now.
func (o *owners) leave(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stopWaiting(name)
}

func (o *owners) unhold(key, name string) {
	delete(o.holders[key], name)
	if len(o.holders[key]) == 0 {
		delete(o.holders, key)
	}
	o.waiting.wake(key)
}

func (o *owners) dropGrants(name string) {
	for key, granted := range o.grants {
		if granted == name {
			delete(o.grants, key)
			o.waiting.wake(key)
		}
	}
}

// stopWaiting takes a Bar from all that it waited for. The others, which may have let it go first,
// are woken up.
func (o *owners) stopWaiting(name string) {
	for _, key := range o.waiting.remove(name) {
		if len(o.holders[key]) == 0 && o.grants[key] == "" && len(o.users.byName[key]) == 0 {
			o.waiting.wake(key)
		}
	}
}
