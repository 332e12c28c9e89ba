// SPDX-License-Identifier: MIT
package conclave;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** A client that waits for a lock or a leadership. Kind: lock, election; more or unanswered: there are others. */
public record Waiter(long position, String kind, String client, long node, long waitedMs) {
    static List<Waiter> readAll(Object reply) {
        Stream<?> items = reply instanceof List<?> list ? list.stream() : Stream.of();
        return items.map(item -> read((Map<?, ?>) item)).toList();
    }

    private static Waiter read(Map<?, ?> item) {
        return new Waiter(Client.number(item.get("position")), (String) item.get("kind"), (String) item.get("client"),
                Client.number(item.get("node")), Client.number(item.get("waited_ms")));
    }
}
