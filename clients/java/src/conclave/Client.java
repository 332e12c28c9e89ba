// SPDX-License-Identifier: MIT
package conclave;

import conclave.ConclaveException.Kind;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

/**
 * Locks and leadership among processes, from a Conclave group. Threads may share it.
 *
 * <pre>{@code
 * try (Client client = new Client(); Hold lock = client.lock("backup")) {
 *     for (File file : files) {
 *         lock.check(); // LockLostException, before anybody else can have it
 *         copy(file, lock.fence());
 *     }
 * }
 * }</pre>
 *
 * A hold has a connection of its own. A thread renews it after a third of its time to live, with another server if need be,
 * and the hold is over, for this process, a tenth of that time before the servers may give it to somebody else.
 */
public final class Client implements AutoCloseable {
    static final long PAUSE_MS = 50; // before another server is tried
    private static final long PATIENCE_MS = 5000; // so long other servers are tried when none answers during a wait
    private static final long PROBE_MS = 3000; // during a wait, a second connection tests so often whether the server hangs
    private static final int IDLE = 8; // connections kept for what comes next

    /** Servers and files; what is null comes from the environment. */
    public static final class Options {
        String servers, key, tlsCa, tlsCertificate, tlsPrivateKey, name;
        Duration timeout = Duration.ofSeconds(2);

        /** host:port, [address]:port and paths of sockets, separated by commas or spaces; $CONCLAVE_SERVER. */
        public Options servers(String list) {
            servers = list;
            return this;
        }

        /** How long a server may take to answer; two seconds. */
        public Options timeout(Duration length) {
            timeout = length;
            return this;
        }

        /** What others see of this client; host:pid by default. */
        public Options name(String text) {
            name = text;
            return this;
        }

        /** The file of a key, by conclave keygen; $CONCLAVE_KEY. */
        public Options key(String file) {
            key = file;
            return this;
        }

        /** PEM files; $CONCLAVE_TLS_CA, $CONCLAVE_TLS_CERTIFICATE, $CONCLAVE_TLS_PRIVATE_KEY. */
        public Options tls(String ca, String certificate, String privateKey) {
            tlsCa = ca;
            tlsCertificate = certificate;
            tlsPrivateKey = privateKey;
            return this;
        }
    }

    final String secret; // of what it holds: with it other servers renew and end that, too
    final long timeoutMs;
    final ScheduledExecutorService alarms;
    private final List<Server> servers;
    private final Credentials credentials;
    private final String name;
    private final Deque<Connection> idle = new ArrayDeque<>();
    private final Set<Hold> holds = new HashSet<>();
    private final Set<Stay> stays = new HashSet<>();
    private int turn;
    private boolean closed;

    public Client() throws ConclaveException {
        this(new Options());
    }

    public Client(Options options) throws ConclaveException {
        servers = Server.readAll(options.servers);
        credentials = Credentials.read(options.key, options.tlsCa, options.tlsCertificate, options.tlsPrivateKey);
        timeoutMs = options.timeout.toMillis();
        name = options.name != null ? options.name : ownName();
        byte[] bytes = new byte[16];
        new SecureRandom().nextBytes(bytes);
        secret = HexFormat.of().formatHex(bytes);
        alarms = Executors.newSingleThreadScheduledExecutor(work -> daemon("conclave-alarms", work));
    }

    private static String ownName() {
        String host = "java";
        try {
            host = InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException error) {
            return host + ":" + ProcessHandle.current().pid();
        }
        return host + ":" + ProcessHandle.current().pid();
    }

    static Thread daemon(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        return thread;
    }

    // ---- locks and leadership ----

    /** Waits for it. To give up, interrupt the thread. */
    public Hold lock(String name) throws ConclaveException, InterruptedException {
        return lock(name, new Want());
    }

    public Hold lock(String name, Want want) throws ConclaveException, InterruptedException {
        if (want.reentrant && (want.shared || want.permits > 0))
            throw new ConclaveException(Kind.INVALID, name + ": reentrant expects neither shared nor permits");
        for (Hold hold : want.reentrant ? held() : List.<Hold>of())
            if (hold.takeAgain(name))
                return hold;
        return acquire(new Names(List.of(name), false, false), want);
    }

