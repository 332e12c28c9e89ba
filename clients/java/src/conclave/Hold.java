// SPDX-License-Identifier: MIT
package conclave;

import conclave.ConclaveException.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/** A lock or a leadership that is held. Close it to give it back. */
public final class Hold implements AutoCloseable {
    private enum State { HELD, LOST, RELEASED }

    private final Client client;
    private final boolean leads;
    private final String name;
    private final Want want;
    private final long fence;
    private Connection connection;
    private Thread keeper;
    private State state = State.HELD;
    private String why = "given back";
    private long ends;
    private long renewAt;
    private Future<?> alarm;

    Hold(Client client, Connection connection, boolean leads, String name, Want want, long fence, long asked, long leftMs) {
        this.client = client;
        this.connection = connection;
        this.leads = leads;
        this.name = name;
        this.want = want;
        this.fence = fence;
        extend(asked, leftMs);
    }

    void begin() {
        client.add(this);
        listen(connection);
        synchronized (this) {
            setAlarm();
        }
        keeper = Client.daemon("conclave-hold", this::renewOn);
        keeper.start();
    }

    // ---- what a holder asks ----

    public String name() {
        return name;
    }

    /** Above those of all earlier holders, and below 2^53. */
    public long fence() {
        return fence;
    }

    /** Milliseconds for which it is surely held, by this process's own clock; 0 if it is not. */
    public long leftMs() {
        boolean over;
        synchronized (this) {
            long left = ends == Clock.NEVER ? Clock.NEVER : ends - Clock.now();
            if (state == State.HELD && left > 0)
                return left;
            over = state == State.HELD;
        }
        if (over)
            lose("its time ran out");
        return 0;
    }

    /** The clock decides, so a process that was stopped learns it here, first. */
    public boolean isHeld() {
        return leftMs() > 0;
    }

    /** Throws if it is not held. */
    public void check() throws LockLostException {
        if (!isHeld())
            throw loss();
    }

    private synchronized LockLostException loss() {
        return new LockLostException(name + ", fence " + fence + ": " + why);
    }

    /** Gives it back. LockLostException if it was lost. If no server answers, it ends by itself when its time is over. */
    @Override
    public void close() throws ConclaveException {
        synchronized (this) {
            if (state == State.RELEASED)
                return;
        }
        check();
        synchronized (this) {
            if (state != State.HELD)
                throw loss();
            end(State.RELEASED);
        }
        boolean interrupted = Thread.interrupted(); // to give it back is worth the moment
        try {
            keeper.join();
            release();
        } catch (InterruptedException error) {
            interrupted = true;
        } finally {
            if (interrupted)
                Thread.currentThread().interrupt();
        }
    }

    private void release() throws ConclaveException, InterruptedException {
        List<Object> words = new ArrayList<>(List.of(leads ? "RESIGN" : "UNLOCK", name, fence));
        if (want.ttlMs > 0)
            words.addAll(List.of("SECRET", client.secret));
        for (int attempt = 0; attempt <= client.serverCount() && Clock.now() < ends; attempt++) {
            if (connection.isClosed() && want.ttlMs == 0)
                return; // it has ended with its connection
            Object released;
            try {
                if (connection.isClosed())
                    connection = client.connect(client.timeoutMs, ends);
                released = connection.askWithin(client.timeoutMs, words.toArray());
            } catch (ConclaveException error) {
                client.giveUp();
                connection.close("no answer");
                continue;
            }
            client.keep(connection);
            if (Long.valueOf(0).equals(released) && attempt == 0) {
                why = "it was not held any more";
                throw loss();
            }
            return;
        }
    }

    // ---- its end ----

    private synchronized void end(State how) {
        state = how;
        client.remove(this);
        if (alarm != null)
            alarm.cancel(false);
        notifyAll();
    }

    private void lose(String reason) {
        synchronized (this) {
            if (state != State.HELD)
                return;
            why = reason;
            end(State.LOST);
        }
        Client.daemon("conclave-lost", () -> want.onLost.accept(this)).start();
    }

