# SPDX-License-Identifier: MIT
"""A service over HTTP that remembers what was written last under each path. It prints its port."""

import http.server


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    values = {}

    def do_PUT(self):  # pylint: disable=invalid-name
        self.values[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def do_GET(self):  # pylint: disable=invalid-name
        body = self.values.get(self.path, b"0")
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Service(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        """A writer was ended in the middle of a request."""


if __name__ == "__main__":
    service = Service(("127.0.0.1", 0), Handler)
    print(service.server_address[1], flush=True)
    service.serve_forever()