    /**
     * All of these names or none, without deadlock; Hold.fences() has their fences in that order. If one of them is lost, all
     * are. They have a time to live, and are not shared.
     */
    public Hold lockAll(List<String> names, Want want) throws ConclaveException, InterruptedException {
        if (names.isEmpty() || want.ttlMs == 0 || want.shared || want.permits > 0)
            throw new ConclaveException(Kind.INVALID, "several names at once expect a name, a time to live, and not to be shared");
        return acquire(new Names(List.copyOf(names), true, false), want);
    }

    /** Waits until this client leads. */
    public Hold campaign(String name, Want want) throws ConclaveException, InterruptedException {
        return acquire(new Names(List.of(name), false, true), want);
    }

    /** Null: nobody leads. */
    public Leader leader(String name) throws ConclaveException, InterruptedException {
        Want.checkName(name);
        return Leader.read(execute("LEADER", name));
    }

    /** Tells the present leader, and every change, null if nobody leads. Close it to end that. */
    public Observation observe(String name, Consumer<Leader> observer) throws ConclaveException {
        return observe(name, observer, "OBSERVE", "LEADER", "leader");
    }

    /** The same for a lock: who got it last, and null when it was given back. A short hold may be missed. */
    public Observation watch(String name, Consumer<Leader> observer) throws ConclaveException {
        return observe(name, observer, "WATCH", "WATCH", "lock");
    }

    private Observation observe(String name, Consumer<Leader> observer, String first, String again, String push)
            throws ConclaveException {
        Want.checkName(name);
        return new Observation(this, new Observation.Topic<>(name, List.of(first, name), List.of(again, name), push, Leader::read,
                Leader::ofPush, observer));
    }

    /** Who waits for it, the next one first. */
    public List<Waiter> waiters(String name) throws ConclaveException, InterruptedException {
        Want.checkName(name);
        return Waiter.readAll(execute("WAITERS", name));
    }

    /** Asks the holders to give it back: how many were asked. They hear of it by Want.onAskedBack. */
    public long askBack(String name) throws ConclaveException, InterruptedException {
        return number(execute("ASKBACK", checked(name)));
    }

    // ---- recipes ----

    private static String checked(String name) throws ConclaveException {
        Want.checkName(name);
        return name;
    }

    static long number(Object reply) {
        return reply instanceof Long number ? number : 0;
    }

    /**
     * The first of so many numbers that nobody else gets, above all that were given for that name before. It waits while
     * somebody holds the name as a lock.
     */
    public long sequence(String name, int count) throws ConclaveException, InterruptedException {
        return sequence(name, count, null);
    }

    /**
     * The same, and TIMEOUT after so long. A server has its time to answer in any case.
     *
     * @param wait null: for as long as it takes
     */
    public long sequence(String name, int count, Duration wait) throws ConclaveException, InterruptedException {
        List<Object> words = List.of("SEQUENCE", checked(name), Want.checkCount("count", count, Want.MOST_NUMBERS));
        return persist(until(wait), (connection, until) -> {
            Object first = await(connection, until, new Waiting(words, List.of(), push -> {}, reply -> {}, false, true));
            keep(connection);
            return number(first);
        });
    }

    /**
     * Waits until so many have come: the meeting's number, the same for all and above the last one. TIMEOUT, or an interrupt:
     * they have not, and this one does not count any more. LockLostException: the connection broke, and the others may have met.
     *
     * @param wait null: for as long as it takes
     */
    public long barrier(String name, int parties, Duration wait) throws ConclaveException, InterruptedException {
        Asked met = meet(wait, "BARRIER", checked(name), Want.checkCount("parties", parties, Want.MOST_PARTIES));
        keep(met.connection());
        return number(met.reply());
    }

    /** A double barrier: returns when so many have come; close it to wait until all of them have left or gone. */
    public Inside enterBarrier(String name, int parties, Duration wait) throws ConclaveException, InterruptedException {
        Asked met = meet(wait, "BARRIER", checked(name), Want.checkCount("parties", parties, Want.MOST_PARTIES), "ENTER");
        return new Inside(this, met.connection(), name, number(met.reply()));
    }

