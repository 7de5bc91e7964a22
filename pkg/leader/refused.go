package leader

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// refusalMark is in the API server's message of every refusal by the chart's policies controlee-fenced and controlee-fenced-objects.
const refusalMark = "ValidatingAdmissionPolicy 'controlee-fenced"

// IsFenced says whether a write was refused because the Fence does not name this Pod. To the leader that happens for some tens of
// milliseconds after it began, where there are several API servers; it is worth another try. To any other it is final.
func IsFenced(err error) bool {
	return apierrors.ReasonForError(err) != "" && strings.Contains(err.Error(), refusalMark)
}

// WatchRefusals makes all clients of a configuration count the writes that the fence refused, and has the Lease asked for after each.
func (l *Lock) WatchRefusals(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			if err != nil || request.Method == http.MethodGet || response.StatusCode < http.StatusBadRequest || response.StatusCode >= http.StatusInternalServerError {
				return response, err
			}
			body, err := io.ReadAll(response.Body)
			response.Body.Close() //nolint:errcheck // it was only read
			response.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.Contains(body, []byte(refusalMark)) {
				metricRefused.Inc()
				l.Suspect()
			}
			return response, err
		})
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
