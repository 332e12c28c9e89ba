// SPDX-License-Identifier: MIT
package conclave;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Tells leaders as they change. If the server is lost or hangs, it goes on with another one. */
public final class Observation implements AutoCloseable {
    private static final long LOOK_AGAIN_MS = 2000; // it asks so often: a server that hangs pushes nothing
    private static final Object GONE = new Object();

    private final Client client;
    private final String name;
    private final Consumer<Leader> observer;
    private final String first, again, push;
    private final Thread thread;
    private volatile boolean closed;
    private Leader last;
    private boolean begun;

    /** The command that begins it, the one that looks again, and the word of the pushes. */
    Observation(Client client, String name, Consumer<Leader> observer, String first, String again, String push) {
        this.first = first;
        this.again = again;
        this.push = push;
        this.client = client;
        this.name = name;
        this.observer = observer;
        thread = Client.daemon("conclave-observation", this::run);
        thread.start();
    }

    @Override
    public void close() {
        closed = true;
        thread.interrupt();
    }

    private void run() {
        try {
            while (!closed && !client.isClosed()) {
                try {
                    watch(client.connect(client.timeoutMs, Clock.NEVER));
                } catch (ConclaveException error) {
                    client.giveUp();
                }
                Thread.sleep(Client.PAUSE_MS);
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns when the connection has ended. */
    private void watch(Connection connection) throws ConclaveException, InterruptedException {
        BlockingQueue<Object> news = new LinkedBlockingQueue<>();
        connection.listen(news::add, why -> news.add(GONE));
        try {
            see(Leader.read(connection.askWithin(client.timeoutMs, first, name)));
            while (!client.isClosed()) {
                Object told = news.poll(LOOK_AGAIN_MS, TimeUnit.MILLISECONDS);
                if (told == GONE)
                    return;
                if (told == null)
                    see(Leader.read(connection.askWithin(client.timeoutMs, again, name)));
                else if (told instanceof List<?> items && items.size() > 3 && push.equals(items.get(0)) && name.equals(items.get(1)))
                    see(ofPush(items));
            }
        } finally {
            connection.close("closed");
        }
    }

    private static Leader ofPush(List<?> push) {
        List<Object> items = new ArrayList<>();
        items.add(push.get(2));
        items.add(push.get(3));
        items.add(null);
        items.addAll(push.subList(4, push.size()));
        return Leader.read(items);
    }

    private void see(Leader leader) {
        if (begun && Objects.equals(leader, last))
            return;
        begun = true;
        last = leader;
        observer.accept(leader);
    }
}
