"""A state graph as GraphML and as DOT.

GraphML: http://graphml.graphdrawing.org; DOT: https://graphviz.org/doc/info/lang.html.
"""

from __future__ import annotations

from typing import Any

import networkx as nx

from isrcheck.checker.wording.xml import clean


def graphml(graph: nx.MultiDiGraph) -> str:
    """The graph as GraphML, with all data about its states and steps."""
    safe = nx.MultiDiGraph(**_cleaned(graph.graph))
    safe.add_nodes_from((node, _cleaned(data)) for node, data in graph.nodes(data=True))
    safe.add_edges_from((a, b, key, _cleaned(data)) for a, b, key, data in graph.edges(keys=True, data=True))
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join(nx.generate_graphml(safe)) + "\n"


def _cleaned(data: dict[str, Any]) -> dict[str, Any]:
    return {key: clean(value) if isinstance(value, str) else value for key, value in data.items()}


def dot(graph: nx.MultiDiGraph) -> str:
    """The graph as DOT. Initial states have double frames, the trace is bold and blue, and violations are red."""
    lines = [f"digraph {quoted(graph.graph.get('name', 'states'))} {{", "  node [shape=box, fontname=monospace];"]
    for node, data in graph.nodes(data=True):
        lines.append(f"  {node} [{_attributes(_drawn_state(data))}];")
    for a, b, data in graph.edges(data=True):
        bold = {"style": "bold", "color": "blue"} if data["on_trace"] else {}
        lines.append(f"  {a} -> {b} [{_attributes({'label': data['label'], 'tooltip': data['actor'], **bold})}];")
    return "\n".join([*lines, "}"]) + "\n"


def _drawn_state(data: dict[str, Any]) -> dict[str, str]:
    told = f"\nfalse: {data['violated']}" if data["violated"] else ""
    found = {"label": data["label"] + told, "tooltip": data["state"]}
    if data["initial"]:
        found["peripheries"] = "2"
    if data["on_trace"]:
        found |= {"style": "bold", "color": "blue"}
    return found | ({"fontcolor": "red"} if data["violated"] else {})


def _attributes(data: dict[str, str]) -> str:
    return ", ".join(f"{key}={quoted(value)}" for key, value in data.items())


def quoted(text: str) -> str:
    r"""A text as a DOT string. Backslashes are doubled, because DOT reads them as escapes in labels.

    >>> print(quoted('say "a\\b"'))
    "say \"a\\b\""
    """
    lines = [line.replace("\\", "\\\\").replace('"', '\\"') for line in clean(text).splitlines()]
    return '"' + "\\n".join(lines) + '"'
