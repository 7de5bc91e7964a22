package failover

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// brokenServer passes requests on to an API server, and answers some of them itself while it is
// broken.
type brokenServer struct {
	URL     string
	broken  atomic.Bool
	answers atomic.Int64 // of its own
}

// startBrokenServer serves on loopback, with the certificate of the API server, until the test
// ends. While it is broken it answers 500 to the requests that are chosen.
func startBrokenServer(t *testing.T, chosen func(*http.Request) bool) *brokenServer {
	t.Helper()
	target, err := url.Parse(shared.APIServer.URL)
	if err != nil {
		t.Fatal(err)
	}
	pki := filepath.Join(shared.Dir, "pki")
	certificate, err := tls.LoadX509KeyPair(filepath.Join(pki, "apiserver.crt"), filepath.Join(pki, "apiserver.key"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(shared.AdminConfig().CAData)
	silent := log.New(io.Discard, "", 0) // of connections that end with the test
	upstream := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     upstream,
		FlushInterval: -1, // watches
		ErrorLog:      silent,
	}
	b := &brokenServer{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if !b.broken.Load() || !chosen(request) {
			proxy.ServeHTTP(w, request)
			return
		}
		b.answers.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		json.NewEncoder(w).Encode(metav1.Status{ //nolint:errcheck // the client may have gone
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: "broken by the test",
		})
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.EnableHTTP2 = true
	server.Config.ErrorLog = silent
	server.StartTLS()
	b.URL = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		upstream.CloseIdleConnections()
	})
	return b
}

// The API server answers 500 to the writes of one status for 6 s, while events of the object keep
// coming. When the fault is over, no event comes any more: the next try is at most as far away as
// the fault has lasted, however many tries the events have brought.
func TestAFaultIsNotFollowedByALongerOne(t *testing.T) {
	const fault = 6 * time.Second
	foo := &v1alpha1.Foo{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenantNamespace, Name: "fault"},
		Spec:       v1alpha1.FooSpec{Image: "registry.example/web:1"},
	}
	server := startBrokenServer(t, func(request *http.Request) bool {
		return request.Method == http.MethodPatch && strings.HasSuffix(request.URL.Path, "/foos/"+foo.Name+"/status")
	})
	all := startReplicas(t, 1, defaults, server.URL)
	all.leading(t, 0, time.Minute)
	ensure(t, foo)
	within(t, 30*time.Second, func() error { return statusIsCurrent(t, foo) })

	server.broken.Store(true)
	patch := func(patch string) {
		t.Helper()
		if err := admin.Patch(t.Context(), foo, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	patch(`{"spec":{"image":"registry.example/web:2"}}`)
	began, ticker := time.Now(), time.NewTicker(200*time.Millisecond)
	defer ticker.Stop()
	for n := 0; time.Since(began) < fault; n++ {
		<-ticker.C
		patch(fmt.Sprintf(`{"metadata":{"annotations":{"example.com/touched":"%d"}}}`, n))
	}
	if err := statusIsCurrent(t, foo); err == nil {
		t.Error("the status was written during the fault")
	}
	if answers := server.answers.Load(); answers < 20 {
		t.Errorf("only %d answers 500: the events do not bring the tries that this test is about", answers)
	}
	server.broken.Store(false)
	within(t, fault+4*time.Second, func() error { return statusIsCurrent(t, foo) })
}

// statusIsCurrent reads a Foo, and fails unless its status is of its present spec.
func statusIsCurrent(t *testing.T, foo *v1alpha1.Foo) error {
	t.Helper()
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(foo), foo); err != nil {
		return err
	}
	if foo.Status.ObservedGeneration != foo.Generation {
		return fmt.Errorf("the status is of generation %d, the spec of %d", foo.Status.ObservedGeneration, foo.Generation)
	}
	return nil
}
