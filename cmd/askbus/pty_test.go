//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// onTerminal starts askbus on its own terminal; writes to the returned file are typed there.
func onTerminal(t *testing.T, width, height int, env []string, args ...string) (*process, *os.File) {
	t.Helper()
	bin, _ := programOf(t, args)
	cmd := exec.Command(bin, args...)
	cmd.Env = append(append(os.Environ(), asMain+"=1", "TERM=xterm-256color", "TMUX=", "STY="), env...)
	return onTerminalOf(t, width, height, cmd)
}

// onTerminalOf starts any command on its own terminal.
func onTerminalOf(t *testing.T, width, height int, cmd *exec.Cmd) (*process, *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(width), Row: uint16(height)}); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, out: &output{more: make(chan struct{})}, err: &output{more: make(chan struct{})}, done: make(chan struct{})}
	p.cmd = cmd
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()
	copied := make(chan struct{})
	go func() { p.out.copy(master); close(copied) }()
	go func() {
		_ = p.cmd.Wait()
		<-copied
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		_ = master.Close()
	})
	return p, master
}
