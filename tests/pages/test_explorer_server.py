"""The explorer's server and command without a browser: allowed requests, refusals, and the end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from isrcheck.checker.report.explorer.server import LARGEST_QUESTION, Server
from isrcheck.checker.report.explorer.walk import LONGEST_PATH
from tests.cli.running import counter, mistaken, run
from tests.pages.serving import serving
from tests.scenarios.shipped import FOLDERS

ROOT = Path(__file__).parents[2]
SETTINGS = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}
JSON = {"Content-Type": "application/json"}
SEVERAL = '''\
from isrcheck.model.language import Model, action, initial, number


class Several(Model):
    """A number that begins anywhere above zero."""

    def variables(self):
        return {"value": number(0, 3)}

    @initial(value=number(1, 3))
    def initial(self, s, value):
        s.value = value

    @action(actor="hand")
    def clear(self, s):
        """Back to zero."""
        s.require(s.value > 0)
        s.value = 0
'''


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("kip-101", **SETTINGS) as found:
        yield found


def ask(
    server: Server, path: str, body: str | bytes = "{}", method: str = "POST", **headers: str
) -> tuple[int, dict[str, str], Any]:
    """The status, the headers, and the JSON or the text of an answer."""
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    try:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body if method == "POST" else None, {**JSON, **names})
        answer = connection.getresponse()
        text = answer.read().decode()
        kind = answer.getheader("Content-Type", "")
        return answer.status, dict(answer.getheaders()), json.loads(text) if kind == "application/json" else text
    finally:
        connection.close()


def state(server: Server, *path: int, **more: Any) -> Any:
    status, _, answer = ask(server, "/api/state", json.dumps({"path": path, **more}))
    assert status == 200, answer
    return answer


def refusal(server: Server, path: str, question: Any) -> str:
    status, _, answer = ask(server, path, json.dumps(question))
    assert status == 422
    assert "\n" not in answer["error"]
    return str(answer["error"])


# --- who is answered ------------------------------------------------------------------------------------------------


def test_it_listens_on_loopback_alone(server: Server) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize("host", ["example.org", "localhost", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.example.org", ""])
@pytest.mark.parametrize("path", ["/", "/explore.js", "/api/model"])
def test_a_foreign_host_is_refused(server: Server, host: str, path: str) -> None:
    for name in (host, f"{host}:{server.server_port}x"):
        status, _, answer = ask(server, path, method="POST" if "api" in path else "GET", Host=name)
        assert status == 403
        assert "kip" not in str(answer)


@pytest.mark.parametrize(
    "origin", ["http://example.org", "null", "https://127.0.0.1", "http://localhost", "http://127.0.0.1"]
)
def test_a_foreign_origin_is_refused(server: Server, origin: str) -> None:
    assert ask(server, "/api/model", Origin=origin)[0] == 403
    assert ask(server, "/api/model", Origin=f"{origin}:1")[0] == 403


def test_its_own_page_is_answered_and_nobody_else_may_read(server: Server) -> None:
    status, headers, answer = ask(server, "/api/model", Origin=server.url.rstrip("/"))
    assert (status, answer["model"]) == (200, "kip-101")
    assert not [name for name in headers if name.lower().startswith("access-control")]
    for path in ("/", "/page.css"):
        _, headers, _ = ask(server, path, method="GET")
        assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self';")
        assert (headers["X-Content-Type-Options"], headers["Cache-Control"]) == ("nosniff", "no-store")


def test_a_second_host_is_refused(server: Server) -> None:
    own = f"127.0.0.1:{server.server_port}"
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=60) as connection:
        connection.sendall(f"GET / HTTP/1.1\r\nHost: {own}\r\nHost: example.org\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 403")


def test_only_what_ships_is_served(server: Server) -> None:
    for path in ("/../server.py", "/report.html", "/etc/passwd", "/%2e%2e/server.py", "/explore.html?x"):
        assert ask(server, path, method="GET")[0] == 404
    assert ask(server, "/api/model", method="GET")[0] == 404
    assert ask(server, "/api/anything")[0] == 404
    assert ask(server, "/api/model", method="OPTIONS")[0] == 501


def test_questions_are_json_of_a_bounded_size(server: Server) -> None:
    assert ask(server, "/api/state", "{}", Content_Type="text/plain")[0] == 415
    assert ask(server, "/api/state", "{}", Content_Type="application/x-www-form-urlencoded")[0] == 415
    for body in ("", "{", "[]", "1", "[" * 100_000, b"\xff"):
        assert ask(server, "/api/state", body)[0] == 400
    assert ask(server, "/api/state", "{}", Content_Length=str(LARGEST_QUESTION + 1))[0] == 413
    assert ask(server, "/api/state", "{}", Content_Length="9" * 5000)[0] == 413
    assert ask(server, "/api/state", "{}", Content_Length="-1")[0] == 411
    assert ask(server, "/api/state", "{}", Transfer_Encoding="chunked")[0] == 411


# --- what it answers ------------------------------------------------------------------------------------------------


def test_what_is_no_path_is_refused_in_one_line(server: Server) -> None:
    a_path = "a path must be the number of an initial state and a list of action instance numbers"
    for path in (None, "1", [None], [-1], [1.0], [True], {"0": 1}):
        assert refusal(server, "/api/state", {"path": path}) == a_path
    assert refusal(server, "/api/state", {"path": [0] * (LONGEST_PATH + 1)}).startswith("the path has 501 steps")
    assert refusal(server, "/api/state", {"path": [10**30]}).startswith("there is no instance 1000")
    assert refusal(server, "/api/state", {"initial": 1}).startswith(
        "there is no initial state 1; the model has 1 initial"
    )
    assert refusal(server, "/api/state", {"path": [], "at": 1}).startswith("the path has 0 steps")
    assert refusal(server, "/api/disabled", {"instance": "x"}) == "give the number of an action instance"
    assert refusal(server, "/api/violated", {"invariant": "x"}) == "give the name of an invariant"
    assert refusal(server, "/api/trace", {}) == "content is missing: the text of a trace file"
    assert refusal(server, "/api/trace", {"content": "\ud800"}) == "it is not UTF-8 text"


def test_a_step_that_is_not_possible_says_which(server: Server) -> None:
    (about,) = [ask(server, "/api/model")[2]]
    texts = [instance["text"] for instance in about["instances"]]
    number = texts.index("leader-write(replica=0)")
    assert refusal(server, "/api/state", {"path": [number]}) == "step 1: leader-write(replica=0) is not possible there"


def test_walking_agrees_with_the_search(server: Server) -> None:
    """All states within three steps, found by requests to the server, have the counts of an engine's levels."""
    from isrcheck import check
    from isrcheck.checker.results.exploration import Limits

    levels = check("kip-101", SETTINGS, keep_going=True, limits=Limits(memory=3 << 30)).levels
    frontier: dict[str, tuple[int, ...]] = {"": ()}
    seen: set[str] = set()
    for count in levels[:4]:
        found: dict[str, tuple[int, ...]] = {}
        for path in frontier.values():
            answer = state(server, *path)
            texts: dict[str, str] = {}
            for step in answer["story"]["steps"]:
                texts |= step["texts"]
            key = json.dumps(texts, sort_keys=True)
            if key not in seen:
                seen.add(key)
                found[key] = path
        assert len(found) == count
        frontier = {f"{path}{n}": (*path, n) for path in found.values() for n in instances(state(server, *path))}


