"""The states of every model, as isrcheck, Spin and Rumur count them.

    python benchmarks/outside_check.py [--large]

Exit code 10 if any two differ. `--large` takes the defaults of each model instead of two replicas.
"""

from __future__ import annotations

import argparse
import sys

from click.testing import CliRunner

from checker.cli import main
from checker.library import load_model_class, model_names


def settings_of(name: str, large: bool) -> list[str]:
    """Two replicas, where a model has a setting of that name."""
    small = not large and "replicas" in load_model_class(name).cls.declared_settings()
    return ["-s", "replicas=2"] if small else []


def compare(large: bool) -> int:
    worst = 0
    for name in model_names():
        done = CliRunner().invoke(main, ["crosscheck", name, *settings_of(name, large)])
        print(f"{name}\n{done.output}", flush=True)
        worst = max(worst, done.exit_code)
    return worst


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true", help="the defaults of each model")
    sys.exit(compare(parser.parse_args().large))
