// SPDX-License-Identifier: MIT
package conclave;

/** What can go wrong. Each kind is the same word in every client of Conclave. */
public class ConclaveException extends Exception {
    private static final long serialVersionUID = 1;

    /** The kinds of errors. */
    public enum Kind {
        /** Somebody else held it for as long as the caller wanted to wait. */
        TIMEOUT("timeout"),
        /** It is not held, or not any more. */
        LOST("lost"),
        /** No server can be reached. */
        NO_SERVER("no-server"),
        /** The servers have no majority. */
        NO_QUORUM("no-quorum"),
        /** The server does not allow it. */
        DENIED("denied"),
        /** The server answered with another error. */
        REFUSED("refused"),
        /** An argument makes no sense. */
        INVALID("invalid");

        private final String word;

        Kind(String word) {
            this.word = word;
        }

        @Override
        public String toString() {
            return word;
        }
    }

    private final Kind kind;

    ConclaveException(Kind kind, String message) {
        super(message);
        this.kind = kind;
    }

    public Kind kind() {
        return kind;
    }

    /** The error that a server's line means. */
    static ConclaveException ofReply(String line) {
        Kind kind = switch (line.split(" ", 2)[0]) {
            case "NOQUORUM", "LOADING" -> Kind.NO_QUORUM;
            case "NOAUTH", "WRONGPASS", "NOPERM" -> Kind.DENIED;
            case "LOST" -> Kind.LOST;
            default -> Kind.REFUSED;
        };
        if (kind == Kind.LOST)
            return new LockLostException(line);
        return new ConclaveException(kind, line);
    }
}
