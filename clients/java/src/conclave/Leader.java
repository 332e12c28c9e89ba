// SPDX-License-Identifier: MIT
package conclave;

import java.util.ArrayList;
import java.util.List;

/** Who leads, with which fence, and what was published with it, or null. */
public record Leader(String id, long fence, String value) {
    /** As LEADER and OBSERVE tell it. Null: nobody leads. */
    static Leader read(Object reply) {
        if (!(reply instanceof List<?> items) || items.size() < 2 || items.get(0) == null)
            return null;
        return new Leader((String) items.get(0), (Long) items.get(1), items.size() > 3 ? (String) items.get(3) : null);
    }

    /** The same as a push tells it, after the name. */
    static Leader ofPush(List<?> push) {
        List<Object> items = new ArrayList<>(push);
        items.add(Math.min(2, items.size()), null);
        return read(items);
    }
}
