//go:build !linux

package e2e_test

import "syscall"

func dieWithTest(*syscall.SysProcAttr) {}
