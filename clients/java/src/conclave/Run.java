// SPDX-License-Identifier: MIT
package conclave;

/** Something that this client is to do, once in this period. */
public final class Run extends Stay implements AutoCloseable {
    private final long fence;
    private volatile Runnable onLost = () -> {};

    Run(Client client, Connection connection, String name, long fence) {
        super(client, name);
        this.fence = fence;
        begin(connection);
    }

    public long fence() {
        return fence;
    }

    /** False: its connection has ended, so others may do it, too. */
    public boolean isHeld() {
        return lasts();
    }

    /** Throws if it is not held. */
    public void check() throws LockLostException {
        if (!isHeld())
            throw loss("its connection ended");
    }

    /** Called when its connection has ended. */
    public void onLost(Runnable callback) {
        onLost = callback;
    }

    @Override
    void lost(String why) {
        Client.daemon("conclave-lost", () -> onLost.run()).start();
    }

    private LockLostException loss(String why) {
        return new LockLostException(name + ", fence " + fence + ": " + why);
    }

    /** Nobody does it again in this period. */
    void done() throws ConclaveException, InterruptedException {
        Connection connection = end();
        if (connection == null)
            throw loss("its connection ended");
        long remembered = 0;
        try {
            remembered = Client.number(connection.askWithin(client.timeoutMs, "ONCE", name, "DONE", fence));
        } catch (ConclaveException error) {
            throw loss(error.getMessage());
        } finally {
            client.keep(connection);
        }
        if (remembered != 1)
            throw loss("it was not ours any more");
    }

    /** Leaves it to whoever asks next, unless it is done. */
    @Override
    public void close() {
        abandon();
    }
}