    /** It does not ask twice: the others may have met before the answer was lost. */
    private Asked meet(Duration wait, Object... words) throws ConclaveException, InterruptedException {
        return persist(until(wait), (connection, until) -> {
            Object reply;
            try {
                reply = await(connection, until, new Waiting(List.of(words)));
            } catch (ConclaveException error) {
                throw error.kind() != Kind.NO_SERVER ? error
                        : new LockLostException(words[1] + ": " + error.getMessage() + "; the others may have met");
            }
            if (reply != null)
                return new Asked(connection, reply);
            keep(connection);
            throw new ConclaveException(Kind.TIMEOUT, words[1] + ": not all of them came");
        });
    }

    /** A latch by its name, whether it was set or not. */
    public Latch latch(String name) throws ConclaveException {
        return new Latch(this, checked(name));
    }

    /** A member of a group, until it is closed. The value, or null, is what others see with it. */
    public Membership join(String name, String value) throws ConclaveException, InterruptedException {
        return join(name, value, number -> {});
    }

    /** If its connection ends it joins anew: `onChange` is called with 0, and then with the new number. */
    public Membership join(String name, String value, LongConsumer onChange) throws ConclaveException, InterruptedException {
        return new Membership(this, checked(name), value, onChange);
    }

    /** The members of a group, in the order in which they joined. */
    public List<Member> members(String name) throws ConclaveException, InterruptedException {
        return Member.readAll(execute("MEMBERS", checked(name)));
    }

    /** Tells the present members, and every change. Close it to end that. */
    public Observation watchMembers(String name, Consumer<List<Member>> observer) throws ConclaveException {
        return new Observation(this, new Observation.Topic<>(checked(name), List.of("MEMBERS", name, "WATCH"),
                List.of("MEMBERS", name), "members", Member::readAll, items -> Member.readAll(items.get(0)), observer));
    }

    /** What is to be done once. */
    @FunctionalInterface
    public interface Body {
        void run(Run run) throws Exception;
    }

    /**
     * Runs the body if nobody has begun it in this period, counted from 1970; false: somebody has. It is done when the body
     * ends without an exception; otherwise whoever asks next does it.
     */
    public boolean once(String name, Duration every, Body body) throws Exception {
        Asked asked = ask(1, "ONCE", checked(name), "EVERY", every.toMillis());
        if (asked.reply() == null) {
            keep(asked.connection());
            return false;
        }
        try (Run run = new Run(this, asked.connection(), name, number(asked.reply()))) {
            body.run(run);
            run.done();
        }
        return true;
    }

    /** When it was done last, and who does it now. */
    public LastRun lastRun(String name) throws ConclaveException, InterruptedException {
        return LastRun.read(execute("ONCE", checked(name)));
    }

    // ---- questions ----

    /** An answer, and the connection, which is the caller's then. */
    record Asked(Connection connection, Object reply) {}

    /**
     * Any command that does not wait. A reply is a String, a Long, a List, a Map, or null. If a server does not answer, another
     * one is asked the same.
     */
    public Object execute(Object... words) throws ConclaveException, InterruptedException {
        return kept(ask(servers.size() + 1, words));
    }

    /** The same, but no server is asked again. */
    Object executeOnce(Object... words) throws ConclaveException, InterruptedException {
        return kept(ask(1, words));
    }

    private Object kept(Asked asked) {
        keep(asked.connection());
        return asked.reply();
    }

    Asked ask(int attempts, Object... words) throws ConclaveException, InterruptedException {
        ConclaveException failure = null;
        for (int attempt = 0; attempt < attempts; attempt++) {
            Connection connection = connect(timeoutMs, Clock.NEVER);
            try {
                return new Asked(connection, connection.askWithin(timeoutMs, words));
            } catch (ConclaveException error) {
                keep(connection);
                if (error.kind() != Kind.NO_SERVER)
                    throw error;
                failure = error;
                forsake(connection.server);
            } catch (InterruptedException error) {
                connection.close("given up");
                throw error;
            }
        }
        throw failure;
    }

    /** Gives back all that it holds. */
    @Override
    public void close() {
        List<Stay> stayed;
        synchronized (this) {
            stayed = new ArrayList<>(stays);
        }
        stayed.forEach(Stay::abandon);
        for (Hold hold : held()) {
            try {
                hold.releaseEntirely();
            } catch (ConclaveException error) {
                continue; // it was lost, which its holder has been told
            }
        }
        synchronized (this) {
            closed = true;
            idle.forEach(connection -> connection.close("closed"));
            idle.clear();
        }
        alarms.shutdownNow();
    }

