"""Records are interchangeable in no model, because they are written in the order of their numbers."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck.checker.engines.symbolic.solver import Watch
from isrcheck.checker.engines.symbolic.symmetry_proof import Alike
from isrcheck.checker.kernel import interchangeable
from isrcheck.checker.kernel.exchanges import Exchange, Member, Nodes
from isrcheck.checker.kernel.interchangeable import Symmetry
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.model.language.domains import Domain, Number, Per, Record, Value
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.tracing import trace
from tests.designs.shipped import OF_SHARED_PARTS


class ExchangeOfRecords(Exchange):
    """Exchanges two records: wherever a record has an `id`, and in what is kept per record."""

    records = 0

    def value(self, domain: Domain, value: Value) -> Value:
        if isinstance(domain, Record) and "id" in domain.names:
            return tuple(self.number(x) if n == "id" else x for n, x in zip(domain.names, value, strict=True))
        return super().value(domain, value)

    def nodes(self, domain: Domain, nodes: Nodes) -> Nodes:
        if isinstance(domain, Record) and "id" in domain.names:
            at = sum(d.width for d in domain.domains[: domain.names.index("id")])
            return [self._id(x) if i == at else x for i, x in enumerate(nodes)]
        return super().nodes(domain, nodes)

    def _id(self, node: e.Expression) -> e.Expression:
        result = node
        for old, new in self.of.items():
            result = e.if_(e.eq(node, e.constant("number", old)), e.constant("number", new), result)
        return result

    def _positions(self, domain: Per) -> list[int]:
        if domain.index == Number(0, self.records - 1):
            return [domain.positions[self.number(i)] for i in domain.positions]
        return list(range(domain.count))


PUBLISHED = ("truncate-to-hw", "kip-101", "kip-279", "kip-320", "kip-320-first-try")


def differences(name: str) -> list[tuple[str, ...]]:
    """The differences between neighbouring ones of three records."""
    loaded = load_model_class(name)
    # Three records and two epochs: what is kept per record is told from what is kept per epoch by its index.
    wanted = {"max_records": 3, "max_leader_epoch": 1, "log_size": 2, "first_record": False}
    system = trace(loaded.cls(**{n: x for n, x in wanted.items() if n in loaded.cls.declared_settings()}), {})
    records = Symmetry(system, Alike(system, Watch(Limits())), exchange=ExchangeOfRecords)
    return [records.differences(Member("record", a), Member("record", b)) for a, b in ((0, 1), (1, 2))]


def often(name: str) -> Any:
    """A parameter for a model. Only the smallest model of each kind runs in every run."""
    return pytest.param(name, marks=() if name in ("truncate-to-hw", "primary-backup") else pytest.mark.exhaustive)


@pytest.mark.parametrize("name", list(map(often, [*PUBLISHED, *OF_SHARED_PARTS])))
def test_no_two_records_are_interchangeable(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ExchangeOfRecords, "records", 3)
    assert all(differences(name))


@pytest.mark.parametrize("name", list(map(often, PUBLISHED)))
def test_only_writing_tells_records_apart(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ExchangeOfRecords, "records", 3)
    monkeypatch.setattr(interchangeable, "SAMPLES", 40)
    assert differences(name) == [("action leader-write",)] * 2
