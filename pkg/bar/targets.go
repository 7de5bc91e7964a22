package bar

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// This file holds the write-ahead inventory as pure functions: each takes the targets and gives new ones.

// targetKey tells targets of one Bar apart.
type targetKey struct {
	group, kind, namespace, name string
}

func keyOf(target *v1alpha1.BarTarget) targetKey {
	return targetKey{target.APIGroup, target.Kind, target.Namespace, target.Name}
}

func (p *part) key() targetKey {
	return targetKey{p.Object.GroupVersionKind().Group, p.Object.GetKind(), p.Object.GetNamespace(), p.Object.GetName()}
}

// find gives a target by its key, nil if there is none.
func find(targets []v1alpha1.BarTarget, key targetKey) *v1alpha1.BarTarget {
	for i := range targets {
		if keyOf(&targets[i]) == key {
			return &targets[i]
		}
	}
	return nil
}

// planned adds what is wanted and not recorded as existing. An object that was recorded and is gone, or is not the one that was recorded, is
// planned anew: making it is an action like the first time.
func planned(targets []v1alpha1.BarTarget, parts []part, class *v1alpha1.BarClass, now metav1.Time) []v1alpha1.BarTarget {
	result := slices.Clone(targets)
	for i := range parts {
		part := &parts[i]
		target := find(result, part.key())
		if target == nil {
			gvk := part.Object.GroupVersionKind()
			entry := v1alpha1.BarTarget{
				APIGroup: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: part.Object.GetNamespace(), Name: part.Object.GetName(),
				State: v1alpha1.TargetPlanned, ClassName: class.Name, Provider: string(class.Spec.Provider.Type), Since: now,
			}
			if part.exclusive != nil {
				entry.Holds = part.exclusive.Key
			}
			result = append(result, entry)
			continue
		}
		exists := target.State == v1alpha1.TargetApplied && target.UID == part.live.GetUID()
		if exists || target.State == v1alpha1.TargetPlanned {
			continue
		}
		target.State, target.UID, target.Since = v1alpha1.TargetPlanned, "", now
	}
	return result
}

// applied records that an object exists.
func applied(targets []v1alpha1.BarTarget, part *part, now metav1.Time) []v1alpha1.BarTarget {
	result := slices.Clone(targets)
	target := find(result, part.key())
	if target.State != v1alpha1.TargetApplied || target.UID != part.live.GetUID() {
		target.State, target.UID, target.Since = v1alpha1.TargetApplied, part.live.GetUID(), now
	}
	target.Version = part.Object.GroupVersionKind().Version
	return result
}

// serving notes that the Bar is ready with the wanted objects.
func serving(targets []v1alpha1.BarTarget, parts []part) []v1alpha1.BarTarget {
	result := slices.Clone(targets)
	for i := range parts {
		find(result, parts[i].key()).Serving = true
	}
	return result
}

// superseded are the targets that no longer fit and can go: all once what replaces them is ready, and before that those that never served.
func superseded(targets []v1alpha1.BarTarget, parts []part, ready bool) []v1alpha1.BarTarget {
	wanted := map[targetKey]bool{}
	for i := range parts {
		wanted[parts[i].key()] = true
	}
	return slices.DeleteFunc(slices.Clone(targets), func(target v1alpha1.BarTarget) bool {
		return wanted[keyOf(&target)] || target.State == v1alpha1.TargetDeleting || (target.Serving && !ready)
	})
}

// everything is what a released Bar has to take away.
func everything(targets []v1alpha1.BarTarget) []v1alpha1.BarTarget {
	return superseded(targets, nil, true)
}

// marked are the targets that are being deleted.
func marked(targets []v1alpha1.BarTarget) []v1alpha1.BarTarget {
	return slices.DeleteFunc(slices.Clone(targets), func(target v1alpha1.BarTarget) bool { return target.State != v1alpha1.TargetDeleting })
}

// deleting marks a target for deletion. Without a UID there is nothing to delete, and the target goes.
func deleting(targets []v1alpha1.BarTarget, key targetKey, uid types.UID, now metav1.Time) []v1alpha1.BarTarget {
	if uid == "" {
		return without(targets, key)
	}
	result := slices.Clone(targets)
	target := find(result, key)
	target.State, target.UID, target.Since = v1alpha1.TargetDeleting, uid, now
	return result
}

// without drops a target.
func without(targets []v1alpha1.BarTarget, key targetKey) []v1alpha1.BarTarget {
	return slices.DeleteFunc(slices.Clone(targets), func(target v1alpha1.BarTarget) bool { return keyOf(&target) == key })
}
