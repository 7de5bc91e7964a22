package cluster

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// startEtcd starts the store. It listens on a socket in a folder that only this user can enter: no port to race for,
// and nobody else on the machine can reach it.
func (c *Cluster) startEtcd(ctx context.Context) (*Process, error) {
	socket, err := c.socketPath("etcd.sock")
	if err != nil {
		return nil, err
	}
	c.etcdURL = "unix://" + socket
	etcd := c.newProcess("etcd", "etcd",
		"--data-dir="+filepath.Join(c.Dir, "etcd"),
		"--listen-client-urls="+c.etcdURL,
		"--advertise-client-urls="+c.etcdURL,
		// Nobody peers; port 0 takes a free one.
		"--listen-peer-urls=http://127.0.0.1:0",
		// A crash of the machine ends the test as well.
		"--unsafe-no-fsync",
		"--log-level=warn",
	)
	if err := etcd.Start(); err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	defer client.CloseIdleConnections()
	return etcd, until(ctx, etcd, time.Minute, func(ctx context.Context) error {
		return get(ctx, client, "http://etcd/readyz")
	})
}

// socketPath returns a path for a socket. Systems allow about a hundred characters, so it is not in Dir if that is long.
func (c *Cluster) socketPath(name string) (string, error) {
	const most = 100
	path := filepath.Join(c.Dir, "run", name)
	if len(path) <= most {
		return path, nil
	}
	dir, err := os.MkdirTemp("", "controlee-")
	if err != nil {
		return "", err
	}
	c.remove = append(c.remove, dir)
	if path = filepath.Join(dir, name); len(path) > most {
		return "", fmt.Errorf("%s is too long a path for a socket: set TMPDIR to a shorter folder", path)
	}
	return path, nil
}

// get returns an error unless the answer is 200.
func get(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, response.Status, body)
	}
	return err
}
