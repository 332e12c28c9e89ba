// SPDX-License-Identifier: MIT
package conclave;

import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/** What lasts as long as its connection. */
abstract class Stay {
    private static final long LOOK_AGAIN_MS = 2000; // a server that hangs closes no connection

    final Client client;
    final String name;
    private Connection connection;
    private Future<?> watchdog;
    private boolean over;
    private boolean busy;

    Stay(Client client, String name) {
        this.client = client;
        this.name = name;
    }

    /** It has ended otherwise than by end() or abandon(). */
    abstract void lost(String why);

    final void begin(Connection on) {
        synchronized (this) {
            connection = on;
            over = false;
            watchdog = watch(on);
        }
        client.add(this);
        on.listen(push -> {
            if (push.size() > 1 && "lost".equals(push.get(0)) && name.equals(push.get(1)))
                on.close(push.size() > 3 ? String.valueOf(push.get(3)) : "the server says so");
        }, this::broken);
        if (on.isClosed())
            broken("the connection ended");
    }

    /** Closes the connection if its server hangs. The alarms' thread does not wait for the answer. */
    private Future<?> watch(Connection on) {
        try {
            return client.alarms.scheduleWithFixedDelay(() -> ping(on), LOOK_AGAIN_MS, LOOK_AGAIN_MS, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException error) {
            return null; // the client is closed
        }
    }

    private synchronized void ping(Connection on) {
        if (!busy)
            on.ask("PING").orTimeout(client.timeoutMs, TimeUnit.MILLISECONDS).whenComplete((reply, error) -> {
                if (error != null)
                    on.close("no answer");
            });
    }

    /** The connection, for a command that waits: nothing else is answered meanwhile. Null: it has ended. */
    final synchronized Connection lend() {
        busy = true;
        return over ? null : connection;
    }

    final synchronized void takeBack() {
        busy = false;
    }

    private void broken(String why) {
        if (finish())
            lost(why);
    }

    private boolean finish() {
        synchronized (this) {
            if (over || connection == null)
                return false;
            over = true;
            if (watchdog != null)
                watchdog.cancel(false);
        }
        client.remove(this);
        return true;
    }

    final synchronized boolean lasts() {
        return connection != null && !over;
    }

    /** The connection; from now on its end is no loss. Null: it has ended before. */
    final Connection end() {
        return finish() ? connection : null;
    }

    /** Without a word: others see that its connection has ended. */
    void abandon() {
        Connection on = end();
        if (on != null)
            on.close("given up");
    }
}