    synchronized boolean isClosed() {
        return closed;
    }

    int attempts() {
        return servers.size() + 1;
    }

    private synchronized List<Hold> held() {
        return new ArrayList<>(holds);
    }

    synchronized void add(Stay stay) {
        stays.add(stay);
    }

    synchronized void remove(Stay stay) {
        stays.remove(stay);
    }

    synchronized void add(Hold hold) {
        holds.add(hold);
    }

    synchronized void remove(Hold hold) {
        holds.remove(hold);
    }

    // ---- connections ----

    /** The next question goes to another server. */
    synchronized void giveUp() {
        turn++;
    }

    /** The same, whatever connections to this one are there. */
    private void forsake(Server server) {
        List<Connection> forsaken;
        synchronized (this) {
            turn++;
            forsaken = idle.stream().filter(connection -> connection.server.equals(server)).toList();
            idle.removeAll(forsaken);
        }
        forsaken.forEach(connection -> connection.close("no answer"));
    }

    private synchronized int turn() {
        return turn;
    }

    private synchronized void stayWith(int found) {
        turn = found;
    }

    private synchronized Connection takeIdle() throws ConclaveException {
        if (closed)
            throw new ConclaveException(Kind.INVALID, "the client is closed");
        while (!idle.isEmpty()) {
            Connection connection = idle.pop();
            if (connection.isIdle())
                return connection;
        }
        return null;
    }

    /** Tries each server once, but no more when `until` is over: the end of a hold. A wait is for the lock. */
    Connection connect(long patienceMs, long until) throws ConclaveException, InterruptedException {
        Connection known = takeIdle();
        if (known != null)
            return known;
        ConclaveException failure = null;
        int first = turn(); // others, who connect at the same time, move on as well
        for (int i = 0; i < servers.size(); i++) {
            try {
                Server server = servers.get(Math.floorMod(first + i, servers.size()));
                Connection connection = Connection.open(server, credentials, name, patienceMs);
                stayWith(first + i);
                return connection;
            } catch (ConclaveException error) {
                failure = error;
                if (Clock.now() >= until)
                    break;
            }
        }
        throw failure;
    }

    synchronized void keep(Connection connection) {
        if (connection.isIdle() && idle.size() < IDLE && !closed) {
            connection.listen(push -> {}, why -> {});
            idle.push(connection);
        } else {
            connection.close("closed");
        }
    }

    // ---- waiting ----

    /** What is done with a connection. Null: try again. */
    interface Attempt<T> {
        T make(Connection connection, long until) throws ConclaveException, InterruptedException;
    }

    static long until(Duration wait) {
        return wait == null ? Clock.NEVER : Clock.now() + Math.max(0, wait.toMillis());
    }

    /** Makes attempts until one has an answer, with other servers if need be. */
    <T> T persist(long until, Attempt<T> attempt) throws ConclaveException, InterruptedException {
        long failing = -1;
        boolean heard = false;
        int tries = 0;
        for (;;) {
            long asked = Clock.now();
            Connection connection = null;
            try {
                connection = connect(timeoutMs, Clock.NEVER);
                heard = true;
                T answer = attempt.make(connection, until);
                if (answer != null)
                    return answer;
            } catch (ConclaveException error) {
                boolean noServer = error.kind() == Kind.NO_SERVER;
                if (!noServer && error.kind() != Kind.NO_QUORUM || noServer && !heard)
                    throw error;
                long now = Clock.now();
                failing = failing < 0 || now - asked > 1000 ? now : failing;
                tries = connection != null ? tries + 1 : servers.size();
                if (tries >= servers.size() && (now >= until || now >= failing + PATIENCE_MS))
                    throw error;
                if (connection != null)
                    forsake(connection.server);
                Thread.sleep(PAUSE_MS);
            }
        }
    }

    private Hold acquire(Names names, Want want) throws ConclaveException, InterruptedException {
        for (String name : names.list())
            Want.checkName(name);
        want.check();
        long until = want.waitMs < 0 ? Clock.NEVER : Clock.now() + want.waitMs;
        return persist(until, (connection, end) -> acquireOnce(connection, names, want, end));
    }

