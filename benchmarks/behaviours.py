"""The speed of comparing behaviours: a model is compared with itself, so no difference ends the search early.

python -m benchmarks.behaviours                          # kip-320 and kip-279 at growing sizes
python -m benchmarks.behaviours v3 --visible log,state   # a design at its profile `plain`
"""

from __future__ import annotations

import argparse
import time
from typing import Final

from isrcheck.checker.analysis.inclusion.inclusion_check import Side, compare
from isrcheck.checker.analysis.inclusion.subset_construction import Bounds
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.registry.profile_settings import begun, profile_of

SIZES: Final = ((2, 2, 2, 2), (2, 2, 2, 3), (3, 1, 1, 2))
NAMES: Final = ("replicas", "log_size", "max_records", "max_leader_epoch")


def measured(name: str, settings: dict[str, int], visible: tuple[str, ...], pairs: int) -> None:
    """Prints a row: pairs and sets in one direction, and pairs a minute in both, including the search for states."""
    loaded = load_model_class(name)
    side = Side(name, loaded, begun(loaded, profile_of(loaded, None), dict(settings)))
    began = time.perf_counter()
    found = compare(side, side, visible, Bounds(pairs=pairs))
    seconds = time.perf_counter() - began
    looked = found.new.pairs + found.gone.pairs
    sizes = "/".join(map(str, settings.values())) or "plain"
    print(f"| {name} {sizes} | {','.join(found.visible)} | {found.new.verdict} | {found.new.pairs:,} |"
          f" {found.new.sets:,} | {seconds:.1f} | {60 * looked / seconds:,.0f} |", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--visible", default="log,quorum")
    parser.add_argument("--max-pairs", type=int, default=2_000_000)
    asked = parser.parse_args()
    visible = tuple(asked.visible.split(","))
    print(
        "| model | visible | found | pairs | sets | seconds, both ways | pairs a minute |", "|---" * 7 + "|", sep="\n"
    )
    if asked.model is not None:
        measured(asked.model, {}, visible, asked.max_pairs)
    for sizes in () if asked.model else SIZES:
        for name in ("kip-279", "kip-320"):
            measured(name, dict(zip(NAMES, sizes, strict=True)), visible, asked.max_pairs)


if __name__ == "__main__":
    main()
