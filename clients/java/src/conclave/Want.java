// SPDX-License-Identifier: MIT
package conclave;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

/** How a lock or a leadership is asked for: {@code new Want().waiting(Duration.ofSeconds(5)).shared()}. */
public final class Want {
    private static final int NAME_BYTES = 512;

    long waitMs = -1;
    long ttlMs = 10_000;
    boolean shared;
    int permits;
    private boolean counted;
    boolean reentrant;
    int priority;
    String value;
    Consumer<Hold> onLost = hold -> {};
    BiConsumer<Hold, String> onAskedBack = (hold, asker) -> {};
    LongConsumer onPosition = place -> {};

    /** No longer than that, then TIMEOUT; zero tries once. Without it, for as long as it takes. */
    public Want waiting(Duration wait) {
        waitMs = Math.max(0, wait.toMillis());
        return this;
    }

    /** The servers promise it for that long, and it is renewed in the background: ten seconds. Zero: it ends with its connection. */
    public Want ttl(Duration ttl) {
        ttlMs = ttl.isZero() || ttl.isNegative() || ttl.toMillis() > 0 ? Math.max(0, ttl.toMillis()) : -1;
        return this;
    }

    /** Together with others that share. */
    public Want shared() {
        shared = true;
        return this;
    }

    /** One of up to so many that hold it together. */
    public Want permits(int count) {
        permits = count;
        counted = true;
        return this;
    }

    /** A thread that holds it already gets the same hold again, and closes it as often. */
    public Want reentrant() {
        reentrant = true;
        return this;
    }

    /** Of a candidate: the highest is preferred. */
    public Want priority(int priority) {
        this.priority = priority;
        return this;
    }

    /** Of a candidate: what all members tell about this leader, an address for example. */
    public Want value(String value) {
        this.value = value;
        return this;
    }

    /** As soon as it is lost, in a thread of the client. */
    public Want onLost(Consumer<Hold> callback) {
        onLost = callback;
        return this;
    }

    /** When somebody else asks for it, with their name or null. */
    public Want onAskedBack(BiConsumer<Hold, String> callback) {
        onAskedBack = callback;
        return this;
    }

    /** While it waits: its place in the queue, whenever that has changed. */
    public Want onPosition(LongConsumer callback) {
        onPosition = callback;
        return this;
    }

    static final int MOST_PERMITS = 1_000_000; // what servers accept
    static final int MOST_PARTIES = 500;
    static final int MOST_NUMBERS = 4096;

    static long checkCount(String what, long count, int most) throws ConclaveException {
        if (count < 1 || count > most)
            throw new ConclaveException(ConclaveException.Kind.INVALID, what + " " + count + ": expected 1 to " + most);
        return count;
    }

    void check() throws ConclaveException {
        if (counted)
            checkCount("permits", permits, MOST_PERMITS);
        if (ttlMs < 0)
            throw new ConclaveException(ConclaveException.Kind.INVALID, "ttl: expected a millisecond or more, or zero");
    }

    static void checkName(String name) throws ConclaveException {
        int length = name.getBytes(StandardCharsets.UTF_8).length;
        if (length < 1 || length > NAME_BYTES || name.chars().anyMatch(c -> c < ' ' || c == 127))
            throw new ConclaveException(ConclaveException.Kind.INVALID, "a name has 1 to 512 bytes and no control characters");
    }

    // ---- the words of the commands ----

    /** What it is: for RENEW, if everybody has forgotten it. */
    List<Object> kind(boolean leads) {
        List<Object> words = new ArrayList<>();
        if (leads)
            words.add("LEADER");
        if (leads && value != null)
            words.addAll(List.of("VALUE", value));
        if (!leads && permits > 0)
            words.addAll(List.of("PERMITS", permits));
        else if (!leads && shared)
            words.add("SHARED");
        return words;
    }

    /** While it waits. */
    void pushed(List<Object> push) {
        if (push.size() > 2 && "position".equals(push.get(0)) && push.get(2) instanceof Long place)
            onPosition.accept(place);
    }

    List<Object> asking(Names names, String secret) {
        boolean leads = names.leads();
        List<Object> words = new ArrayList<>();
        if (names.several())
            words.add("LOCKALL");
        else
            words.addAll(List.of(leads ? "CAMPAIGN" : "LOCK", names.list().get(0)));
        if (leads && priority > 0)
            words.addAll(List.of("PRIORITY", priority));
        List<Object> kind = kind(leads);
        words.addAll(leads ? kind.subList(1, kind.size()) : kind); // CAMPAIGN says already that it is for a leader
        if (ttlMs > 0)
            words.addAll(List.of("TTL", ttlMs, "SECRET", secret));
        return words;
    }
}
