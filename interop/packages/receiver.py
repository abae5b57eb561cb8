"""A platform that calls function.py with each request."""

import http.server

import function


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_response(function.resume(self.headers, self.rfile.read(int(self.headers["Content-Length"]))))
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
