// SPDX-License-Identifier: MIT
package conclave;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;

/** Tells what changes: leaders, holders, members. If the server is lost or hangs, it goes on with another one. */
public final class Observation implements AutoCloseable {
    private static final long LOOK_AGAIN_MS = 2000; // it asks so often: a server that hangs pushes nothing
    private static final Object GONE = new Object();

    /**
     * The name, the command that begins it, the one that looks again, the word of the pushes, how both are read, and who is
     * told.
     */
    record Topic<T>(String name, List<Object> first, List<Object> again, String push, Function<Object, T> read,
            Function<List<?>, T> ofPush, Consumer<T> observer) {}

    private final Client client;
    private final Thread thread;
    private volatile boolean closed;
    private Object last;
    private boolean begun;

    Observation(Client client, Topic<?> topic) {
        this.client = client;
        thread = Client.daemon("conclave-observation", () -> run(topic));
        thread.start();
    }

    @Override
    public void close() {
        closed = true;
        thread.interrupt();
    }

    private <T> void run(Topic<T> topic) {
        try {
            while (!closed && !client.isClosed()) {
                try {
                    watch(topic, client.connect(client.timeoutMs, Clock.NEVER));
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
    private <T> void watch(Topic<T> topic, Connection connection) throws ConclaveException, InterruptedException {
        BlockingQueue<Object> news = new LinkedBlockingQueue<>();
        connection.listen(news::add, why -> news.add(GONE));
        try {
            see(topic, topic.read().apply(connection.askWithin(client.timeoutMs, topic.first().toArray())));
            while (!client.isClosed()) {
                Object told = news.poll(LOOK_AGAIN_MS, TimeUnit.MILLISECONDS);
                if (told == GONE)
                    return;
                if (told == null)
                    see(topic, topic.read().apply(connection.askWithin(client.timeoutMs, topic.again().toArray())));
                else if (told instanceof List<?> items && items.size() > 2 && topic.push().equals(items.get(0))
                        && topic.name().equals(items.get(1)))
                    see(topic, topic.ofPush().apply(items.subList(2, items.size())));
            }
        } finally {
            connection.close("closed");
        }
    }

    private <T> void see(Topic<T> topic, T told) {
        if (begun && Objects.equals(told, last))
            return;
        begun = true;
        last = told;
        topic.observer().accept(told);
    }
}
