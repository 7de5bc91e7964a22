package cluster

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// stopGrace is how long a process gets to end after SIGTERM, unless its description says otherwise.
const stopGrace = 5 * time.Second

// Process is a program that the harness started. It stays at hand when it ends, so that a test can start it again with
// the same arguments.
type Process struct {
	// Name is the program's, for messages.
	Name string
	// LogPath is the file that its output is appended to.
	LogPath string

	path string
	args []string
	dir  string
	env  []string
	tee  io.Writer // gets the output too; may be nil

	grace time.Duration // how long it gets to end after SIGTERM; default stopGrace

	mu       sync.Mutex
	cmd      *exec.Cmd
	done     chan struct{}
	err      error // of the last run; set before done is closed
	expected bool  // the last run was told to end
}

// Start starts the program, which must not be running.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running() {
		return fmt.Errorf("%s is running already", p.Name)
	}
	log, err := os.OpenFile(p.LogPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cmd := exec.Command(p.path, p.args...) //nolint:gosec // G204: the programs of the test cluster
	cmd.Dir, cmd.Env = p.dir, p.env
	cmd.SysProcAttr = processAttributes()
	cmd.Stdout = log
	if p.tee != nil {
		cmd.Stdout = io.MultiWriter(log, p.tee)
		cmd.WaitDelay = time.Second
	}
	cmd.Stderr = cmd.Stdout
	if err := startOnLastingThread(cmd); err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", p.Name, err), log.Close())
	}
	done := make(chan struct{})
	p.cmd, p.done, p.err, p.expected = cmd, done, nil, false
	go func() {
		err := cmd.Wait()
		log.Close() //nolint:errcheck // a log that could not be written is seen to be empty
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		close(done)
	}()
	return nil
}

// running tells whether the last run goes on; p.mu is held.
func (p *Process) running() bool {
	if p.done == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// PID returns the id of the process, of the last one if it has ended, and 0 if it was never started.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// Running tells whether the process runs (or is paused).
func (p *Process) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running()
}

// Done returns a channel that is closed when the run that is going on ends. It is nil if there was none yet.
func (p *Process) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

// Wait waits until the run that is going on ends, and returns how it ended: nil or an *exec.ExitError.
func (p *Process) Wait() error {
	done := p.Done()
	if done == nil {
		return fmt.Errorf("%s was not started", p.Name)
	}
	<-done
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Signal sends a signal: SIGSTOP pauses the process, SIGCONT lets it go on.
func (p *Process) Signal(signal os.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		return fmt.Errorf("%s is not running", p.Name)
	}
	if signal != syscall.SIGSTOP && signal != syscall.SIGCONT {
		p.expected = true
	}
	return p.cmd.Process.Signal(signal)
}

// Kill ends the process at once and waits until it is gone. It is no error if it is gone already.
func (p *Process) Kill() {
	if p.Signal(syscall.SIGKILL) == nil {
		<-p.Done()
	}
}

// Stop asks the process to end, kills it if it has not after a grace, and returns how it ended. It is no error if it was
// not running.
func (p *Process) Stop() error {
	if !p.Running() || p.Signal(syscall.SIGTERM) != nil {
		return nil //nolint:nilerr // it has ended in this moment
	}
	grace := cmp.Or(p.grace, stopGrace)
	p.Signal(syscall.SIGCONT) //nolint:errcheck // one that is paused would not see the SIGTERM; one that is gone need not
	select {
	case <-p.Done():
	case <-time.After(grace):
		p.Kill()
		return fmt.Errorf("%s did not end within %s of SIGTERM and was killed", p.Name, grace)
	}
	return p.Wait()
}

// Died returns an error with the end of the log if the process ended without being told to.
func (p *Process) Died() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done == nil || p.running() || p.expected {
		return nil
	}
	return fmt.Errorf("%s ended by itself (%s); the end of its log:\n%s", p.Name, p.cmd.ProcessState, p.LogTail(30))
}

// LogTail returns the last lines of the log.
func (p *Process) LogTail(lines int) string {
	const most = 64 << 10
	file, err := os.Open(p.LogPath)
	if err != nil {
		return err.Error()
	}
	defer file.Close() //nolint:errcheck // it was only read
	if size, err := file.Seek(0, io.SeekEnd); err == nil {
		file.Seek(max(0, size-most), io.SeekStart) //nolint:errcheck // at worst the read below is empty
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimRight(content, "\n"), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}

// startOnLastingThread starts a command from a thread that lives as long as this process: Linux sends a child its
// parent-death signal when the thread that made it ends, and other threads may end at any time.
func startOnLastingThread(cmd *exec.Cmd) error {
	result := make(chan error)
	lastingThread() <- func() { result <- cmd.Start() }
	return <-result
}

var lastingThread = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for do := range work {
			do()
		}
	}()
	return work
})
