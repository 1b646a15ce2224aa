"""A payment service to try the agent with: pays every key once, keeps what it paid in memory, prints each payment.

Run it as ``python3 payments.py [port]``.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

TOKEN = os.environ.get("PAYMENTS_TOKEN", "demo")
paid: dict[str, str] = {}


class Payments(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return self.answer(401, {"error": "unauthorized"})
        key = self.headers["Idempotency-Key"]
        if key not in paid:
            paid[key] = f"P-{len(paid) + 1}"
            print(paid[key], json.dumps(json.loads(body)), flush=True)
        return self.answer(200, {"payment": paid[key]})

    def answer(self, status: int, value: dict[str, str]) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8099), Payments)
    print(f"paying on http://127.0.0.1:{server.server_port}/payments", flush=True)
    server.serve_forever()
