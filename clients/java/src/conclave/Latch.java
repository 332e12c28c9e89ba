// SPDX-License-Identifier: MIT
package conclave;

import conclave.ConclaveException.Kind;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;

/** Opens, once and for all who wait, when it was counted down to 0. It outlasts clients and servers. */
public final class Latch {
    private final Client client;
    private final String name;

    Latch(Client client, String name) {
        this.client = client;
        this.name = name;
    }

    /** False: there is one already that is not open yet. */
    public boolean set(long count) throws ConclaveException, InterruptedException {
        return Client.number(client.executeOnce("LATCH", name, "SET", Want.checkCount("count", count, Want.MOST_PERMITS))) == 1;
    }

    /** What is left; 0: it is open. REFUSED if none was set. NO_SERVER: it may have been counted or not. */
    public long down(long count) throws ConclaveException, InterruptedException {
        return Client.number(client.executeOnce("LATCH", name, "DOWN", Want.checkCount("count", count, Want.MOST_PERMITS)));
    }

    /**
     * Until it is open, then TIMEOUT. REFUSED if none was set, or if it was cleared.
     *
     * @param wait null: for as long as it takes
     */
    public void await(Duration wait) throws ConclaveException, InterruptedException {
        client.persist(Client.until(wait), (connection, until) -> {
            Object left = client.await(connection, until, new Client.Waiting(List.of("LATCH", name, "AWAIT")));
            client.keep(connection);
            if (left == null)
                throw new ConclaveException(Kind.TIMEOUT, name + ": waited too long");
            return left;
        });
    }

    /** Empty: there is no latch. */
    public OptionalLong left() throws ConclaveException, InterruptedException {
        return client.execute("LATCH", name) instanceof Long left ? OptionalLong.of(left) : OptionalLong.empty();
    }

    /** Takes it away. */
    public void clear() throws ConclaveException, InterruptedException {
        client.execute("LATCH", name, "CLEAR");
    }
}
