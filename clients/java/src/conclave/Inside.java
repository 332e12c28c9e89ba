// SPDX-License-Identifier: MIT
package conclave;

import conclave.ConclaveException.Kind;
import java.time.Duration;
import java.util.List;

/** At a double barrier, after everybody has come and before everybody has gone. */
public final class Inside extends Stay implements AutoCloseable {
    private final long number;
    private volatile Runnable onLost = () -> {};
    private volatile boolean left;

    Inside(Client client, Connection connection, String name, long number) {
        super(client, name);
        this.number = number;
        begin(connection);
    }

    /** The meeting's. */
    public long number() {
        return number;
    }

    /** False: it has left, or its connection has ended and others take it for gone. */
    public boolean isInside() {
        return lasts();
    }

    /** Called when its connection has ended. */
    public void onLost(Runnable callback) {
        onLost = callback;
    }

    @Override
    void lost(String why) {
        Client.daemon("conclave-lost", () -> onLost.run()).start();
    }

    /**
     * Waits until all the others have left, too, or have gone. TIMEOUT: they have not, and it is still inside. An interrupt: it
     * is not, others take it for gone.
     *
     * @param wait null: for as long as it takes
     */
    public void leave(Duration wait) throws ConclaveException, InterruptedException {
        Connection connection = lend();
        if (connection == null)
            throw new LockLostException(name + ": it is not inside");
        Object reply;
        try {
            reply = client.await(connection, Client.until(wait),
                    new Client.Waiting(List.of("BARRIER", name, "LEAVE"), List.of(), push -> {}, late -> {}, true));
        } catch (ConclaveException error) {
            abandon();
            throw error.kind() != Kind.NO_SERVER ? error
                    : new LockLostException(name + ": " + error.getMessage() + "; it is not inside any more");
        } finally {
            takeBack();
        }
        if (reply == null)
            throw new ConclaveException(Kind.TIMEOUT, name + ": others are still inside");
        left = true;
        if (end() != null)
            client.keep(connection);
    }

    /** Leaves, if it has not left yet. */
    @Override
    public void close() throws ConclaveException {
        try {
            if (!left)
                leave(null);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }
}
