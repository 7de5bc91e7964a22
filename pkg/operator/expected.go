package operator

import (
	"context"
	"errors"
	"slices"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/controlee/controlee/pkg/retry"
)

// expectedSink logs at info what libraries report as errors although it belongs to the ordinary
// life of the operator: its end, and that of a namespace. An admin who is woken up by errors must
// not be by these.
type expectedSink struct {
	logr.LogSink
	systemNamespace string
}

// lowerExpected wraps the sink of a logger, whose calls are one frame deeper from then on.
func lowerExpected(log logr.Logger, systemNamespace string) logr.Logger {
	return logr.New(expectedSink{log.WithCallDepth(1).GetSink(), systemNamespace})
}

// Init is part of logr.LogSink. The wrapped sink is initialized already.
func (s expectedSink) Init(logr.RuntimeInfo) {}

// Info is part of logr.LogSink.
func (s expectedSink) Info(level int, msg string, keysAndValues ...any) {
	s.LogSink.Info(level, msg, keysAndValues...)
}

// Error is part of logr.LogSink.
func (s expectedSink) Error(err error, msg string, keysAndValues ...any) {
	if !s.isExpected(err, msg) {
		s.LogSink.Error(err, msg, keysAndValues...)
		return
	}
	if s.Enabled(0) {
		s.LogSink.Info(0, msg, append(slices.Clone(keysAndValues), "error", err.Error())...)
	}
}

// WithValues is part of logr.LogSink.
func (s expectedSink) WithValues(keysAndValues ...any) logr.LogSink {
	return expectedSink{s.LogSink.WithValues(keysAndValues...), s.systemNamespace}
}

// WithName is part of logr.LogSink.
func (s expectedSink) WithName(name string) logr.LogSink {
	return expectedSink{s.LogSink.WithName(name), s.systemNamespace}
}

// WithCallDepth is part of logr.CallDepthLogSink.
func (s expectedSink) WithCallDepth(depth int) logr.LogSink {
	if deeper, ok := s.LogSink.(logr.CallDepthLogSink); ok {
		return expectedSink{deeper.WithCallDepth(depth), s.systemNamespace}
	}
	return s
}

// isExpected returns whether an error belongs to the ordinary life of the operator.
func (s expectedSink) isExpected(err error, msg string) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, context.Canceled):
		return true // the operator ends, or it serves a namespace no longer; a deadline that passed is another error
	case msg == "error received after stop sequence was engaged" && err.Error() == "leader election lost":
		return true // controller-runtime's words for a Lease that was released at the end
	case msg == "Server rejected event (will not retry!)":
		// The namespace of the Event goes or has gone, or the operator has no right there any more;
		// the Tenant says so.
		return retry.IsTerminating(err) || apierrors.IsNotFound(err) || s.lacksTenantRight(err)
	case msg == "Reconciler error":
		// A right that was lost has the access checked, of which the Tenant says what came.
		return retry.IsTerminating(err) || s.lacksTenantRight(err)
	default:
		return false
	}
}

// lacksTenantRight returns whether the operator lacks a right in a namespace that can be a
// tenant's. A missing right in the system namespace or at cluster scope is reported by no Tenant,
// so it is an error.
func (s expectedSink) lacksTenantRight(err error) bool {
	namespace := retry.LacksRightIn(err)
	return namespace != "" && namespace != s.systemNamespace
}
