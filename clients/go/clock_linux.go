// SPDX-License-Identifier: MIT

package conclave

import (
	"syscall"
	"time"
	"unsafe"
)

const clockBoottime = 7

// clock is a time that nobody sets, and that runs on while the machine sleeps. The one of package time does not.
func clock() time.Duration {
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&now)), 0)
	return time.Duration(now.Nano())
}
