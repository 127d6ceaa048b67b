package e2e_test

import (
	"context"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// process is a provisiond that runs until it is told otherwise, at the latest until the test ends.
type process struct {
	name string
	cmd  *exec.Cmd
	out  *output       // standard output and error
	done chan struct{} // closed when it has ended
	err  error         // how it ended; to read after done
}

// launch starts a process. It has a group of its own, so that what it starts ends with it.
func launch(t *testing.T, name string, env []string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = env
	return launchCommand(t, name, cmd)
}

func launchCommand(t *testing.T, name string, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{name: name, cmd: cmd, out: newOutput(), done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.out, p.out
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	dieWithTest(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
	}()
	t.Cleanup(func() {
		p.kill()
		p.report(t)
	})
	return p
}

// report shows the process's output where the test has failed, and fails it for a data race.
func (p *process) report(t *testing.T) {
	t.Helper()
	out := p.out.String()
	// At the start of a line: a log may tell of the code provider_panic.
	if strings.Contains(out, "DATA RACE") || strings.Contains("\n"+out, "\npanic: ") {
		t.Errorf("%s has a data race or a panic", p.name)
	}
	if t.Failed() {
		t.Logf("output of %s (pid %d, %v):\n%s", p.name, p.cmd.Process.Pid, p.err, out)
	}
}

// kill ends the process and its group at once, stopped or not, and returns when it is gone.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// signal goes to the process and its group, but not to one that is gone: its number may be another's.
func (p *process) signal(s syscall.Signal) {
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, s)
	}
}

// groupAlive reports whether any process of the group is left.
func (p *process) groupAlive() bool {
	return syscall.Kill(-p.cmd.Process.Pid, 0) == nil
}

// await returns when the process has ended. One that does not is killed, and fails the test.
func (p *process) await(t *testing.T) {
	t.Helper()
	select {
	case <-p.done:
	case <-patient(t).Done():
		t.Errorf("%s does not end", p.name)
		p.kill()
	}
}

// terminate ends the process in good order, which must succeed.
func (p *process) terminate(t *testing.T) {
	t.Helper()
	p.signal(syscall.SIGTERM)
	if p.await(t); p.err != nil {
		t.Errorf("%s after SIGTERM: %v", p.name, p.err)
	}
}

// line waits for a line of the output with all the words.
func (p *process) line(t *testing.T, words ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(patient(t))
	defer cancel()
	go func() { // a process that has ended prints no more
		select {
		case <-p.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	line := p.out.line(ctx, words...)
	if line == "" {
		t.Fatalf("%s did not print a line with %q", p.name, words)
	}
	return line
}
