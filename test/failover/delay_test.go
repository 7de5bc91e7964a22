package failover

import (
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// slowLine passes connections on to an API server, and what clients send with a delay: each call takes that much longer, however
// many share a connection.
type slowLine struct {
	URL   string
	delay atomic.Int64 // nanoseconds
}

// startSlowLine listens on loopback until the test ends.
func startSlowLine(t *testing.T, server string) *slowLine {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	line := &slowLine{URL: "https://" + listener.Addr().String()}
	var running sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // closed
			}
			upstream, err := net.Dial("tcp", target.Host)
			if err != nil {
				client.Close() //nolint:errcheck // the API server is away
				continue
			}
			mu.Lock()
			open = append(open, client, upstream)
			mu.Unlock()
			running.Go(func() { line.pass(upstream, client) })
			running.Go(func() {
				io.Copy(client, upstream)                     //nolint:errcheck // ends with the connection
				errors.Join(client.Close(), upstream.Close()) //nolint:errcheck // one is closed already
			})
		}
	})
	t.Cleanup(func() {
		listener.Close() //nolint:errcheck // no more
		mu.Lock()
		for _, connection := range open {
			connection.Close() //nolint:errcheck // it may be closed already
		}
		mu.Unlock()
		running.Wait()
	})
	return line
}

// pass copies what the client sends, each piece when its delay is over.
func (l *slowLine) pass(to, from net.Conn) {
	type piece struct {
		data []byte
		due  time.Time
	}
	pieces := make(chan piece, 1024)
	go func() {
		defer close(pieces)
		for {
			buffer := make([]byte, 16<<10)
			n, err := from.Read(buffer)
			if n > 0 {
				pieces <- piece{buffer[:n], time.Now().Add(time.Duration(l.delay.Load()))}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			break
		}
	}
	errors.Join(to.Close(), from.Close()) //nolint:errcheck // one is closed already
	for range pieces {                    // until the reader has ended
	}
}
