// SPDX-License-Identifier: MIT
package conformance;

import conclave.Client;
import conclave.ConclaveException;
import conclave.Hold;
import conclave.Inside;
import conclave.Leader;
import conclave.Member;
import conclave.Membership;
import conclave.Want;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.function.Supplier;

/** Does what the conformance suite says, a line of JSON each, by this client. */
public final class Driver {
    private static final Map<String, Hold> HOLDS = new ConcurrentHashMap<>();
    private static final Map<String, Thread> WAITS = new ConcurrentHashMap<>();
    private static final Map<String, Inside> INSIDE = new ConcurrentHashMap<>();
    private static final Map<String, Membership> MEMBERS = new ConcurrentHashMap<>();
    private static final Map<String, Staying> STAYS = new ConcurrentHashMap<>();
    private static volatile Client client;

    /** Whether it is held, and for a body: how it is to end, and its end. */
    private record Staying(Supplier<Boolean> held, CompletableFuture<Boolean> end, CompletableFuture<Boolean> ended) {}

    private Driver() {}

    private static synchronized void tell(Map<String, Object> what) {
        Map<String, Object> all = new HashMap<>(what);
        all.put("at", System.nanoTime() / 1e6);
        System.out.println(Json.write(all));
    }

    private static Map<String, Object> describe(Leader leader) {
        Map<String, Object> told = new HashMap<>();
        told.put("leader", leader == null ? null : leader.id());
        told.put("fence", leader == null ? 0 : leader.fence());
        told.put("value", leader == null ? null : leader.value());
        return told;
    }

    private static Map<String, Object> describe(List<Member> members) {
        String values = String.join(",", members.stream().map(member -> member.value() == null ? "" : member.value()).toList());
        return Map.of("values", values, "count", members.size());
    }

    private static void tellNews(Map<?, ?> step, Map<String, Object> news) {
        Map<String, Object> told = new HashMap<>(news);
        told.put("event", "news");
        told.put("watch", step.get("watch"));
        tell(told);
    }

    private static void tellLost(String hold) {
        tell(Map.of("event", "lost", "hold", hold));
    }

    private static Duration wait(Map<?, ?> step) {
        return step.get("wait") instanceof Long wait ? Duration.ofMillis(wait) : null;
    }

    private static int number(Map<?, ?> step, String key) {
        return ((Long) step.get(key)).intValue();
    }

    private static Want want(Map<?, ?> step, String hold) {
        Want want = new Want().onLost(lost -> tellLost(hold))
                .onPosition(place -> tell(Map.of("event", "position", "hold", hold, "position", place)))
                .onAskedBack((held, asker) -> tell(Map.of("event", "askback", "hold", hold, "asker", String.valueOf(asker))));
        if (wait(step) != null)
            want.waiting(wait(step));
        if (step.get("ttl") instanceof Long ttl)
            want.ttl(Duration.ofMillis(ttl));
        if (Boolean.TRUE.equals(step.get("shared")))
            want.shared();
        if (Boolean.TRUE.equals(step.get("reentrant")))
            want.reentrant();
        if (step.get("permits") instanceof Long permits)
            want.permits(permits.intValue());
        if (step.get("priority") instanceof Long priority)
            want.priority(priority.intValue());
        if (step.get("value") instanceof String value)
            want.value(value);
        return want;
    }

    private static Map<String, Object> acquire(Map<?, ?> step, String verb, String name, String label)
            throws ConclaveException, InterruptedException {
        Want want = want(step, label);
        Hold hold = step.get("names") instanceof List<?> names
                ? client.lockAll(names.stream().map(String::valueOf).toList(), want)
                : verb.equals("campaign") ? client.campaign(name, want) : client.lock(name, want);
        if (verb.equals("twice"))
            hold = client.lock(name, new Want().reentrant().waiting(Duration.ZERO));
        HOLDS.put(label, hold);
        STAYS.remove(label); // what had the label in an earlier script
        return Map.of("fence", hold.fence(), "fences", hold.fences());
    }

    /** A body of once(), which ends when the suite says so. */
    private static Map<String, Object> once(String name, long every, String label) throws Exception {
        CompletableFuture<Map<String, Object>> began = new CompletableFuture<>();
        CompletableFuture<Boolean> end = new CompletableFuture<>(), ended = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                ended.complete(client.once(name, Duration.ofMillis(every), run -> {
                    run.onLost(() -> tellLost(label));
                    STAYS.put(label, new Staying(run::isHeld, end, ended));
                    began.complete(Map.of("fence", run.fence()));
                    if (!end.get())
                        throw new IllegalStateException("given up");
                }));
                began.complete(Map.of());
            } catch (Exception error) {
                began.completeExceptionally(error);
                ended.completeExceptionally(error);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return result(began);
    }

    private static <T> T result(CompletableFuture<T> future) throws ConclaveException, InterruptedException {
        try {
            return future.get();
        } catch (ExecutionException error) {
            if (error.getCause() instanceof ConclaveException told)
                throw told;
            throw new IllegalStateException(error.getCause());
        }
    }

