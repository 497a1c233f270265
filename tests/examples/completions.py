"""A server on this machine that speaks the chat completions of OpenAI, with prepared answers.

The arguments are the file for the port, and the file for the requests, one in each line.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

ANSWERS = [
    "I think it is in Oslo!",
    json.dumps({"say": "In Oslo.", "remember": ["The office is in Oslo."]}),
    json.dumps({"say": "Still in Oslo.", "remember": []}),
]


class Completions(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        allowed = self.path == "/v1/chat/completions" and self.headers["Authorization"] == "Bearer sk-example"
        with open(sys.argv[2], "ab") as requests:
            requests.write(json.dumps(json.loads(body)).encode() + b"\n")
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": ANSWERS.pop(0)}}
        answer = json.dumps({"object": "chat.completion", "choices": [choice]}).encode()
        self.send_response(200 if allowed else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Completions)
with open(sys.argv[1], "w") as port:
    port.write(str(server.server_port))
server.serve_forever()
