package bar

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/tenancy"
)

// waitList holds the Bars that wait for exclusive names. The mutex of owners guards it.
type waitList struct {
	namespace string                     // of the Bars
	bars      map[string]map[string]rank // by exclusive name, then by name of the Bar
	queue     tenancy.Queue              // nil until the controller runs
}

func (w *waitList) add(key string, bar *v1alpha1.Bar) {
	if w.bars[key] == nil {
		w.bars[key] = map[string]rank{}
	}
	w.bars[key][bar.Name] = rankOf(bar)
}

// remove takes a Bar off the list, and returns the names that others still wait for.
func (w *waitList) remove(name string) (keys []string) {
	for key, bars := range w.bars {
		if _, waited := bars[name]; !waited {
			continue
		}
		delete(bars, name)
		if len(bars) == 0 {
			delete(w.bars, key)
			continue
		}
		keys = append(keys, key)
	}
	return keys
}

// hasOlder says whether a Bar that goes before the given rank waits for a name.
func (w *waitList) hasOlder(key string, than rank) bool {
	for _, waiting := range w.bars[key] {
		if waiting.compare(than) < 0 {
			return true
		}
	}
	return false
}

// wake has all Bars reconciled that wait for a name.
func (w *waitList) wake(key string) {
	for name := range w.bars[key] {
		w.enqueue(name)
	}
}

// enqueue has one Bar reconciled.
func (w *waitList) enqueue(name string) {
	if w.queue != nil {
		w.queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: name}})
	}
}