    private static Map<String, Object> follow(Map<?, ?> step) throws Exception {
        String verb = (String) step.get("do"), name = (String) step.get("name"), label = (String) step.get("hold");
        if (label != null && !verb.equals("cancel"))
            WAITS.put(label, Thread.currentThread());
        switch (verb) {
            case "lock", "campaign", "lock_all", "twice" -> {
                return acquire(step, verb, name, label);
            }
            case "held" -> {
                return Map.of("held", STAYS.containsKey(label) ? STAYS.get(label).held().get() : HOLDS.get(label).isHeld());
            }
            case "release" -> HOLDS.get(label).close();
            case "upgrade" -> {
                HOLDS.get(label).upgrade(wait(step));
                return Map.of("fence", HOLDS.get(label).fence());
            }
            case "downgrade" -> {
                HOLDS.get(label).downgrade();
                return Map.of("fence", HOLDS.get(label).fence());
            }
            case "cancel" -> WAITS.get(label).interrupt();
            case "leader" -> {
                return describe(client.leader(name));
            }
            case "observe" -> client.observe(name, leader -> tellNews(step, describe(leader)));
            case "watch" -> client.watch(name, leader -> tellNews(step, describe(leader)));
            case "watch_members" -> client.watchMembers(name, members -> tellNews(step, describe(members)));
            case "askback" -> {
                return Map.of("count", client.askBack(name));
            }
            case "waiters" -> {
                return Map.of("count", client.waiters(name).size());
            }
            case "close" -> client.close();
            default -> {
                return recipe(step, verb, name, label);
            }
        }
        return Map.of();
    }

    private static Map<String, Object> recipe(Map<?, ?> step, String verb, String name, String label) throws Exception {
        switch (verb) {
            case "sequence" -> {
                return Map.of("fence", client.sequence(name, number(step, "count"),
                        step.get("within") instanceof Long within ? Duration.ofMillis(within) : null));
            }
            case "barrier" -> {
                return Map.of("number", client.barrier(name, number(step, "parties"), wait(step)));
            }
            case "enter" -> {
                Inside inside = client.enterBarrier(name, number(step, "parties"), wait(step));
                inside.onLost(() -> tellLost(label));
                INSIDE.put(label, inside);
                STAYS.put(label, new Staying(inside::isInside, null, null));
                return Map.of("number", inside.number());
            }
            case "leave" -> {
                if (MEMBERS.containsKey(label))
                    MEMBERS.remove(label).close();
                else
                    INSIDE.get(label).leave(wait(step));
            }
            case "join" -> {
                Membership member = client.join(name, (String) step.get("value"),
                        number -> tell(Map.of("event", "number", "hold", label, "number", number)));
                MEMBERS.put(label, member);
                return Map.of("number", member.number());
            }
            case "members" -> {
                return describe(client.members(name));
            }
            case "latch_set" -> {
                return Map.of("number", client.latch(name).set(number(step, "count")) ? 1 : 0);
            }
            case "latch_down" -> {
                return Map.of("number", client.latch(name).down(number(step, "count")));
            }
            case "latch_wait" -> client.latch(name).await(wait(step));
            case "latch_left" -> {
                return Map.of("number", client.latch(name).left().orElse(-1));
            }
            case "latch_clear" -> client.latch(name).clear();
            case "once" -> {
                return once(name, (Long) step.get("every"), label);
            }
            case "finish" -> {
                STAYS.get(label).end().complete(true);
                result(STAYS.get(label).ended());
            }
            case "give_up" -> {
                STAYS.get(label).end().complete(false);
                STAYS.get(label).ended().exceptionally(error -> false).get();
            }
            case "last_run" -> {
                return Map.of("fence", client.lastRun(name).fence());
            }
            default -> throw new IllegalArgumentException(verb);
        }
        return Map.of();
    }

    private static void answer(Map<?, ?> step) {
        try {
            tell(Map.of("id", step.get("id"), "ok", follow(step)));
        } catch (ConclaveException error) {
            tell(Map.of("id", step.get("id"), "error", error.kind().toString(), "why", error.getMessage()));
        } catch (InterruptedException error) {
            tell(Map.of("id", step.get("id"), "error", "cancelled", "why", "interrupted"));
        } catch (Exception error) {
            tell(Map.of("id", step.get("id"), "error", "bug", "why", error.toString()));
        }
    }

    private static void open(Map<?, ?> step) {
        Map<?, ?> given = (Map<?, ?>) step.get("options");
        Client.Options options = new Client.Options().servers((String) given.get("servers")).key((String) given.get("key"))
                .timeout(Duration.ofMillis((Long) given.get("timeout")))
                .tls((String) given.get("tls_ca"), (String) given.get("tls_certificate"), (String) given.get("tls_private_key"));
        try {
            client = new Client(options);
            tell(Map.of("id", step.get("id"), "ok", Map.of("cannot", List.of())));
        } catch (ConclaveException error) {
            tell(Map.of("id", step.get("id"), "error", error.kind().toString(), "why", error.getMessage()));
        }
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Map<?, ?> step = Json.read(line);
            if ("open".equals(step.get("do"))) {
                open(step);
                continue;
            }
            Thread thread = new Thread(() -> answer(step));
            thread.setDaemon(true);
            thread.start();
        }
    }
}
