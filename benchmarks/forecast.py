"""Counts how often the true number of states is in the forecast, for runs that finish. All machines give equal counts:

    python benchmarks/forecast.py

Forecasts are made from the first 25, 50, 60 and 75 % of the levels of each run, and from every other number of first
levels. The method was chosen on the runs called "chosen on". The other runs had no influence on this choice.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

from isrcheck.checker.analysis.check import check
from isrcheck.checker.results.size_estimate import estimated_size

NAMES = ("replicas", "log_size", "max_records", "max_leader_epoch")
SHARES = (0.25, 0.5, 0.6, 0.75)


def bounds(text: str) -> dict[str, int]:
    return dict(zip(NAMES, map(int, text.split("/")), strict=True))


CHOSEN_ON: list[tuple[str, dict[str, Any]]] = [
    *(("kip-320", bounds(b)) for b in ("2/2/2/2", "2/3/3/3", "2/4/4/4", "3/2/2/1", "3/2/2/2", "3/3/3/1", "3/3/3/2")),
    ("kip-320", bounds("4/2/2/1")),
    ("kip-101", bounds("3/2/2/2")),
    ("kip-279", bounds("3/2/2/2")),
    ("truncate-to-hw", bounds("3/2/2/1")),
    ("kip-320-first-try", bounds("3/2/2/1")),
    ("async-isr", {}),
    ("async-isr", {"replicas": 4}),
    ("v1", {"crashes": 2}),
    ("v3", {"crashes": 2}),
    ("alter-isr", {"crashes": 2}),
    ("majority", {"replicas": 5}),
]
OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("kip-320", bounds("3/4/4/1")),
    ("kip-320", bounds("2/3/4/3")),
    ("kip-101", bounds("2/3/3/3")),
    ("kip-101", bounds("3/3/3/1")),
    ("kip-279", bounds("2/4/4/3")),
    ("truncate-to-hw", bounds("2/3/3/3")),
    ("kip-320-first-try", bounds("3/2/2/2")),
    ("v1", {"crashes": 3}),
    ("v2", {"crashes": 2}),
    ("v3", {"crashes": 2, "expiries": 1}),
    ("v3", {"replicas": 3, "crashes": 1, "expiries": 1}),
    ("alter-isr", {"crashes": 1, "expiries": 1}),
    ("alter-isr", {"replicas": 3, "crashes": 1}),
    ("majority", {"replicas": 3, "crashes": 2}),
    ("primary-backup", {"crashes": 2}),
]


def levels_of(model: str, settings: dict[str, Any]) -> list[int]:
    return check(model, settings, profile="bare", invariants=[], keep_going=True).levels


def evaluated(levels: list[int], known: int) -> tuple[str, float | None]:
    """Whether the true number is in the range forecast from the first `known` levels, and the width of this range."""
    expected = estimated_size(levels[:known])
    if expected is None:
        return "-", None
    inside = expected.low <= sum(levels) <= expected.high
    return "in" if inside else "OUT", expected.high / expected.low


def table(title: str, runs: list[tuple[str, dict[str, Any]]]) -> None:
    print(f"\n{title}\n{'':44}{'states':>12}{'levels':>8}" + "".join(f"{share:>12.0%}" for share in SHARES))
    every: list[tuple[str, float | None]] = []
    at: dict[float, list[tuple[str, float | None]]] = {share: [] for share in SHARES}
    for model, settings in runs:
        levels = levels_of(model, settings)
        name = f"{model} {' '.join(f'{k}={v}' for k, v in settings.items())}"
        name = f"{model} {'/'.join(str(settings[n]) for n in NAMES)}" if set(NAMES) <= set(settings) else name
        for share in SHARES:
            at[share].append(evaluated(levels, max(1, round(len(levels) * share))))
        every += [evaluated(levels, n) for n in range(1, len(levels))]
        cells = (f"{word} x{width:.1f}" if width else word for word, width in (at[share][-1] for share in SHARES))
        print(f"{name[:43]:44}{sum(levels):12,}{len(levels):8}" + "".join(f"{cell:>12}" for cell in cells), flush=True)
    for title, answers in [
        *((f"at {share:.0%} of the levels", a) for share, a in at.items()),
        ("at every level", every),
    ]:
        given = [(word, width) for word, width in answers if width is not None]
        inside = sum(word == "in" for word, _ in given)
        width = f", half of the bands at most x{statistics.median(w for _, w in given):.1f}" if given else ""
        print(f"{title}: {len(given)} forecasts of {len(answers)} possible, the truth in {inside} of them{width}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    table("Runs that the method was chosen on", CHOSEN_ON)
    table("Other runs", OTHERS)


if __name__ == "__main__":
    main()
