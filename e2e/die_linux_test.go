package e2e_test

import "syscall"

// dieWithTest lets the kernel kill the process when the tests end without their clean-up, as by Ctrl-C
// or the time limit of go test.
func dieWithTest(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
