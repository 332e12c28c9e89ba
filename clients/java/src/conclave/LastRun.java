// SPDX-License-Identifier: MIT
package conclave;

import java.time.Instant;
import java.util.List;

/** What is done once in each period: when it ended last, or null; by which fence and client; who does it now, or null. */
public record LastRun(Instant ended, long fence, String client, String running) {
    static LastRun read(Object reply) {
        if (!(reply instanceof List<?> items) || items.size() < 4)
            return new LastRun(null, 0, null, null);
        Instant ended = items.get(0) instanceof Long ms ? Instant.ofEpochMilli(ms) : null;
        return new LastRun(ended, Client.number(items.get(1)), (String) items.get(2), (String) items.get(3));
    }
}
