package cluster

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// APIServer is one kube-apiserver. Start after Stop or Kill brings it back at the same address; WaitReady tells when.
type APIServer struct {
	*Process
	// URL is https on loopback.
	URL string
	// AuditLogPath is empty without Options.AuditLog.
	AuditLogPath string

	probe *rest.Config
}

// portTries is how often another port is tried when somebody else took the one that was free a moment before.
const portTries = 5

// AddAPIServer starts one more API server on the cluster's etcd. Clients reach it with [APIServer.Config].
func (c *Cluster) AddAPIServer(ctx context.Context) (*APIServer, error) {
	c.mu.Lock()
	number := len(c.apiServers) + 1
	c.mu.Unlock()
	var last error
	for range portTries {
		s, err := c.newAPIServer(number)
		if err != nil {
			return nil, err
		}
		if err := s.Start(); err != nil {
			return nil, err
		}
		if err := s.WaitReady(ctx); err != nil {
			s.Kill()
			if last = err; strings.Contains(s.LogTail(100), "address already in use") {
				continue
			}
			return nil, err
		}
		c.mu.Lock()
		c.apiServers = append(c.apiServers, s)
		c.mu.Unlock()
		return s, nil
	}
	return nil, last
}

// newAPIServer describes an API server on a port that is free now.
func (c *Cluster) newAPIServer(number int) (*APIServer, error) {
	files, err := c.apiServerFiles()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	name := "kube-apiserver"
	if number > 1 {
		name += "-" + strconv.Itoa(number)
	}
	s := &APIServer{URL: "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
	args := []string{
		"--etcd-servers=" + c.etcdURL,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + files.serverCertificate,
		"--tls-private-key-file=" + files.serverKey,
		"--client-ca-file=" + files.authority,
		"--authorization-mode=RBAC",
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + files.serviceAccountKey,
		"--service-account-signing-key-file=" + files.serviceAccountKey,
		"--service-cluster-ip-range=10.96.0.0/16",
		"--allow-privileged=true",
		// The endpoint of the kubernetes Service may not be a loopback address.
		"--endpoint-reconciler-type=none",
		"--profiling=false",
	}
	if c.options.AuditLog {
		s.AuditLogPath = filepath.Join(c.Dir, "logs", strings.Replace(name, "kube-apiserver", "audit", 1)+".jsonl")
		// Never rotated: what is read at the end is all of it.
		args = append(args, "--audit-policy-file="+files.auditPolicy, "--audit-log-path="+s.AuditLogPath, "--audit-log-maxsize=100000")
	}
	s.Process = c.newProcess("kube-apiserver", name, args...)
	if s.probe, err = c.clientConfig(s.URL, "controlee-test-probe", "system:masters"); err != nil {
		return nil, err
	}
	s.probe.Timeout = 2 * time.Second
	return s, nil
}

// WaitReady waits until the API server says that it is ready. It fails if the server ends.
func (s *APIServer) WaitReady(ctx context.Context) error {
	client, err := rest.HTTPClientFor(s.probe)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	return until(ctx, s.Process, time.Minute, func(ctx context.Context) error {
		return get(ctx, client, s.URL+"/readyz")
	})
}

// Config returns a copy of a client configuration that talks to this API server.
func (s *APIServer) Config(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Host = s.URL
	return config
}

// apiServerFiles are the same for every API server of a cluster.
type apiServerFiles struct {
	authority, serverCertificate, serverKey, serviceAccountKey, auditPolicy string
}

func (c *Cluster) apiServerFiles() (*apiServerFiles, error) {
	f := &apiServerFiles{
		authority:         filepath.Join(c.Dir, "pki", "ca.crt"),
		serverCertificate: filepath.Join(c.Dir, "pki", "apiserver.crt"),
		serverKey:         filepath.Join(c.Dir, "pki", "apiserver.key"),
		serviceAccountKey: filepath.Join(c.Dir, "pki", "service-account.key"),
		auditPolicy:       filepath.Join(c.Dir, "pki", "audit-policy.yaml"),
	}
	if _, err := os.Stat(f.auditPolicy); err == nil {
		return f, nil // written for the first API server
	}
	certificate, key, err := c.authority.server()
	if err != nil {
		return nil, err
	}
	_, serviceAccountKey, err := newKey()
	if err != nil {
		return nil, err
	}
	policy := auditPolicy
	if c.options.AuditResponses {
		policy = auditResponsesPolicy
	}
	return f, errors.Join(
		os.WriteFile(f.authority, c.authority.pem, 0o600),
		os.WriteFile(f.serverCertificate, certificate, 0o600),
		os.WriteFile(f.serverKey, key, 0o600),
		os.WriteFile(f.serviceAccountKey, serviceAccountKey, 0o600),
		os.WriteFile(f.auditPolicy, []byte(policy), 0o600),
	)
}

// freePort returns a loopback port that nobody listened on a moment ago.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	address, err := netip.ParseAddrPort(listener.Addr().String())
	return int(address.Port()), errors.Join(err, listener.Close())
}
