// SPDX-License-Identifier: MIT
package conclave;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Where a server is: the path of a Unix socket, or host and port. */
record Server(String text, String path, String host, int port, boolean secure) {
    private static final Pattern PLACE = Pattern.compile("(?:\\[([^\\]]+)\\]|([^:\\[\\]]+))(?::(\\d{1,5}))?");

    /** A list of host:port, [address]:port and paths of sockets; null: $CONCLAVE_SERVER. */
    static List<Server> readAll(String list) throws ConclaveException {
        String variable = System.getenv("CONCLAVE_SERVER");
        String text = list != null ? list : variable != null && !variable.isEmpty() ? variable : "127.0.0.1:7700";
        List<Server> servers = new ArrayList<>();
        for (String word : text.split("[,\\s]+"))
            if (!word.isEmpty())
                servers.add(read(word));
        if (servers.isEmpty())
            throw new ConclaveException(ConclaveException.Kind.INVALID, "the list of servers is empty");
        return servers;
    }

    private static Server read(String text) throws ConclaveException {
        boolean secure = text.startsWith("tls://");
        String place = secure ? text.substring("tls://".length()) : text;
        if (place.contains("/") && !secure)
            return new Server(text, place, null, 0, false);
        Matcher match = PLACE.matcher(place);
        int port = match.matches() && match.group(3) != null ? Integer.parseInt(match.group(3)) : 7700;
        if (!match.matches() || port > 65535)
            throw new ConclaveException(ConclaveException.Kind.INVALID, text + ": neither host:port nor the path of a socket");
        return new Server(text, null, match.group(1) != null ? match.group(1) : match.group(2), port, secure);
    }
}
