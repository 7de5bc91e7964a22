//go:build !linux

package cluster

import "syscall"

// processAttributes put a child in a process group of its own, so that Ctrl-C reaches only this process, which then
// stops the children in order. The servers watch for the end of this process themselves.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
