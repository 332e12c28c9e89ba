// SPDX-License-Identifier: MIT
package conclave;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/** The bytes of a connection, both ways: TCP, TLS, a Unix socket, or a process that speaks TLS by key. */
interface Line {
    InputStream in() throws IOException;

    OutputStream out() throws IOException;

    /** Nothing more will come; what the other end says can still be read. */
    void shutdownOutput() throws IOException;

    void close();

    static Line dial(Server server, Credentials with, int timeoutMs) throws IOException {
        if (server.path() != null)
            return new Unix(SocketChannel.open(StandardProtocolFamily.UNIX), server.path());
        if (server.secure() && with == null)
            throw new IOException("expected a key or certificates");
        if (with != null && with.key() != null)
            return new Tunnel(new ProcessBuilder("conclave", "tunnel", "--server", server.text(), "--key", with.key())
                    .redirectError(ProcessBuilder.Redirect.DISCARD).start());
        Socket socket = new Socket();
        try {
            socket.setTcpNoDelay(true);
            socket.setKeepAlive(true);
            socket.connect(new InetSocketAddress(server.host(), server.port()), timeoutMs);
            return new Tcp(with == null ? socket : secure(socket, server, with, timeoutMs), socket);
        } catch (IOException | RuntimeException error) {
            socket.close();
            throw error;
        }
    }

    private static Socket secure(Socket socket, Server server, Credentials with, int timeoutMs) throws IOException {
        SSLSocket secured = (SSLSocket) with.context().getSocketFactory().createSocket(socket, server.host(), server.port(), true);
        SSLParameters parameters = secured.getSSLParameters();
        parameters.setProtocols(new String[] {"TLSv1.3"});
        parameters.setEndpointIdentificationAlgorithm("HTTPS"); // the certificate is for this host
        secured.setSSLParameters(parameters);
        socket.setSoTimeout(timeoutMs);
        secured.startHandshake();
        socket.setSoTimeout(0);
        return secured;
    }

    /** A socket, and the one below it that carries TLS. */
    record Tcp(Socket socket, Socket below) implements Line {
        @Override
        public InputStream in() throws IOException {
            return socket.getInputStream();
        }

        @Override
        public OutputStream out() throws IOException {
            return socket.getOutputStream();
        }

        @Override
        public void shutdownOutput() throws IOException {
            below.shutdownOutput();
        }

        @Override
        public void close() {
            try {
                below.close();
            } catch (IOException error) {
                return; // it is gone one way or the other
            }
        }
    }

    /** A channel of a Unix socket. Its own streams would let a reader keep a writer waiting. */
    final class Unix implements Line {
        private final SocketChannel channel;

        Unix(SocketChannel channel, String path) throws IOException {
            this.channel = channel;
            try {
                channel.connect(UnixDomainSocketAddress.of(path));
            } catch (IOException | RuntimeException error) {
                channel.close();
                throw error;
            }
        }

        @Override
        public InputStream in() {
            return new InputStream() {
                @Override
                public int read() throws IOException {
                    byte[] one = new byte[1];
                    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
                }

                @Override
                public int read(byte[] bytes, int offset, int length) throws IOException {
                    return channel.read(ByteBuffer.wrap(bytes, offset, length));
                }
            };
        }

        @Override
        public OutputStream out() {
            return new OutputStream() {
                @Override
                public void write(int one) throws IOException {
                    write(new byte[] {(byte) one}, 0, 1);
                }

                @Override
                public void write(byte[] bytes, int offset, int length) throws IOException {
                    for (ByteBuffer left = ByteBuffer.wrap(bytes, offset, length); left.hasRemaining();)
                        channel.write(left);
                }
            };
        }

        @Override
        public void shutdownOutput() throws IOException {
            channel.shutdownOutput();
        }

        @Override
        public void close() {
            try {
                channel.close();
            } catch (IOException error) {
                return; // it is gone one way or the other
            }
        }
    }

    /** `conclave tunnel` speaks TLS by key, which Java's library does not know. */
    record Tunnel(Process process) implements Line {
        @Override
        public InputStream in() {
            return process.getInputStream();
        }

        @Override
        public OutputStream out() {
            return process.getOutputStream();
        }

        @Override
        public void shutdownOutput() throws IOException {
            process.getOutputStream().close();
        }

        @Override
        public void close() {
            process.destroyForcibly();
        }
    }
}