def test_what_an_instance_would_change_is_what_it_changes(server: Server) -> None:
    walked: tuple[int, ...] = ()
    for _ in range(6):
        here = state(server, *walked)
        for choice in here["choices"]:
            reported = state(server, *walked, choice["instance"])["story"]
            changed = {reported["rows"][int(row)]["path"]: text for row, text in reported["steps"][-1]["texts"].items()}
            assert {path: new for path, _, new in choice["changes"]} == changed
            assert choice["sentence"] == reported["steps"][-1]["sentence"]
        walked = (*walked, *instances(here)[-1:])


def instances(answer: Any) -> list[int]:
    return [choice["instance"] for choice in answer["choices"]]


def test_an_expression_has_a_value_at_each_state_of_a_path(server: Server) -> None:
    (first, *_) = instances(state(server))
    question = {"path": [first], "expression": "quorum.leader"}
    assert ask(server, "/api/evaluated", json.dumps(question))[2] == {"values": ["none", "0"]}
    for text, words in (
        ("quorum.leder", "'quorum.leder', column 1: quorum has no field 'leder'; did you mean leader? "),
        ("__import__('os')", "column 1: there is no '__import__'; "),
        (" ", "write an expression, such as s.quorum.isr"),
        (3, "write an expression, such as s.quorum.isr"),
    ):
        assert words in refusal(server, "/api/evaluated", {"path": [], "expression": text})