    // ---- its renewal ----

    private void listen(Connection to) {
        to.listen(this::pushed, reason -> {
            if (want.ttlMs == 0)
                lose(reason);
            synchronized (this) {
                notifyAll();
            }
        });
        if (to.isClosed() && want.ttlMs == 0)
            lose("its connection ended");
    }

    private void pushed(List<Object> push) {
        if (push.size() < 3 || !name.equals(push.get(1)) || !Long.valueOf(fence).equals(push.get(2)))
            return;
        if ("lost".equals(push.get(0)))
            lose("the server says so");
        else if ("askback".equals(push.get(0)) && push.size() > 3)
            Client.daemon("conclave-asked-back", () -> want.onAskedBack.accept(this, (String) push.get(3))).start();
    }

    /** So many milliseconds from then on. It ends a tenth earlier here, so that there is time to stop. */
    private synchronized void extend(long asked, long leftMs) {
        long term = want.ttlMs > 0 ? want.ttlMs : leftMs;
        ends = leftMs < 0 ? Clock.NEVER : asked + leftMs - term / 10;
        renewAt = leftMs < 0 ? Clock.NEVER : asked + leftMs - term * 2 / 3;
        if (alarm != null)
            setAlarm();
    }

    private synchronized void setAlarm() {
        if (alarm != null)
            alarm.cancel(false);
        if (ends == Clock.NEVER || state != State.HELD)
            return;
        try {
            alarm = client.alarms.schedule(() -> {
                if (isHeld())
                    setAlarm(); // it was renewed at this moment, or the alarm is early
            }, Math.max(0, ends - Clock.now()), TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException error) {
            return; // the client is closed
        }
    }

    private void renewOn() {
        try {
            while (await())
                if (!renew())
                    pause();
            if (isLost() && want.ttlMs > 0 && !connection.isClosed()) // it may not be over there, and the next one waits for it
                connection.askWithin(client.timeoutMs, leads ? "RESIGN" : "UNLOCK", name, fence, "SECRET", client.secret);
        } catch (ConclaveException error) {
            connection.close("lost");
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
        if (isLost())
            connection.close("lost");
    }

    private synchronized boolean isLost() {
        return state == State.LOST;
    }

    /** Until something is to be asked. False: the hold has ended. */
    private synchronized boolean await() throws InterruptedException {
        while (state == State.HELD) {
            long due = renewAt == Clock.NEVER ? Clock.NEVER : renewAt - Clock.now();
            if (due <= 0 || (connection.isClosed() && want.ttlMs > 0))
                return true;
            wait(due == Clock.NEVER ? 0 : due);
        }
        return false;
    }

    private synchronized void pause() throws InterruptedException {
        if (state == State.HELD)
            wait(Client.PAUSE_MS);
    }

    /** True if a server answered. */
    private boolean renew() throws InterruptedException {
        List<Object> words = new ArrayList<>(List.of("RENEW", name, fence));
        long patienceMs = client.timeoutMs;
        if (want.ttlMs > 0) {
            words.addAll(List.of("SECRET", client.secret, "TTL", want.ttlMs));
            words.addAll(want.kind(leads));
            patienceMs = Math.min(patienceMs, Math.max(50, want.ttlMs / 8));
        }
        Object left;
        long asked;
        try {
            if (connection.isClosed()) {
                connection = client.connect(patienceMs, ends);
                listen(connection);
            }
            asked = Clock.now();
            left = connection.askWithin(patienceMs, words.toArray());
        } catch (ConclaveException error) { // the server may recover until it is asked again, or another one may answer
            if (want.ttlMs > 0) {
                client.giveUp();
                connection.close("no answer");
            }
            return error.kind() == Kind.INVALID && client.isClosed();
        }
        if (left instanceof Long ms)
            extend(asked, ms);
        else
            lose("the servers have given it to nobody, or to somebody else");
        return true;
    }
}
