package bar

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// users are the live objects, such as routes, that use exclusive names, whoever made them. The
// mutex of owners guards them.
//
// An object in a namespace that is no longer served stays among them: the operator has not seen
// that it is gone. An object that was deleted while its namespace was not served also stays, so
// whoever is refused because of an object verifies it first.
type users struct {
	objects map[targetKey]user
	byName  map[string]map[targetKey]bool // by exclusive name
}

// user is one live object.
type user struct {
	targetKey
	uid        types.UID
	created    time.Time
	bar        string    // the Bar that its label names
	controller types.UID // the source that controls it
	names      []string  // the exclusive names that it uses
}

func newUsers() users {
	return users{objects: map[targetKey]user{}, byName: map[string]map[targetKey]bool{}}
}

func userOf(object *unstructured.Unstructured, names []string) user {
	gvk := object.GroupVersionKind()
	u := user{
		targetKey: targetKey{gvk.Group, gvk.Kind, object.GetNamespace(), object.GetName()},
		uid:       object.GetUID(), created: object.GetCreationTimestamp().Time, bar: object.GetLabels()[v1alpha1.BarLabel], names: names,
	}
	if controller := metav1.GetControllerOf(object); controller != nil {
		u.controller = controller.UID
	}
	return u
}

// madeFor says whether the object was made for a Bar, as isOurs does.
func (u *user) madeFor(bar *v1alpha1.Bar) bool {
	return u.bar == bar.Name && u.controller == bar.Spec.SourceRef.UID
}

// others are the objects that use a name and were not made for the given Bar.
func (u *users) others(name string, bar *v1alpha1.Bar) (others []user) {
	for key := range u.byName[name] {
		if object := u.objects[key]; !object.madeFor(bar) {
			others = append(others, object)
		}
	}
	return others
}

// set replaces what is known of an object, and returns the names that it no longer uses.
func (u *users) set(object user) (freed []string) {
	freed = slices.DeleteFunc(slices.Clone(u.remove(object.targetKey)), func(name string) bool { return slices.Contains(object.names, name) })
	if len(object.names) == 0 {
		return freed
	}
	u.objects[object.targetKey] = object
	for _, name := range object.names {
		if u.byName[name] == nil {
			u.byName[name] = map[targetKey]bool{}
		}
		u.byName[name][object.targetKey] = true
	}
	return freed
}

// remove forgets an object, and returns the names that it used.
func (u *users) remove(key targetKey) (freed []string) {
	object, known := u.objects[key]
	if !known {
		return nil
	}
	delete(u.objects, key)
	for _, name := range object.names {
		delete(u.byName[name], key)
		if len(u.byName[name]) == 0 {
			delete(u.byName, name)
		}
	}
	return object.names
}

// sawObject takes over which names a live object uses, and wakes up who waits for one that it no
// longer uses.
func (o *owners) sawObject(object *unstructured.Unstructured, names []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range o.users.set(userOf(object, names)) {
		o.waiting.wake(name)
	}
}

// goneObject forgets an object that was seen to be gone, and wakes up who waits for a name that it
// used. A newer object of the same key, which was seen meanwhile, stays.
func (o *owners) goneObject(gone *user) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.users.objects[gone.targetKey].uid != gone.uid {
		return
	}
	for _, name := range o.users.remove(gone.targetKey) {
		o.waiting.wake(name)
	}
}

// letGo forgets the objects that were made for a Bar: an admin has deleted the Bar of a lost
// namespace on purpose.
func (o *owners) letGo(bar *v1alpha1.Bar) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, object := range o.users.objects {
		if !object.madeFor(bar) {
			continue
		}
		for _, name := range o.users.remove(key) {
			o.waiting.wake(name)
		}
	}
}

// forgetForeign forgets the objects in a namespace that no Tenant names and that were not made for
// a Bar. They are nothing that the operator answers for, and count only where it serves the
// namespace.
func (o *owners) forgetForeign(namespace string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, object := range o.users.objects {
		if key.namespace != namespace || object.bar != "" {
			continue
		}
		for _, name := range o.users.remove(key) {
			o.waiting.wake(name)
		}
	}
}

// wakeFor wakes up who waits for a name that an object in the given namespace uses: whether the
// object is still there can be verified now.
func (o *owners) wakeFor(namespace string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name := range o.waiting.bars {
		for key := range o.users.byName[name] {
			if key.namespace == namespace {
				o.waiting.wake(name)
			}
		}
	}
}