    /** Asks one server. Null: it was granted while this process stood still, and may be over already. */
    private Hold acquireOnce(Connection connection, Names names, Want want, long until)
            throws ConclaveException, InterruptedException {
        long asked = Clock.now();
        Object reply = await(connection, until, new Waiting(want.asking(names, secret), names.last(), want::pushed, late -> {
            giveBack(names, want, names.read(late).fences());
        }, false));
        if (reply == null) {
            keep(connection);
            throw new ConclaveException(Kind.TIMEOUT, names + ": waited too long");
        }
        Names.Granted granted = names.read(reply);
        Hold hold = new Hold(this, connection, names, want, granted.fences(), asked, granted.leftMs());
        if (hold.isHeld() || names.several() && hold.confirm()) {
            hold.begin();
            return hold;
        }
        keep(connection);
        giveBack(names, want, granted.fences());
        if (Clock.now() >= until)
            throw new ConclaveException(Kind.TIMEOUT, names + ": waited too long");
        return null;
    }

    /** An answer that was on its way when the wait was given up. */
    interface Undo {
        void accept(Object reply) throws ConclaveException, InterruptedException;
    }

    /**
     * A command that may wait; `last` comes after WAIT. If the connection is lent, after an error it is not for others.
     * Untold: the server knows no WAIT, and this side ends it.
     */
    record Waiting(List<Object> words, List<?> last, Consumer<List<Object>> pushed, Undo undo, boolean lent, boolean untold) {
        Waiting(List<Object> words, List<?> last, Consumer<List<Object>> pushed, Undo undo, boolean lent) {
            this(words, last, pushed, undo, lent, false);
        }

        Waiting(List<Object> words) {
            this(words, List.of(), push -> {}, reply -> {}, false);
        }
    }

    /** The answer, without losing sight of the server. A wait that ends otherwise leaves nothing behind. */
    Object await(Connection connection, long until, Waiting what) throws ConclaveException, InterruptedException {
        List<Object> words = new ArrayList<>(what.words());
        long end = until == Clock.NEVER ? Clock.NEVER
                : what.untold() ? Math.max(until, Clock.now() + timeoutMs) : Math.max(until, Clock.now()) + timeoutMs;
        if (until != Clock.NEVER && !what.untold())
            words.addAll(List.of("WAIT", Math.max(0, until - Clock.now())));
        words.addAll(what.last());
        if (!what.lent())
            connection.listen(what.pushed(), why -> {});
        CompletableFuture<Object> answer = connection.ask(words.toArray());
        try {
            for (;;) {
                long left = end == Clock.NEVER ? Clock.NEVER : end - Clock.now();
                try {
                    return Connection.await(answer, Math.min(PROBE_MS, left));
                } catch (TimeoutException late) {
                    if (left <= PROBE_MS && !what.untold())
                        throw new ConclaveException(Kind.NO_SERVER, connection.server.text() + ": no answer");
                }
                // A server that lets a client wait may be right, or may hang. Does it still answer others?
                Connection.open(connection.server, credentials, name, timeoutMs).close("closed");
                if (left <= PROBE_MS && !answer.isDone())
                    throw new ConclaveException(Kind.TIMEOUT, words.get(1) + ": waited too long");
            }
        } catch (InterruptedException error) {
            daemon("conclave-withdraw", () -> withdraw(connection, answer, what.undo())).start();
            throw error;
        } catch (ConclaveException error) {
            if (error.kind() == Kind.NO_SERVER)
                daemon("conclave-withdraw", () -> withdraw(connection, answer, what.undo())).start();
            else if (!what.lent())
                keep(connection);
            throw error;
        }
    }

    /** A grant that was on its way is given back: it would block its name for as long as its time to live. */
    private static void withdraw(Connection connection, CompletableFuture<Object> answer, Undo undo) {
        try {
            Object reply = connection.lastWords(answer);
            if (reply != null)
                undo.accept(reply);
        } catch (ConclaveException error) {
            return; // that was no grant
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private void giveBack(Names names, Want want, List<Long> fences) throws InterruptedException {
        try {
            for (int i = 0; want.ttlMs > 0 && i < fences.size(); i++)
                execute(names.ending(), names.list().get(i), fences.get(i), "SECRET", secret);
        } catch (ConclaveException error) {
            return; // it ends when its time is over
        }
    }
}
