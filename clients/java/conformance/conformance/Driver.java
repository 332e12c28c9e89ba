// SPDX-License-Identifier: MIT
package conformance;

import conclave.Client;
import conclave.ConclaveException;
import conclave.Hold;
import conclave.Leader;
import conclave.Want;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Does what the conformance suite says, a line of JSON each, by this client. */
public final class Driver {
    private static final Map<String, Hold> HOLDS = new ConcurrentHashMap<>();
    private static final Map<String, Thread> WAITS = new ConcurrentHashMap<>();
    private static volatile Client client;

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

    private static void tellNews(Map<?, ?> step, Leader leader) {
        Map<String, Object> told = describe(leader);
        told.put("event", "leader");
        told.put("watch", step.get("watch"));
        tell(told);
    }

    private static Want want(Map<?, ?> step, String hold) {
        Want want = new Want().onPosition(place -> tell(Map.of("event", "position", "hold", hold, "position", place))).onLost(lost -> tell(Map.of("event", "lost", "hold", hold)))
                .onAskedBack((held, asker) -> tell(Map.of("event", "askback", "hold", hold, "asker", String.valueOf(asker))));
        if (step.get("wait") instanceof Long wait)
            want.waiting(Duration.ofMillis(wait));
        if (step.get("ttl") instanceof Long ttl)
            want.ttl(Duration.ofMillis(ttl));
        if (Boolean.TRUE.equals(step.get("shared")))
            want.shared();
        if (step.get("permits") instanceof Long permits)
            want.permits(permits.intValue());
        if (step.get("priority") instanceof Long priority)
            want.priority(priority.intValue());
        if (step.get("value") instanceof String value)
            want.value(value);
        return want;
    }

    private static Map<String, Object> follow(Map<?, ?> step) throws ConclaveException, InterruptedException {
        String verb = (String) step.get("do"), name = (String) step.get("name"), label = (String) step.get("hold");
        switch (verb) {
            case "lock", "campaign", "lock_all" -> {
                WAITS.put(label, Thread.currentThread());
                Want want = want(step, label);
                Hold hold = step.get("names") instanceof List<?> names
                        ? client.lockAll(names.stream().map(String::valueOf).toList(), want)
                        : verb.equals("lock") ? client.lock(name, want) : client.campaign(name, want);
                HOLDS.put(label, hold);
                return Map.of("fence", hold.fence(), "fences", hold.fences());
            }
            case "sequence" -> {
                return Map.of("fence", client.sequence(name, ((Long) step.get("count")).intValue()));
            }
            case "held" -> {
                return Map.of("held", HOLDS.get(label).isHeld());
            }
            case "release" -> HOLDS.get(label).close();
            case "cancel" -> WAITS.get(label).interrupt();
            case "leader" -> {
                return describe(client.leader(name));
            }
            case "observe" -> client.observe(name, leader -> tellNews(step, leader));
            case "watch" -> client.watch(name, leader -> tellNews(step, leader));
            case "askback" -> {
                return Map.of("count", client.execute("ASKBACK", name));
            }
            case "close" -> client.close();
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
        } catch (RuntimeException error) {
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
