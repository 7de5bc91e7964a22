package tenancy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
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

// How often the API server is asked which kinds it has: often while one is lacking, since a
// platform admin who has installed it waits for it; else only to notice that one was removed.
const (
	askWhileLacking = 30 * time.Second
	askWhileAllHere = 5 * time.Minute
	askAfterFailure = 3 * time.Second
)

// askTimeout is how long the API server may take to say which kinds it has.
const askTimeout = 15 * time.Second

// Discovery says which groups, versions and kinds the API server has.
type Discovery interface {
	ServerGroupsWithContext(ctx context.Context) (*metav1.APIGroupList, error)
	ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
}

// NewDiscovery makes a Discovery. Its list of groups is without the kinds of all groups, of which
// those of a few are needed.
func NewDiscovery(config *rest.Config, client *http.Client) (Discovery, error) {
	server, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	server.UseLegacyDiscovery = true
	return server, nil
}

// LateKinds knows which late kinds the cluster has. It asks for the versions that they are in,
// which every account may; it reads no CRDs.
type LateKinds struct {
	kinds     []LateKind
	discovery Discovery
	failures  repetition

	mu       sync.RWMutex
	known    bool                        // whether the API server has answered yet
	versions map[schema.GroupKind]string // of those that the cluster has
	onChange []func()
}

// NewLateKinds makes a LateKinds that knows nothing yet. The Registry that it is given to keeps it
// up to date.
func NewLateKinds(server Discovery, kinds []LateKind) *LateKinds {
	return &LateKinds{kinds: kinds, discovery: server, versions: map[schema.GroupKind]string{}}
}

// Version gives the version of a kind that the cluster has, and a *NotInstalledError when it has
// none.
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

// Served asks the API server in which versions it serves a kind, those that nobody knows here
// included. Without any the kind is not installed, and no object of it exists.
func (l *LateKinds) Served(ctx context.Context, kind schema.GroupKind) (versions []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	groups, err := l.discovery.ServerGroupsWithContext(ctx)
	if err != nil {
		return nil, err
	}
	for i := range groups.Groups {
		if groups.Groups[i].Name != kind.Group {
			continue
		}
		for _, version := range groups.Groups[i].Versions {
			kinds, err := l.kindsIn(ctx, kind.WithVersion(version.Version).GroupVersion())
			if err != nil {
				return nil, err
			}
			if kinds[kind.Kind] {
				versions = append(versions, version.Version)
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
		err := l.Ask(ctx)
		if err == nil {
			return
		}
		l.logFailure(ctx, err)
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
		if err := l.Ask(ctx); err != nil {
			l.logFailure(ctx, err)
		}
	}
}

// logFailure logs that the API server did not say which kinds it has, now and then.
func (l *LateKinds) logFailure(ctx context.Context, err error) {
	if ctx.Err() == nil && l.failures.due("discovery", time.Now()) {
		logf.FromContext(ctx).WithName("tenancy").Info("Could not ask which kinds the cluster has", "error", err.Error())
	}
}

// Ask asks once and calls what is registered with Notify, if something has changed. It asks for the
// kinds of those versions alone that the API server has, so that nothing is answered with 404.
func (l *LateKinds) Ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	groups, err := l.discovery.ServerGroupsWithContext(ctx)
	if err != nil {
		return err
	}
	exists := map[string]bool{}
	for i := range groups.Groups {
		for _, version := range groups.Groups[i].Versions {
			exists[version.GroupVersion] = true
		}
	}
	served := map[schema.GroupVersion]map[string]bool{}
	versions := map[schema.GroupKind]string{}
	for _, late := range l.kinds {
		for _, version := range late.Versions {
			gv := schema.GroupVersion{Group: late.Group, Version: version}
			if !exists[gv.String()] {
				continue
			}
			if served[gv] == nil {
				kinds, err := l.kindsIn(ctx, gv)
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
	l.failures.reset()
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

func (l *LateKinds) kindsIn(ctx context.Context, gv schema.GroupVersion) (map[string]bool, error) {
	list, err := l.discovery.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
	if apierrors.IsNotFound(err) { // it has gone since
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
