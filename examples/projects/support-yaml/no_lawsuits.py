"""The guardrail of the support, as an endpoint: ``python no_lawsuits.py [port]``."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def judge(text: str) -> dict[str, str]:
    """Return the verdict on a question."""
    if "lawyer" in text.lower():
        return {"verdict": "refuse", "sentence": "Please write to legal@example.com."}
    return {"verdict": "allow"}


class Endpoint(BaseHTTPRequestHandler):
    """The endpoint that answers Baton's requests."""

    def do_POST(self) -> None:
        """Answer with the verdict on the text of the request."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(judge(request["text"])).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8766
    ThreadingHTTPServer(("127.0.0.1", port), Endpoint).serve_forever()
