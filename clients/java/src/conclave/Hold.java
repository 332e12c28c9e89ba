// SPDX-License-Identifier: MIT
package conclave;

import conclave.ConclaveException.Kind;
import java.time.Duration;
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
    private List<Long> fences;
    private List<Object> kind; // SHARED and so on
    private Connection connection;
    private Connection side; // upgrade() and downgrade() have the connection for themselves; meanwhile this one renews
    private Thread keeper;
    private State state = State.HELD;
    private String why = "given back";
    private long ends;
    private long renewAt;
    private Future<?> alarm;
    private final Thread owner = Thread.currentThread(); // that may take it again
    private int again; // how often it was, and was not given back

    Hold(Client client, Connection connection, Names names, Want want, List<Long> fences, long asked, long leftMs) {
        this.client = client;
        this.connection = connection;
        this.names = names;
        this.want = want;
        this.fences = fences;
        this.kind = want.kind(names.leads());
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

    /** Above those of all earlier holders, and below 2^53; upgrade() and downgrade() change it. */
    public synchronized long fence() {
        return fences.get(0);
    }

    /** Of several names, in their order. */
    public synchronized List<Long> fences() {
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
            if (state == State.HELD && again > 0 && isHeld()) {
                again--;
                return;
            }
        }
        releaseEntirely();
    }

    /** True if it is a lock of that name that this thread holds, and nobody shares. */
    synchronized boolean takeAgain(String name) {
        boolean mine = owner == Thread.currentThread() && !names.several() && !names.leads() && name.equals(names.toString())
                && kind.isEmpty() && isHeld();
        if (mine)
            again++;
        return mine;
    }

    void releaseEntirely() throws ConclaveException {
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
        for (int attempt = 0; attempt < client.attempts() && Clock.now() < ends; attempt++) {
            if (connection.isClosed() && want.ttlMs == 0)
                return; // it has ended with its connection
            Long released;
            try {
                if (connection.isClosed())
                    connection = client.connect(client.timeoutMs, ends);
                released = askAll(connection, client.timeoutMs, names.ending(), proof);
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
    private Long askAll(Connection on, long patienceMs, String verb, Object... more)
            throws ConclaveException, InterruptedException {
        List<CompletableFuture<Object>> answers = new ArrayList<>();
        List<Long> numbers = fences();
        for (int i = 0; i < numbers.size(); i++) {
            List<Object> words = new ArrayList<>(List.of(verb, names.list().get(i), numbers.get(i)));
            words.addAll(List.of(more));
            answers.add(on.ask(words.toArray()));
        }
        Long least = Long.MAX_VALUE;
        long until = Clock.now() + patienceMs;
        for (CompletableFuture<Object> answer : answers) {
            try {
                Object told = Connection.await(answer, until - Clock.now());
                least = least == null || !(told instanceof Long number) ? null : Long.valueOf(Math.min(least, number));
            } catch (TimeoutException late) {
                on.close("no answer");
                throw new ConclaveException(Kind.NO_SERVER, on.server.text() + ": no answer");
            }
        }
        return least;
    }

    // ---- from shared to alone, and back ----

    /**
     * Waits until all others that share it have left: from then on it is held alone, by a new fence. TIMEOUT: it is shared as
     * before. REFUSED: another one waits for that already, or it was renewed by another server meanwhile.
     *
     * @param wait null: for as long as it takes
     */
    public void upgrade(Duration wait) throws ConclaveException, InterruptedException {
        exchange("UPGRADE", Client.until(wait), List.of("SHARED"), List.of());
    }

    /** Shares it from now on, by a new fence, without a moment in which nobody holds it. */
    public void downgrade() throws ConclaveException, InterruptedException {
        exchange("DOWNGRADE", Clock.NEVER, List.of(), List.of("SHARED"));
    }

    private void exchange(String verb, long until, List<Object> before, List<Object> after)
            throws ConclaveException, InterruptedException {
        check();
        Connection on, second = client.connect(client.timeoutMs, Clock.NEVER);
        synchronized (this) {
            if (!kind.equals(before) || names.several() || names.leads() || want.ttlMs == 0 || again > 0 || side != null) {
                client.keep(second);
                throw new ConclaveException(Kind.INVALID,
                        names + ": " + verb + " expects a lock of the other kind, with a time to live, taken once");
            }
            side = second;
            on = connection;
        }
        Object reply = null;
        try {
            List<Object> words = List.of(verb, name(), fence());
            reply = client.await(on, until, new Client.Waiting(words, List.of(), push -> {}, late -> {}, true));
        } finally {
            synchronized (this) {
                client.keep(side);
                side = null;
                if (reply instanceof Long fence) {
                    fences = List.of(fence);
                    kind = after;
                }
                renewAt = 0; // how long it lasts now is not told
                notifyAll();
            }
        }
        if (reply == null)
            throw new ConclaveException(Kind.TIMEOUT, names + ": others still share it");
    }

    /** By a connection that works. False: there is one. */
    private boolean replace(Connection fresh) {
        synchronized (this) {
            if (side != null) {
                side = fresh;
                return true;
            }
            if (!connection.isClosed())
                return false;
            connection = fresh;
        }
        listen(fresh);
        return true;
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
        if (which < 0 || !fences().get(which).equals(push.get(2)))
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
                askAll(connection, client.timeoutMs, names.ending(), "SECRET", client.secret);
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

    private synchronized Connection renewing() {
        return side != null ? side : connection;
    }

    /** True if a server answered. */
    private boolean renew() throws InterruptedException {
        List<Object> words = new ArrayList<>();
        long patienceMs = client.timeoutMs;
        if (want.ttlMs > 0) {
            words.addAll(List.of("SECRET", client.secret, "TTL", want.ttlMs));
            words.addAll(kind);
            patienceMs = Math.min(patienceMs, Math.max(50, want.ttlMs / 8));
        }
        Long left;
        long asked;
        List<Long> before = fences();
        Connection on = renewing();
        try {
            if (on.isClosed()) {
                on = client.connect(patienceMs, ends);
                if (!replace(on)) {
                    client.keep(on);
                    return true;
                }
            }
            asked = Clock.now();
            left = askAll(on, patienceMs, "RENEW", words.toArray());
        } catch (ConclaveException error) { // the server may recover until it is asked again, or another one may answer
            if (want.ttlMs > 0) {
                client.giveUp();
                on.close("no answer");
            }
            return error.kind() == Kind.INVALID && client.isClosed();
        }
        if (left != null)
            extend(asked, left);
        else if (renewing() != connection || fences() != before)
            return false; // that was the fence before
        else
            lose("the servers have given it to nobody, or to somebody else");
        return true;
    }
}
