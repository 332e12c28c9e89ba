// SPDX-License-Identifier: MIT
package conclave;

import conclave.ConclaveException.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A lock or a leadership that is held. Close it to give it back. */
public final class Hold implements AutoCloseable {
    private enum State { HELD, LOST, RELEASED }

    private final Client client;
    private final Names names;
    private final Want want;
    private final List<Long> fences;
    private Connection connection;
    private Thread keeper;
    private State state = State.HELD;
    private String why = "given back";
    private long ends;
    private long renewAt;
    private Future<?> alarm;

    Hold(Client client, Connection connection, Names names, Want want, List<Long> fences, long asked, long leftMs) {
        this.client = client;
        this.connection = connection;
        this.names = names;
        this.want = want;
        this.fences = fences;
        extend(asked, leftMs);
    }

    /** Of several names nobody has told how long they last. False: they may be over. */
    boolean confirm() throws InterruptedException {
        return renew() && isHeld();
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
        return names.toString();
    }

    /** Above those of all earlier holders, and below 2^53. */
    public long fence() {
        return fences.get(0);
    }

    /** Of several names, in their order. */
    public List<Long> fences() {
        return fences;
    }

    /** Milliseconds for which it is surely held, by this process's own clock; 0 if it is not. */
    public long leftMs() {
        boolean over;
        synchronized (this) {
            long left = ends == Clock.NEVER ? Clock.NEVER : ends - Clock.now();
            if (state == State.HELD && left > 0)
                return left;
            over = state == State.HELD && keeper != null;
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
        return new LockLostException(names + ", fence " + fence() + ": " + why);
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
        Object[] proof = want.ttlMs > 0 ? new Object[] {"SECRET", client.secret} : new Object[0];
        for (int attempt = 0; attempt <= client.serverCount() && Clock.now() < ends; attempt++) {
            if (connection.isClosed() && want.ttlMs == 0)
                return; // it has ended with its connection
            Long released;
            try {
                if (connection.isClosed())
                    connection = client.connect(client.timeoutMs, ends);
                released = askAll(client.timeoutMs, names.ending(), proof);
            } catch (ConclaveException error) {
                client.giveUp();
                connection.close("no answer");
                continue;
            }
            client.keep(connection);
            if (released != null && released == 0 && attempt == 0) {
                why = "it was not held any more";
                throw loss();
            }
            return;
        }
    }

    /** The least of the answers about each of its names; null if one of them is. */
    private Long askAll(long patienceMs, String verb, Object... more) throws ConclaveException, InterruptedException {
        List<CompletableFuture<Object>> answers = new ArrayList<>();
        for (int i = 0; i < fences.size(); i++) {
            List<Object> words = new ArrayList<>(List.of(verb, names.list().get(i), fences.get(i)));
            words.addAll(List.of(more));
            answers.add(connection.ask(words.toArray()));
        }
        Long least = Long.MAX_VALUE;
        long until = Clock.now() + patienceMs;
        for (CompletableFuture<Object> answer : answers) {
            try {
                Object told = Connection.await(answer, until - Clock.now());
                least = least == null || !(told instanceof Long number) ? null : Long.valueOf(Math.min(least, number));
            } catch (TimeoutException late) {
                connection.close("no answer");
                throw new ConclaveException(Kind.NO_SERVER, connection.server.text() + ": no answer");
            }
        }
        return least;
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
            if (keeper == null)
                return; // nobody has it before it has begun
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
        int which = push.size() < 3 ? -1 : names.list().indexOf(push.get(1));
        if (which < 0 || !fences.get(which).equals(push.get(2)))
            return;
        if ("lost".equals(push.get(0)))
            lose(push.size() > 3 ? String.valueOf(push.get(3)) : "the server says so");
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
                askAll(client.timeoutMs, names.ending(), "SECRET", client.secret);
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
        List<Object> words = new ArrayList<>();
        long patienceMs = client.timeoutMs;
        if (want.ttlMs > 0) {
            words.addAll(List.of("SECRET", client.secret, "TTL", want.ttlMs));
            words.addAll(want.kind(names.leads()));
            patienceMs = Math.min(patienceMs, Math.max(50, want.ttlMs / 8));
        }
        Long left;
        long asked;
        try {
            if (connection.isClosed()) {
                connection = client.connect(patienceMs, ends);
                listen(connection);
            }
            asked = Clock.now();
            left = askAll(patienceMs, "RENEW", words.toArray());
        } catch (ConclaveException error) { // the server may recover until it is asked again, or another one may answer
            if (want.ttlMs > 0) {
                client.giveUp();
                connection.close("no answer");
            }
            return error.kind() == Kind.INVALID && client.isClosed();
        }
        if (left != null)
            extend(asked, left);
        else
            lose("the servers have given it to nobody, or to somebody else");
        return true;
    }
}
