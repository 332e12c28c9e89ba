// SPDX-License-Identifier: MIT
package conclave;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * Speaks RESP3. Answers come in the order of the questions, pushes in between.
 *
 * <p>A library for Redis is no help here. It reconnects and sends a command again by itself, so that a LOCK would be asked
 * for twice, and hides for how long a connection was gone. A holder has to know both, at once.
 */
final class Connection {
    private static final int LAST_WORDS_MS = 500;

    final Server server;
    private final Line line;
    private final Deque<CompletableFuture<Object>> questions = new ArrayDeque<>();
    private String closed; // why
    private volatile Consumer<List<Object>> onPush = push -> {};
    private volatile Consumer<String> onClose = why -> {};

    private Connection(Server server, Line line) {
        this.server = server;
        this.line = line;
        Thread reader = new Thread(this::read, "conclave-connection");
        reader.setDaemon(true);
        reader.start();
    }

    /** Says HELLO and waits for the answer: a process that hangs accepts connections, but does not answer. */
    static Connection open(Server server, Credentials with, String name, long timeoutMs)
            throws ConclaveException, InterruptedException {
        Connection connection = null;
        try {
            connection = new Connection(server, Line.dial(server, with, (int) timeoutMs));
            connection.askWithin(timeoutMs, "HELLO", "3", "SETNAME", name);
            return connection;
        } catch (IOException | ConclaveException | InterruptedException error) {
            if (connection != null)
                connection.close("no answer");
            if (error instanceof IOException)
                throw new ConclaveException(ConclaveException.Kind.NO_SERVER, server.text() + ": " + error.getMessage());
            if (error instanceof ConclaveException told)
                throw told;
            throw (InterruptedException) error;
        }
    }

    void listen(Consumer<List<Object>> push, Consumer<String> close) {
        onPush = push;
        onClose = close;
    }

    // ---- RESP ----

    private static byte[] encode(Object... words) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        bytes.writeBytes(("*" + words.length + "\r\n").getBytes(StandardCharsets.UTF_8));
        for (Object word : words) {
            byte[] part = word.toString().getBytes(StandardCharsets.UTF_8);
            bytes.writeBytes(("$" + part.length + "\r\n").getBytes(StandardCharsets.UTF_8));
            bytes.writeBytes(part);
            bytes.writeBytes("\r\n".getBytes(StandardCharsets.UTF_8));
        }
        return bytes.toByteArray();
    }

    /** The line without its end, and without its first byte, which is the kind. */
    private static String rest(InputStream in) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (int at = in.read(); at != '\n'; at = in.read()) {
            if (at < 0)
                throw new EOFException("the server closed the connection");
            bytes.write(at);
        }
        String text = bytes.toString(StandardCharsets.UTF_8);
        return text.endsWith("\r") ? text.substring(0, text.length() - 1) : text;
    }

    /** A value of that kind. An error is a value, too. */
    private static Object decode(int kind, InputStream in) throws IOException {
        String rest = rest(in);
        try {
            switch (kind) {
                case '+': return rest;
                case '-': return ConclaveException.ofReply(rest);
                case ':': return Long.parseLong(rest);
                case ',': return Double.parseDouble(rest);
                case '#': return rest.equals("t");
                case '_': return null;
                case '$', '=', '*', '>', '~', '%': break;
                default: throw new IOException("no RESP: " + (char) kind + rest);
            }
            int count = Integer.parseInt(rest);
            if (count < 0)
                return null;
            if (kind == '$' || kind == '=') {
                byte[] bytes = in.readNBytes(count + 2);
                if (bytes.length < count + 2)
                    throw new EOFException("the server closed the connection");
                return new String(bytes, 0, count, StandardCharsets.UTF_8);
            }
            List<Object> items = new ArrayList<>();
            Map<Object, Object> map = new LinkedHashMap<>();
            for (int i = 0; i < count; i++) {
                Object item = decode(in.read(), in);
                items.add(item);
                if (kind == '%')
                    map.put(item, decode(in.read(), in));
            }
            return kind == '%' ? map : items;
        } catch (NumberFormatException error) {
            throw new IOException("no RESP: " + (char) kind + rest);
        }
    }

    @SuppressWarnings("unchecked")
    private void read() {
        try {
            InputStream in = new BufferedInputStream(line.in());
            for (int kind = in.read(); kind >= 0; kind = in.read()) {
                Object value = decode(kind, in);
                if (kind == '>') {
                    onPush.accept((List<Object>) value);
                    continue;
                }
                CompletableFuture<Object> question;
                synchronized (this) {
                    question = questions.poll();
                }
                if (question == null)
                    throw new IOException("the server answered what was not asked");
                if (value instanceof ConclaveException told)
                    question.completeExceptionally(told);
                else
                    question.complete(value);
            }
            close("the server closed the connection");
        } catch (IOException error) {
            close(error.getMessage());
        }
    }

    // ---- questions ----

    CompletableFuture<Object> ask(Object... words) {
        CompletableFuture<Object> question = new CompletableFuture<>();
        String failed = null;
        synchronized (this) {
            if (closed == null) {
                questions.add(question);
                try {
                    line.out().write(encode(words));
                    line.out().flush();
                } catch (IOException error) {
                    failed = error.getMessage();
                }
            } else {
                question.completeExceptionally(broken(closed));
            }
        }
        if (failed != null)
            close(failed);
        return question;
    }

    private ConclaveException broken(String why) {
        return new ConclaveException(ConclaveException.Kind.NO_SERVER, server.text() + ": " + why);
    }

    /** Waits for so long at most. Later the connection is of no use, since an answer is still to come. */
    Object askWithin(long ms, Object... words) throws ConclaveException, InterruptedException {
        try {
            return await(ask(words), ms);
        } catch (TimeoutException late) {
            close("no answer");
            throw broken("no answer");
        }
    }

    static Object await(CompletableFuture<Object> answer, long ms)
            throws ConclaveException, InterruptedException, TimeoutException {
        try {
            return answer.get(Math.max(0, ms), TimeUnit.MILLISECONDS);
        } catch (ExecutionException error) {
            if (error.getCause() instanceof ConclaveException told)
                throw told;
            throw new IllegalStateException(error);
        }
    }

    /** Tells the server that nothing more will come: an answer that is on its way is not lost. Null: there is none. */
    Object lastWords(CompletableFuture<Object> answer) {
        try {
            line.shutdownOutput();
            return await(answer, LAST_WORDS_MS);
        } catch (IOException | ConclaveException | TimeoutException error) {
            return null;
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            return null;
        } finally {
            close("given up");
        }
    }

    synchronized boolean isClosed() {
        return closed != null;
    }

    synchronized boolean isIdle() {
        return closed == null && questions.isEmpty();
    }

    void close(String why) {
        List<CompletableFuture<Object>> open;
        synchronized (this) {
            if (closed != null)
                return;
            closed = why == null ? "the connection broke" : why;
            open = new ArrayList<>(questions);
            questions.clear();
        }
        line.close();
        for (CompletableFuture<Object> question : open)
            question.completeExceptionally(broken(closed));
        onClose.accept(closed);
    }
}
