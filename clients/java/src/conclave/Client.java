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

    /** The first of so many numbers that nobody else gets, above all that were given for that name before. */
    public long sequence(String name, int count) throws ConclaveException, InterruptedException {
        Want.checkName(name);
        return execute("SEQUENCE", name, count) instanceof Long first ? first : 0;
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
        Want.checkName(name);
        return new Observation(this, name, observer, "OBSERVE", "LEADER", "leader");
    }

    /** The same for a lock: who got it last, and null when it was given back. A short hold may be missed. */
    public Observation watch(String name, Consumer<Leader> observer) throws ConclaveException {
        Want.checkName(name);
        return new Observation(this, name, observer, "WATCH", "WATCH", "lock");
    }

    /** Any command that does not wait. A reply is a String, a Long, a List, a Map, or null. */
    public Object execute(Object... words) throws ConclaveException, InterruptedException {
        ConclaveException failure = null;
        for (int attempt = 0; attempt <= servers.size(); attempt++) {
            Connection connection = connect(timeoutMs, Clock.NEVER);
            try {
                return connection.askWithin(timeoutMs, words);
            } catch (ConclaveException error) {
                if (error.kind() != Kind.NO_SERVER)
                    throw error;
                failure = error;
                giveUp();
            } finally {
                keep(connection);
            }
        }
        throw failure;
    }

    /** Gives back all that it holds. */
    @Override
    public void close() {
        List<Hold> left;
        synchronized (this) {
            left = new ArrayList<>(holds);
        }
        for (Hold hold : left) {
            try {
                hold.close();
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

    int serverCount() {
        return servers.size();
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

    private synchronized Server next() {
        return servers.get(Math.floorMod(turn, servers.size()));
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

    /** Tries each server once, but no more when `until` is over. */
    Connection connect(long patienceMs, long until) throws ConclaveException, InterruptedException {
        Connection known = takeIdle();
        if (known != null)
            return known;
        ConclaveException failure = null;
        for (int i = 0; i < servers.size(); i++) {
            try {
                return Connection.open(next(), credentials, name, patienceMs);
            } catch (ConclaveException error) {
                failure = error;
                giveUp();
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

    private Hold acquire(Names names, Want want) throws ConclaveException, InterruptedException {
        for (String name : names.list())
            Want.checkName(name);
        long until = want.waitMs < 0 ? Clock.NEVER : Clock.now() + want.waitMs;
        long failing = -1;
        boolean heard = false;
        for (int tries = 1;; tries++) {
            long asked = Clock.now();
            try {
                Connection connection = connect(timeoutMs, until);
                heard = true;
                Hold hold = acquireOnce(connection, names, want, until);
                if (hold != null)
                    return hold;
                if (Clock.now() >= until)
                    throw new ConclaveException(Kind.TIMEOUT, names + ": waited too long");
            } catch (ConclaveException error) {
                boolean noServer = error.kind() == Kind.NO_SERVER;
                if (!noServer && error.kind() != Kind.NO_QUORUM || noServer && !heard)
                    throw error;
                long now = Clock.now();
                failing = failing < 0 || now - asked > 1000 ? now : failing;
                boolean late = now >= until && (tries >= servers.size() || now >= until + timeoutMs);
                if (late || now >= failing + PATIENCE_MS)
                    throw error;
                giveUp();
                Thread.sleep(PAUSE_MS);
            }
        }
    }

    /** Asks one server. Null: it was granted while this process stood still, and may be over already. */
    private Hold acquireOnce(Connection connection, Names names, Want want, long until)
            throws ConclaveException, InterruptedException {
        long asked = Clock.now();
        Object reply = await(connection, names, want, asked, until);
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
        return null;
    }

    private Object await(Connection connection, Names names, Want want, long asked, long until)
            throws ConclaveException, InterruptedException {
        long waitMs = until == Clock.NEVER ? -1 : Math.max(0, until - asked);
        connection.listen(push -> {
            if (push.size() > 2 && "position".equals(push.get(0)) && push.get(2) instanceof Long place)
                want.onPosition.accept(place);
        }, why -> {});
        CompletableFuture<Object> answer = connection.ask(want.asking(names, secret, waitMs).toArray());
        try {
            for (;;) {
                long left = until == Clock.NEVER ? Clock.NEVER : until + timeoutMs - Clock.now();
                try {
                    return Connection.await(answer, Math.min(PROBE_MS, left));
                } catch (TimeoutException late) {
                    if (left <= PROBE_MS)
                        throw new ConclaveException(Kind.NO_SERVER, connection.server.text() + ": no answer");
                }
                // A server that lets a client wait may be right, or may hang. Does it still answer others?
                Connection.open(connection.server, credentials, name, timeoutMs).close("closed");
            }
        } catch (InterruptedException error) {
            daemon("conclave-withdraw", () -> withdraw(connection, answer, names, want)).start();
            throw error;
        } catch (ConclaveException error) {
            if (error.kind() == Kind.NO_SERVER)
                daemon("conclave-withdraw", () -> withdraw(connection, answer, names, want)).start();
            else
                keep(connection);
            throw error;
        }
    }

    /** A grant that was on its way is given back: it would block its name for as long as its time to live. */
    private void withdraw(Connection connection, CompletableFuture<Object> answer, Names names, Want want) {
        try {
            Object reply = connection.lastWords(answer);
            if (reply != null)
                giveBack(names, want, names.read(reply).fences());
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
