// SPDX-License-Identifier: MIT
package conclave;

import java.util.List;
import java.util.stream.Stream;

/** Of a group: its number, which rises in the order in which members joined, its client's name, and its value or null. */
public record Member(long number, String client, String value) {
    static List<Member> readAll(Object reply) {
        Stream<?> items = reply instanceof List<?> list ? list.stream() : Stream.of();
        return items.map(item -> read((List<?>) item)).toList();
    }

    private static Member read(List<?> item) {
        return new Member(Client.number(item.get(0)), (String) item.get(1), (String) item.get(2));
    }
}
