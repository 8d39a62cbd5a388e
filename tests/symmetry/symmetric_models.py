"""Random models that treat most brokers alike: their constants name only the first broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.agreement.random_models import BROKER, CLIENT, Author, Code, Shape


class FairAuthor(Author):
    """Draws a model that has at least two brokers, and clients, and names the first of each at most.

    Without a member in scope a constant has to name one: then the others are left interchangeable, if there are two.
    """

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        super().__init__(draw)
        self.brokers, self.clients = self.pick([(2, 2), (3, 1), (3, 2), (2, 3), (4, 1)])

    def constant(self, shape: Shape) -> Code:
        match shape.kind:
            case "broker" | "client":
                held = [name for name, s in self.scope if s == shape]
                first = "self.broker(0)" if shape == BROKER else "self.members(client)[0]"
                return Code(self.pick(held) if held else first, True)
            case "set":
                return Code(self.pick(["set()", "set(self.brokers)"]), True)
            case "clients":
                return Code(self.pick(["set()", "set(self.members(client))"]), True)
        return super().constant(shape)

    def value(self, shape: Shape, depth: int, only_plain: bool = False) -> Code:
        if shape.kind == "per" and shape.parts[0][1] in (BROKER, CLIENT):
            element = super().value(shape.parts[1][1], depth - 1, only_plain)
            return self.listed([element] * self.count(shape.parts[0][1]))
        return super().value(shape, depth, only_plain)


@st.composite
def fair_models(draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    """The text of a model whose class is named `Random`."""
    return FairAuthor(draw).text()
