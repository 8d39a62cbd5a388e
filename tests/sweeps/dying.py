"""A sweep with cells that harm their process, such as by ending it."""

from __future__ import annotations

import json
from pathlib import Path

from isrcheck import check
from tests.cli.running import run

SWEEP = """
[[matrix]]
models = ["kip-101"]
settings = {replicas = 2, log_size = [1, 2], max_records = 1, max_leader_epoch = [1]}
invariants = ["weak-isr", "strong-isr"]
[[matrix]]
models = ["MODEL"]
settings = {harm = [0, 1, 2, 3]}
max_memory = "1GiB"
[[matrix]]
models = ["kip-320"]
max_states = 10
[[matrix]]
models = ["kip-321"]
"""
HARMFUL = '''\
import os, signal
from isrcheck.model.language import Model, action, flag, setting

class Harmful(Model):
    """Does what a cell of a sweep should not do."""
    harm = setting(0, at_least=0, meaning="what it does")

    def variables(self):
        if self.harm == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.harm == 2:
            os._exit(7)
        if self.harm == 3:
            raise ValueError("no")
        print("a model may print")
        return {"on": flag}

    @action(actor="someone")
    def switch(self, s):
        """Switches on."""
        s.require(~s.on)
        s.on = True
'''


def require_answers(tmp_path: Path, *where: str) -> None:
    """Asserts that every cell gets its own answer, whatever the other cells do."""
    model = tmp_path / "harmful.py"
    model.write_text(HARMFUL)
    (tmp_path / "sweep.toml").write_text(SWEEP.replace("MODEL", str(model)))
    said = run("sweep", str(tmp_path / "sweep.toml"), "--json", str(tmp_path / "s.json"), *where)
    cells = json.loads((tmp_path / "s.json").read_text())["cells"]
    settings = [{"replicas": 2, "log_size": n, "max_records": 1, "max_leader_epoch": 1} for n in (1, 2)]
    wanted = [check("kip-101", s, invariants=[name]) for s in settings for name in ("weak-isr", "strong-isr")]
    assert [(c["verdict"], c["distinct"]) for c in cells[:4]] == [(w.verdict, w.distinct) for w in wanted]
    assert [(c["verdict"], c["exit_code"]) for c in cells[4:]] == [
        ("holds", 0), (None, 152), (None, 152), (None, 150), ("incomplete", 152), (None, 150),
    ]  # fmt: skip
    assert cells[5]["reason"] == "its process was killed: out of memory; set max_memory"
    assert "harmful.py" in cells[7]["reason"]
    assert (said.code, said.out.splitlines()[-1]) == (152, "10 checks: 5 holds, 1 incomplete, 4 not run")
