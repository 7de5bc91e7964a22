package cluster

import "syscall"

// processAttributes put a child in a process group of its own, so that Ctrl-C reaches only this process, which then
// stops the children in order, and have the kernel kill the child when this process is gone, even a paused child.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
