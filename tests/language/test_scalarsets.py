"""Named scalarsets, bags and channels: the allowed combinations, and the refusals in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.model.language import BrokerId, ModelError, bag, broker, channel, flag, per, scalarset
from isrcheck.model.language.condition_grammar import ConditionSyntaxError
from isrcheck.model.language.text_conditions import value_of
from isrcheck.model.semantics.tracing import trace, traced_value
from tests.language.mistakes import line_of, made, said_by_running, said_by_tracing
from tests.toys.termination import Termination

TEXT = '''\
client = scalarset("client")


class Mistake(Model):
    brokers_ = setting(2, counts=broker, meaning="brokers")
    clients_ = setting(3, counts=client, meaning="clients")

    def variables(self):
        return {
            "at": per(client, optional(broker)), "guests": per(broker, set_of(client)), "who": client, "on": flag,
            "sent": bag(number(0, 1), 2), "line": channel(client, 2), "isr": set_of(broker),
        }

    def initial(self, s):
        s.isr = self.brokers
        s.line = [self.members(client)[1]]
        s.guests = [self.members(client), self.members(client)]

    @action(b=broker, c=client, actor="c")
    def act(self, s, b, c):
        """It acts."""
        BODY
'''
BROKERS = "a broker from 0 to 1"
CLIENTS = "a client from 0 to 2"
NOT_A_CLIENT = "broker 0 belongs to the brokers; use one of the clients"
MIXED = {
    "s.on = c == b": ("client 0 is compared with broker 0; compare a client with a client",) * 2,
    "s.on = s.who == b": (f"who is combined with broker 0; use {CLIENTS}", NOT_A_CLIENT),
    "s.who = b": (f"broker 0 is not {CLIENTS}; store one", NOT_A_CLIENT),
    "s.at[b] = none": (f"broker 0 is not {CLIENTS}; index by one", NOT_A_CLIENT),
    "s.on = s.at[b].is_none": (f"broker 0 is not {CLIENTS}; index by one", NOT_A_CLIENT),
    "s.on = s.at[s.who].is_none & s.guests[s.who].is_empty": (
        f"who is {CLIENTS}; use {BROKERS}", "0 belongs to the clients; use one of the brokers",
    ),
    "s.on = s.guests[b].has(b)": (
        f"none is combined with broker 0; use {CLIENTS} or none", NOT_A_CLIENT,
    ),
    "s.guests[b] = s.guests[b].excluding(b)": (
        f"none is combined with broker 0; use {CLIENTS} or none", NOT_A_CLIENT,
    ),
    "s.isr = s.isr | s.guests[b]": (
        "guests[0] is a set of clients from 0 to 2; use a set of brokers from 0 to 1",
        "frozenset({0, 1, 2}) belongs to the clients; use one of the brokers",
    ),
    "s.on = s.isr <= {c}": (
        "isr is combined with {client 0}; use a set of brokers from 0 to 1",
        "{client 0} belongs to the clients; use one of the brokers",
    ),
    "s.line.put(b)": (f"broker 0 is not {CLIENTS}; store one", NOT_A_CLIENT),
    "s.on = s.line.head == b": (
        f"line[0] is combined with broker 0; use {CLIENTS}", NOT_A_CLIENT,
    ),
}  # fmt: skip


def text_of(body: str) -> str:
    return TEXT.replace("BODY", body)


@pytest.mark.parametrize("body", MIXED)
def test_members_of_two_scalarsets_are_not_mixed(body: str) -> None:
    text, (traced, run) = text_of(body), MIXED[body]
    place = f"mistake.py:{line_of(text, body)}: "
    assert (said_by_tracing(text), said_by_running(text)) == (place + traced, place + run)


COMPARE = "compare clients with == and !=, or keep their order in a separate number"
REFUSED = {
    "s.on = c < c": f"clients have no order and no arithmetic: client 0; {COMPARE}",
    "s.on = c == 1": "client 0 == 1 compares a client with a value; write self.members(client)[number]",
    "s.on = s.who < c": f"clients have no order and no arithmetic: who; {COMPARE}",
    "s.line.append(c)": "there is no .append: line; known: has, head, is_empty, is_full, length, put, take",
    "s.sent.add(1)": "there is no .add: sent; known: count, has, is_empty, is_full, put, size, take",
    "s.line.put(c)\ns.on = s.line.is_full": "line.length is read after it was assigned; reads refer to the "
    "state before the action; read it into "
    "a local name first",
}
IN_NO_STATE = {
    "s.sent.put(2)": "2 can be outside its domain; keep it a number from 0 to 1",
    "s.sent = [0, 0, 1]": "[0, 0, 1] is not a bag of at most 2 elements; store a value of that domain",
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_has_no_meaning_is_refused(body: str) -> None:
    text = text_of("\n        ".join(body.splitlines()))
    assert said_by_tracing(text) == f"mistake.py:{line_of(text, body)}: {REFUSED[body]}"
    with pytest.raises(ModelError):
        raise ModelError(said_by_running(text))


@pytest.mark.parametrize("body", IN_NO_STATE)
def test_what_fits_in_no_state_is_refused_by_tracing(body: str) -> None:
    text = text_of(body)
    assert said_by_tracing(text) == f"mistake.py:{line_of(text, body)}: {IN_NO_STATE[body]}"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("s.jobs.take({'owner': none, 'on': True})", "jobs: (owner none, on true) removed, which is not in the bag"),
        ("s.jobs.put({'owner': c, 'on': s.on})", "jobs: element added to a full bag of 1 elements"),
        ("s.line.put(c)", "line: element added to a full channel of 2 elements"),
        ("s.line.take()", "line: element taken from an empty channel"),
    ],
)
def test_an_error_has_values_as_reports_have_them(body: str, said: str) -> None:
    text = text_of(body).replace('"on": flag', '"on": flag, "jobs": bag(record(owner=optional(client), on=flag), 1)')
    evaluation = check(made(text), engine="reference").evaluation
    assert evaluation is not None
    assert evaluation.what == said


DECLARED = {
    'scalarset("Client")': "scalarset('Client'); use a lower-case word in the singular: scalarset(\"client\")",
    "scalarset(3)": 'scalarset(3); use a lower-case word in the singular: scalarset("client")',
    "bag(flag, 0)": "a bag of size 0 cannot hold anything; give it a capacity of at least 1",
    "bag(flag, 2.5)": "a bag of size 2.5; write an integer",
    "bag(3, 1)": "3 in a bag; use a domain, such as number(0, 3)",
    "channel(flag, 0)": "a channel of capacity 0 cannot hold anything; give it a capacity of at least 1",
    "channel(3, 1)": "3 in a channel; use a domain, such as number(0, 3)",
}


@pytest.mark.parametrize("domain", DECLARED)
def test_a_domain_that_makes_no_sense_is_refused_where_it_is_written(domain: str) -> None:
    text = text_of("s.on = True").replace('"on": flag', f'"on": flag, "more": {domain}')
    line = next(i for i, x in enumerate(text.splitlines(), 1) if domain in x)
    with pytest.raises(ModelError) as caught:
        made(text)()
    assert str(caught.value) == f"mistake.py:{line}: {DECLARED[domain]}"


def test_a_bag_of_too_many_kinds_is_refused() -> None:
    with pytest.raises(ModelError) as caught:
        _ = bag(per(flag, per(flag, per(flag, channel(flag, 1)))), 2).first
    assert "a bag over a list of 2" in str(caught.value)
    assert "has more than 4096 possible elements, and each is a number of the state" in str(caught.value)


def test_a_scalarset_must_be_counted_by_a_setting() -> None:
    with pytest.raises(ModelError) as caught:
        trace(made(text_of("s.on = True").replace("counts=client, ", ""))())
    assert (
        str(caught.value)
        == "mistake.py:4: model mistake has clients but no setting that counts them; add counts=client to a "
        "setting"
    )


def test_members_of_two_scalarsets_are_two_keys() -> None:
    assert {BrokerId(1): "b", BrokerId(1, "client"): "c"}[BrokerId(1, "client")] == "c"
    assert len({scalarset("client"), broker, scalarset("client")}) == 2
    assert str(BrokerId(1, "client")) == "client 1"


ASKED: dict[str, Any] = {
    "every c in clients: s.at[c].is_none": None,
    "some b, c in clients: s.guests[b].has(c)": None,
    "every c in s.guests[brokers[0]]: s.at[c] is None": None,
    "s.at[2].is_none & (s.guests[1].size > 0)": None,
    "s.at[3].is_none": "index by one",
    "s.at[1 + 1].is_none": "index by one",
    "every x: s.at[x].is_none": "index by one",
    "every c in client: s.at[c].is_none": "there is no 'client'; did you mean clients",
}


@pytest.mark.parametrize("text", ASKED)
def test_a_text_goes_through_a_scalarset_by_its_name(text: str) -> None:
    model = made(text_of("s.on = True"))()
    if ASKED[text] is None:
        traced_value(model, lambda m, s: value_of(text, m, s))
        return
    with pytest.raises(ModelError) as caught:
        traced_value(model, lambda m, s: value_of(text, m, s))
    assert ASKED[text] in str(caught.value)


def test_a_text_about_brokers_is_refused_where_there_are_none() -> None:
    """Without brokers the text would hold vacuously."""
    for text in ("every b in brokers: b == b", "every b: b == b"):
        with pytest.raises(ConditionSyntaxError, match="the model has no brokers"):
            traced_value(Termination(), lambda m, s, text=text: value_of(text, m, s))


def test_a_set_of_more_members_than_fit_is_refused(tmp_path: Path) -> None:
    text = (
        "from isrcheck.model.language import *\n\n\nclass Big(Model):\n"
        "    many = setting(62, counts=broker, meaning='b')\n\n"
        "    def variables(self):\n        return {'held': set_of(broker)}\n"
    )
    (tmp_path / "big.py").write_text(text)
    cls = load_model_class(str(tmp_path / "big.py")).cls
    assert cls().broker_count == 62
    for many in (63, 64, 100):
        what = f"variable 'held' has sets of {many} members; the limit is 62"
        with pytest.raises(ModelError, match=f"^big.py:7: {what}; let the setting that counts them be smaller$"):
            cls(many=many)
