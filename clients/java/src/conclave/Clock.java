// SPDX-License-Identifier: MIT
package conclave;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A time that nobody sets, and that runs on while the machine sleeps. System.nanoTime() does not; what it has missed shows
 * in the machine's uptime, which is coarse.
 */
final class Clock {
    static final long NEVER = Long.MAX_VALUE;
    private static final long COARSE_MS = 100;
    private static final long START = uptime() - System.nanoTime() / 1_000_000;

    private Clock() {}

    private static long uptime() {
        try {
            return (long) (Double.parseDouble(Files.readString(Path.of("/proc/uptime")).split(" ")[0]) * 1000);
        } catch (IOException | RuntimeException error) {
            return System.nanoTime() / 1_000_000;
        }
    }

    /** Milliseconds. */
    static long now() {
        long now = System.nanoTime() / 1_000_000, slept = uptime() - now - START;
        return slept > COARSE_MS ? now + slept : now;
    }
}
