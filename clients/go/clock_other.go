// SPDX-License-Identifier: MIT

//go:build !linux

package conclave

import "time"

var start = time.Now()

func clock() time.Duration { return time.Since(start) }
