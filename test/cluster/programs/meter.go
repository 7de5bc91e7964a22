package programs

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// meter tells how far a long step is: in place on a terminal, now and then elsewhere.
type meter struct {
	out      io.Writer
	terminal bool
	what     string
	total    int
	start    time.Time
	end      chan struct{}
	ended    sync.WaitGroup

	mu   sync.Mutex
	done int
	last string
}

func startMeter(out io.Writer, what string, total int) *meter {
	m := &meter{out: out, what: what, total: total, start: time.Now(), end: make(chan struct{})}
	interval := 15 * time.Second
	if file, ok := out.(*os.File); ok {
		info, err := file.Stat()
		m.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	if m.terminal {
		interval = time.Second
	}
	m.ended.Go(func() {
		for ticker := time.Tick(interval); ; {
			select {
			case <-ticker:
				m.print()
			case <-m.end:
				m.print()
				return
			}
		}
	})
	return m
}

// step notes that work on one more thing has begun.
func (m *meter) step(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done++
	m.last = name
}

func (m *meter) stop() {
	close(m.end)
	m.ended.Wait()
	if m.terminal {
		fmt.Fprintln(m.out)
	}
}

func (m *meter) print() {
	line := m.line(time.Since(m.start))
	if m.terminal {
		fmt.Fprintf(m.out, "\r\033[K%s", line)
		return
	}
	fmt.Fprintln(m.out, line)
}

func (m *meter) line(elapsed time.Duration) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	line := fmt.Sprintf("%s: %d", m.what, m.done)
	if m.total > 0 {
		line += fmt.Sprintf(" of about %d", max(m.total, m.done))
	}
	line += fmt.Sprintf(", %s", elapsed.Round(time.Second))
	// Before a twentieth is done, what is left cannot be told from it.
	if left := m.total - m.done; left > 0 && m.done > m.total/20 {
		line += fmt.Sprintf(", some %s left", (elapsed / time.Duration(m.done) * time.Duration(left)).Round(5*time.Second))
	}
	if m.last != "" {
		line += " (" + m.last + ")"
	}
	return line
}
