package tenancy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// LateKind is a kind whose CRD a cluster may lack, or get while the operator runs.
type LateKind struct {
	schema.GroupKind
	// Versions are those that will do, the best first.
	Versions []string
}

// NotInstalledError says that the cluster lacks a kind.
type NotInstalledError struct {
	LateKind
}

// Error tells the platform admin what to install.
func (e *NotInstalledError) Error() string {
	return fmt.Sprintf("the cluster has no kind %s of group %s (%s): its CRD must be installed", e.Kind, e.Group, strings.Join(e.Versions, " or "))
}

// How often the API server is asked which kinds it has: often while one is lacking, since a platform admin who has installed it
// waits for it; else only to notice that one was removed.
const (
	askWhileLacking = 30 * time.Second
	askWhileAllHere = 5 * time.Minute
	askAfterFailure = 3 * time.Second
)

// LateKinds knows which late kinds the cluster has. It asks for the versions that they are in, which every account may; it reads no CRDs.
type LateKinds struct {
	kinds     []LateKind
	discovery discovery.ServerResourcesInterface

	mu       sync.RWMutex
	known    bool                        // whether the API server has answered yet
	versions map[schema.GroupKind]string // of those that the cluster has
	onChange []func()
}

// NewLateKinds makes a LateKinds that knows nothing yet. The Registry that it is given to keeps it up to date.
func NewLateKinds(server discovery.ServerResourcesInterface, kinds []LateKind) *LateKinds {
	return &LateKinds{kinds: kinds, discovery: server, versions: map[schema.GroupKind]string{}}
}

// Version gives the version of a kind that the cluster has, and a *NotInstalledError when it has none.
func (l *LateKinds) Version(kind schema.GroupKind) (string, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if !l.known {
		return "", errors.New("it is not known yet which kinds the cluster has")
	}
	if version, present := l.versions[kind]; present {
		return version, nil
	}
	for _, late := range l.kinds {
		if late.GroupKind == kind {
			return "", &NotInstalledError{LateKind: late}
		}
	}
	return "", fmt.Errorf("nobody asks for kind %s", kind)
}

// Served asks the API server in which versions it serves a kind, those that nobody knows here included. Without any the kind is not
// installed, and no object of it exists.
func (l *LateKinds) Served(kind schema.GroupKind) (versions []string, err error) {
	_, lists, err := l.discovery.ServerGroupsAndResources()
	failed, partly := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partly {
		return nil, err
	}
	for gv := range failed {
		if gv.Group == kind.Group {
			return nil, err
		}
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || gv.Group != kind.Group {
			continue
		}
		for i := range list.APIResources {
			if resource := &list.APIResources[i]; resource.Kind == kind.Kind && !strings.Contains(resource.Name, "/") {
				versions = append(versions, gv.Version)
			}
		}
	}
	return versions, nil
}

// IsLate says whether a kind is one of these.
func (l *LateKinds) IsLate(kind schema.GroupKind) bool {
	for _, late := range l.kinds {
		if late.GroupKind == kind {
			return true
		}
	}
	return false
}

// Notify registers a function that is called when the cluster has got or lost one of the kinds.
func (l *LateKinds) Notify(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.onChange = append(l.onChange, f)
}

// Present are the kinds that the cluster has.
func (l *LateKinds) Present() (kinds []schema.GroupVersionKind) {
	for kind, version := range l.present() {
		kinds = append(kinds, kind.WithVersion(version))
	}
	return kinds
}

// present are the kinds that the cluster has, with their versions.
func (l *LateKinds) present() map[schema.GroupKind]string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return maps.Clone(l.versions)
}

// learn asks until the API server has answered once.
func (l *LateKinds) learn(ctx context.Context) {
	for ctx.Err() == nil {
		err := l.Ask()
		if err == nil {
			return
		}
		logf.FromContext(ctx).WithName("tenancy").Info("Could not ask which kinds the cluster has", "error", err.Error())
		sleep(ctx, askAfterFailure)
	}
}

// follow asks again and again.
func (l *LateKinds) follow(ctx context.Context) {
	for ctx.Err() == nil {
		pause := askWhileAllHere
		if len(l.present()) < len(l.kinds) {
			pause = askWhileLacking
		}
		sleep(ctx, wait.Jitter(pause, 0.2))
		if err := l.Ask(); err != nil && ctx.Err() == nil {
			logf.FromContext(ctx).WithName("tenancy").Info("Could not ask which kinds the cluster has", "error", err.Error())
		}
	}
}

// Ask asks once, for each version once, and tells of a change.
func (l *LateKinds) Ask() error {
	served := map[schema.GroupVersion]map[string]bool{}
	versions := map[schema.GroupKind]string{}
	for _, late := range l.kinds {
		for _, version := range late.Versions {
			gv := schema.GroupVersion{Group: late.Group, Version: version}
			if served[gv] == nil {
				kinds, err := l.kindsIn(gv)
				if err != nil {
					return err
				}
				served[gv] = kinds
			}
			if served[gv][late.Kind] {
				versions[late.GroupKind] = version
				break
			}
		}
	}
	l.mu.Lock()
	changed := !l.known || !maps.Equal(l.versions, versions)
	l.known, l.versions = true, versions
	told := l.onChange
	l.mu.Unlock()
	if changed {
		for _, f := range told {
			f()
		}
	}
	return nil
}

func (l *LateKinds) kindsIn(gv schema.GroupVersion) (map[string]bool, error) {
	list, err := l.discovery.ServerResourcesForGroupVersion(gv.String())
	if apierrors.IsNotFound(err) {
		return map[string]bool{}, nil
	}
	if err != nil {
		return nil, err
	}
	kinds := map[string]bool{}
	for i := range list.APIResources {
		kinds[list.APIResources[i].Kind] = true
	}
	return kinds, nil
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