def test_a_model_may_begin_in_several_states(tmp_path: Path) -> None:
    (tmp_path / "several.py").write_text(SEVERAL)
    with serving(tmp_path / "several.py") as server:
        assert ask(server, "/api/model")[2]["initial"] == 3
        assert [state(server, initial=i)["story"]["steps"][0]["texts"]["0"] for i in range(3)] == ["1", "2", "3"]
        assert state(server, 0, initial=2)["story"]["steps"][1]["texts"] == {"0": "0"}


def test_what_has_no_meaning_is_said_and_cannot_be_taken(tmp_path: Path) -> None:
    body = '"""Adds one, for ever."""\ns.require(s.x < 4)\ns.x = s.x + 1'
    with serving(mistaken(tmp_path, body)) as server:
        (choice,) = state(server, 0, 0, 0)["choices"]
        assert choice["error"].startswith("it is undefined here: mine.py:")
        assert "undefined" in refusal(server, "/api/state", {"path": [0, 0, 0, 0]})


def test_an_invariant_without_its_ghost_is_not_asked(server: Server) -> None:
    with serving("v3") as other:
        about = ask(other, "/api/model")[2]
        assert "set truncation to" in about["unasked"]["epoch-cache-describes-the-log"]
        assert "epoch-cache-describes-the-log" not in state(other)["invariants"]


def test_a_recorded_itf_trace_is_a_path_to_the_violation() -> None:
    folder = FOLDERS["kip-101"]
    settings = tomllib.loads((folder / "scenario.toml").read_text())["settings"]
    with serving("kip-101", **settings) as server:
        content = (folder / "trace.itf.json").read_text()
        (trace,) = ask(server, "/api/trace", json.dumps({"content": content}))[2]["traces"]
        assert (len(trace["path"]), trace["at"], trace["refused"]) == (11, 0, None)
        here = [state(server, *trace["path"], at=at)["invariants"]["weak-isr"] for at in range(12)]
        assert here == [True] * 11 + [False]
        why = ask(server, "/api/violated", json.dumps({"path": trace["path"], "invariant": "weak-isr"}))[2]
        assert why["choice"] == [["leader", "0"], ["member", "1"], ["offset", "0"]]
        assert ["log[1]", "[]"] in why["reads"]


def test_a_damaged_trace_is_one_line(server: Server) -> None:
    for content in ("", "{", "[]", '{"format": 1, "invariants": {}}', '{"vars": [], "states": [{}]}', "[" * 10_000):
        assert refusal(server, "/api/trace", {"content": content})
    other = {"format": 1, "model": "kip-101", "settings": {**SETTINGS, "replicas": 3}, "invariants": {}}
    words = refusal(server, "/api/trace", {"content": json.dumps(other)})
    assert words == "the file has other settings; start the explorer with -s replicas=3"


# --- the command ----------------------------------------------------------------------------------------------------


def test_ctrl_c_ends_it_with_success(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "isrcheck", "explore", str(counter(tmp_path)), "--no-browser"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=environment
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith(f"serving {tmp_path / 'counter.py'} at http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")


def test_mistakes_on_the_command_line_are_one_line(server: Server, tmp_path: Path) -> None:
    taken = run("explore", "kip-101", "--no-browser", "--port", str(server.server_port))
    assert taken.code == 153
    assert taken.err.startswith(f"isrcheck: cannot listen on 127.0.0.1:{server.server_port}: ")
    assert taken.err.endswith("choose another --port, or none\n")
    assert run("explore", "nothing").code == 150
    assert run("explore", "kip-101", "-s", "nothing=1").code == 150
    assert run("explore", "kip-101", "--port", "70000").code == 2
    assert run("explore", tmp_path / "absent.py").code == 153
