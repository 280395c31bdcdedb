"""The server of the review page: for one person, on this machine.

It listens on the loopback address alone. Whoever asks has to know the token, which is new in each run. A page of
somebody else's in the same browser can neither read (another origin) nor write (its Origin is checked, and the token
is in a header that it cannot know), nor come in by another name for this machine (Host is checked). Nothing is loaded
from anywhere: the page is one document.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from proctor.report.templating import render
from proctor.review.desk import Desk, Json, Refused

HOST = "127.0.0.1"
LARGEST = 100_000  # bytes of what the page may send
TOKEN = "X-Review-Token"


class ReviewServer(ThreadingHTTPServer):
    """Serves a desk until it is shut down.

    Args:
        desk: what is reviewed.
        port: to listen on; 0 takes a free one.
        title: of the page.
    """

    daemon_threads = True

    def __init__(self, desk: Desk, port: int, title: str) -> None:
        super().__init__((HOST, port), Handler)
        self.desk = desk
        self.title = title
        self.token = secrets.token_urlsafe(24)

    @property
    def address(self) -> str:
        """The address to open, with the token in it."""
        return f"http://{HOST}:{self.server_port}/?token={self.token}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names under which this server may be asked for."""
        return f"{HOST}:{self.server_port}", f"localhost:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """Answers the page's requests."""

    server: ReviewServer
    server_version = "review"
    sys_version = ""
    timeout = 60  # seconds that a connection may say nothing

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        if not self._is_for_us():
            return
        if asked.path != "/":
            self._say(HTTPStatus.NOT_FOUND, "there is nothing here")
            return
        given = parse_qs(asked.query).get("token", [""])[0]
        if not self._knows(given):
            return
        nonce = secrets.token_urlsafe(16)
        page = render("review.html", title=self.server.title, nonce=nonce).encode("utf-8", "backslashreplace")
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'; connect-src 'self'"
        self.send_header(
            "Content-Security-Policy", f"{policy}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        self._end(page)

    def do_POST(self) -> None:
        if not self._is_for_us() or not self._knows(self.headers.get(TOKEN, "")):
            return
        if self.headers.get("Origin") not in [f"http://{host}" for host in self.server.hosts]:
            self._say(HTTPStatus.FORBIDDEN, "this was sent by another page")
            return
        desk = self.server.desk
        actions: dict[str, Callable[..., Json]] = {
            "/overview": desk.overview,
            "/answer": desk.answer,
            "/correct": desk.correct,
            "/correct-group": desk.correct_group,
        }
        action = actions.get(self.path)
        if action is None:
            self._say(HTTPStatus.NOT_FOUND, "there is nothing here")
            return
        try:
            size = int(self.headers.get("Content-Length", ""))
            if not 0 <= size <= LARGEST:
                raise ValueError
            sent = json.loads(self.rfile.read(size))
            arguments = {str(name): value for name, value in sent.items()}
            if not all(isinstance(value, int if name == "at" else str) for name, value in arguments.items()):
                raise ValueError
        except (ValueError, AttributeError, RecursionError):
            self._say(HTTPStatus.BAD_REQUEST, "this is not what the page sends")
            return
        try:
            self._json(HTTPStatus.OK, action(**arguments))
        except TypeError:
            self._say(HTTPStatus.BAD_REQUEST, "this is not what the page sends")
        except (Refused, OSError, ValueError) as error:
            self._say(HTTPStatus.CONFLICT, str(error))

    # ---- who is asking

    def _is_for_us(self) -> bool:
        if self.headers.get("Host") in self.server.hosts:
            return True
        self._say(HTTPStatus.FORBIDDEN, "this server answers to 127.0.0.1 and localhost alone")
        return False

    def _knows(self, token: str) -> bool:
        if hmac.compare_digest(token.encode("utf-8", "replace"), self.server.token.encode()):
            return True
        self._say(HTTPStatus.FORBIDDEN, "open the address that the terminal shows: the token in it is missing here")
        return False

    # ---- answers

    def _say(self, status: HTTPStatus, sentence: str) -> None:
        self._json(status, {"error": sentence})

    def _json(self, status: HTTPStatus, value: Json) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self._end(json.dumps(value).encode())

    def _end(self, body: bytes) -> None:
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing: an address holds the token."""
