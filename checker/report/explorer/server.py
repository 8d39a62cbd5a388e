"""The explorer's server: serves a page and answers questions in JSON, on the loopback address only.

The server keeps nothing between requests. It answers only requests to its own address (`Host`). If a request names the
page that sends the request (`Origin`), the page must be the server's own. So a foreign page cannot read the model,
even if it uses a host name of its own that resolves to 127.0.0.1.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any, Final, cast

from isrcheck.checker.registry.loader import blaming
from isrcheck.checker.report.explorer.walk import Path, Unanswerable, Walking
from isrcheck.checker.report.pages.page import EXPLORER_FILES, asset
from isrcheck.checker.trace.trace_files import DamagedFile
from isrcheck.model.language.errors import EvaluationError, ModelError

LOOPBACK: Final = "127.0.0.1"
LARGEST_QUESTION: Final = 8 * 2**20
"""The limit on the size of a question, in bytes. The largest questions contain a trace file."""
PATIENCE: Final = 30.0
"""The seconds after which a silent connection is closed."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
TYPES: Final = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


class Refused(Exception):
    """A refused request, with its HTTP status and the reason in one line."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class Server(ThreadingHTTPServer):
    """The server of one model. If `port` is 0, the system chooses a free port."""

    daemon_threads = True

    def __init__(self, walking: Walking, port: int) -> None:
        super().__init__((LOOPBACK, port), Handler)
        self.walking = walking
        self.answering = Lock()
        self.questions: dict[str, Callable[[dict[str, Any]], Any]] = {
            "/api/model": lambda question: walking.about(),
            "/api/state": lambda question: walking.state(Path.of(question)),
            "/api/disabled": lambda question: walking.disabled(Path.of(question), question.get("instance")),
            "/api/violated": lambda question: walking.violated(Path.of(question), question.get("invariant")),
            "/api/evaluated": lambda question: walking.evaluated(Path.of(question), question.get("expression")),
            "/api/saved": lambda question: walking.saved(Path.of(question)),
            "/api/trace": lambda question: walking.loaded_traces(_content(question)),
        }

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Prints nothing. For example, this method is called if the browser closes a connection too early."""

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}/"

    @property
    def hosts(self) -> set[str]:
        """The values of `Host` that a browser may send to this server's address."""
        return {f"{LOOPBACK}:{self.server_port}", *([LOOPBACK] if self.server_port == 80 else [])}

    def answer(self, path: str, question: dict[str, Any]) -> Any:
        """Answers a question. Questions are answered one at a time, because a model may not be thread-safe."""
        with self.answering, blaming(self.walking.loaded.source_file):
            return self.questions[path](question)


def _content(question: dict[str, Any]) -> str:
    content = question.get("content")
    if not isinstance(content, str):
        raise Unanswerable("content is missing: the text of a trace file")
    return content


class Handler(BaseHTTPRequestHandler):
    """Handles the requests of one connection."""

    protocol_version = "HTTP/1.1"
    server_version = "isrcheck"
    sys_version = ""
    timeout = PATIENCE

    @property
    def own(self) -> Server:
        return cast(Server, self.server)

    def do_GET(self) -> None:
        self._answering(self._file)

    def do_POST(self) -> None:
        self._answering(self._question)

    def _answering(self, answer: Callable[[], tuple[str, bytes]]) -> None:
        try:
            self._require_own()
            kind, content = answer()
        except Refused as refused:
            self.close_connection = True  # the body of the request may be unread
            self._send(refused.status, "application/json", _as_json({"error": str(refused)}))
        else:
            self._send(HTTPStatus.OK, kind, content)

    def _require_own(self) -> None:
        """Refuses requests that another page may have sent."""
        if self.headers.get("Host") not in self.own.hosts or len(self.headers.get_all("Host", [])) != 1:
            raise Refused(HTTPStatus.FORBIDDEN, f"the address of this server is {self.own.url}; use exactly that")
        origins = self.headers.get_all("Origin", [])
        if any(origin not in {f"http://{host}" for host in self.own.hosts} for origin in origins):
            raise Refused(
                HTTPStatus.FORBIDDEN, "the request comes from another page; the explorer answers only its own page"
            )

    def _file(self) -> tuple[str, bytes]:
        name = "explore.html" if self.path == "/" else self.path.removeprefix("/")
        if name not in EXPLORER_FILES:
            raise Refused(HTTPStatus.NOT_FOUND, "page not found")
        return f"{TYPES[name.rpartition('.')[2]]}; charset=utf-8", asset(name).encode()

    def _question(self) -> tuple[str, bytes]:
        if self.path not in self.own.questions:
            raise Refused(HTTPStatus.NOT_FOUND, "unknown request")
        question = self._body()
        try:
            answer = self.own.answer(self.path, question)
        except (Unanswerable, DamagedFile, ModelError, EvaluationError) as error:
            raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, " ".join(str(error).split())) from None
        except Exception as error:
            words = " ".join(f"{type(error).__name__}: {error}".split())
            raise Refused(HTTPStatus.INTERNAL_SERVER_ERROR, f"this is a bug in isrcheck: {words}") from None
        return "application/json", _as_json(answer)

    def _body(self) -> dict[str, Any]:
        if self.headers.get_content_type() != "application/json":
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the content type must be application/json")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or "Transfer-Encoding" in self.headers:
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "the Content-Length header is missing")
        if len(length) > 12 or int(length) > LARGEST_QUESTION:
            limit = f"{LARGEST_QUESTION // 2**20} MiB"
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the request is larger than {limit}")
        try:
            question = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise Refused(HTTPStatus.BAD_REQUEST, "the request is not JSON") from None
        if not isinstance(question, dict):
            raise Refused(HTTPStatus.BAD_REQUEST, "the request must be a JSON object")
        return question

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Prints nothing, because the page shows the errors."""


def _as_json(data: Any) -> bytes:
    return json.dumps(data, separators=(",", ":")).encode()
