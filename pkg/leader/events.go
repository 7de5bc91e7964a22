package leader

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// Reasons of Events about the operator's own Pods.
const (
	eventLeading = "Leading"
	eventLost    = "LeadershipLost"
)

// events writes Events about this replica's Pod, itself and at once: a recorder's would be lost when the process ends.
type events struct {
	client eventsv1client.EventInterface
	pod    corev1.ObjectReference
	clock  clock.PassiveClock
	log    logr.Logger
}

func newEvents(config *rest.Config, options Options) (*events, error) {
	client, err := eventsv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("events client: %w", err)
	}
	return &events{
		client: client.Events(options.Namespace),
		pod: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: options.Namespace, Name: options.PodName, UID: types.UID(options.PodUID),
		},
		clock: options.Clock,
		log:   options.Log,
	}, nil
}

func (e *events) write(ctx context.Context, kind, reason, note string) {
	_, err := e.client.Create(ctx, &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: e.pod.Namespace, GenerateName: e.pod.Name + "-"},
		EventTime:           metav1.NewMicroTime(e.clock.Now()),
		ReportingController: "controlee.dev/leader-election",
		ReportingInstance:   e.pod.Name,
		Action:              "Elect",
		Reason:              reason,
		Regarding:           e.pod,
		Note:                note,
		Type:                kind,
	}, metav1.CreateOptions{})
	if err != nil {
		e.log.Info("Could not write an Event", "reason", reason, "error", err.Error())
	}
}
