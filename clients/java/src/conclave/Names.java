// SPDX-License-Identifier: MIT
package conclave;

import conclave.ConclaveException.Kind;
import java.util.List;

/** What is asked for: a lock, a leadership, or several locks at once. */
record Names(List<String> list, boolean several, boolean leads) {
    /** The fences, and for how many milliseconds; of several names that is not told. */
    record Granted(List<Long> fences, long leftMs) {}

    Granted read(Object reply) throws ConclaveException {
        List<Long> numbers = reply instanceof List<?> items
                ? items.stream().map(item -> item instanceof Long number ? number : Long.valueOf(-1)).toList() : List.of();
        if (numbers.size() != (several ? list.size() : 2))
            throw new ConclaveException(Kind.REFUSED, "the server's answer is no fence");
        return several ? new Granted(numbers, 0) : new Granted(numbers.subList(0, 1), numbers.get(1));
    }

    /** What comes last in the command. */
    List<String> last() {
        return several ? list : List.of("DEADLINE");
    }

    String ending() {
        return leads ? "RESIGN" : "UNLOCK";
    }

    @Override
    public String toString() {
        return String.join(", ", list);
    }
}
