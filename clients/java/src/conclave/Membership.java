// SPDX-License-Identifier: MIT
package conclave;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;

/** A member of a group, until it is closed. If its connection ends it joins anew, with another number. */
public final class Membership extends Stay implements AutoCloseable {
    private final Object[] words;
    private final LongConsumer onChange;
    private volatile long number;
    private volatile boolean left;

    Membership(Client client, String name, String value, LongConsumer onChange) throws ConclaveException, InterruptedException {
        super(client, name);
        this.onChange = onChange;
        List<Object> joining = new ArrayList<>(List.of("MEMBERS", name, "JOIN"));
        if (value != null)
            joining.addAll(List.of("VALUE", value));
        words = joining.toArray();
        join();
    }

    private void join() throws ConclaveException, InterruptedException {
        Client.Asked joined = client.ask(client.attempts(), words);
        number = Client.number(joined.reply());
        begin(joined.connection());
    }

    /** 0: it is no member at the moment. */
    public long number() {
        return number;
    }

    @Override
    void lost(String why) {
        number = 0;
        Client.daemon("conclave-rejoin", this::rejoin).start();
    }

    private void rejoin() {
        onChange.accept(0);
        try {
            while (!left && !client.isClosed()) {
                try {
                    join();
                    if (left)
                        abandon();
                    else
                        onChange.accept(number);
                    return;
                } catch (ConclaveException error) {
                    client.giveUp();
                    Thread.sleep(Client.PAUSE_MS);
                }
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    /** Others do not see it any more when this returns. If no server answers, they do not when they notice. */
    @Override
    public void close() {
        left = true;
        number = 0;
        Connection connection = end();
        if (connection == null)
            return;
        try {
            connection.askWithin(client.timeoutMs, "MEMBERS", name, "LEAVE");
        } catch (ConclaveException error) {
            connection.close("left");
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
        connection.close("left");
    }

    @Override
    void abandon() {
        close();
    }
}
