"""Lost executors: a level is built again, but not without end. A job that ends at a time-out keeps its answer."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from isrcheck.checker.engines.spark import session, session_settings
from isrcheck.checker.results.errors import ClusterFailed

# As Spark 4.3 says it, the second where executors were killed three times, 20 s apart, in one level.
LOST = [
    "Job aborted due to stage failure: Task 1 in stage 6.0 failed 4 times, most recent failure: Lost task 1.3 in stage "
    "6.0 (TID 31) (10.77.0.11 executor 5): ExecutorLostFailure (executor 5 exited caused by one of the running tasks)",
    "Job aborted due to stage failure: A shuffle map stage with indeterminate output was failed and retried. However, "
    "Spark cannot rollback the ResultStage 9 to re-process the input data, and has to fail this job.",
]
WORK = {"model": "kip-320", "level": 3, "states_of_level": 7}


class Unlucky(session.Spark):
    """A Spark that loses executors a number of times, and then answers."""

    def __init__(self, losses: int) -> None:
        self.losses, self.asked = losses, 0

    def run(self, job: Callable[[], Any], wait: Callable[[], None], what: str) -> Any:
        self.asked += 1
        if self.asked <= self.losses:
            raise session._failure(RuntimeError(LOST[self.asked % 2]))
        return [("a report",)]


@pytest.mark.parametrize("losses", [0, 1, session.ATTEMPTS - 1])
def test_a_level_is_built_anew_where_executors_are_lost(losses: int) -> None:
    spark, waited = Unlucky(losses), []
    assert spark.level(WORK, "", lambda: waited.append(1)) == ["a report"]
    assert (spark.asked, len(waited)) == (losses + 1, losses)


def test_it_is_not_built_anew_for_ever() -> None:
    spark = Unlucky(10**9)
    with pytest.raises(ClusterFailed, match=r"Spark keeps losing executors: .*; continue with --resume") as said:
        spark.level(WORK, "", lambda: None)
    assert spark.asked == session.ATTEMPTS
    assert "\n" not in str(said.value)


@pytest.mark.parametrize("text", ["ValueError: no", "ModuleNotFoundError: No module named 'llvmlite'"])
def test_what_would_fail_again_is_not_tried_again(text: str) -> None:
    assert not isinstance(session._failure(RuntimeError(text)), session.ExecutorsLost)


class EndsAtTheTimeOut(Future[str]):
    """A job that ends between the time-out of `result` and the next question."""

    def __init__(self, failure: Exception | None) -> None:
        super().__init__()
        self.failure = failure

    def result(self, timeout: float | None = None) -> str:
        if self.done():
            return super().result(timeout)
        if self.failure is None:
            self.set_result("an answer")
        else:
            self.set_exception(self.failure)
        raise TimeoutError


def test_a_job_that_ends_at_the_time_out_gives_its_answer() -> None:
    assert session._answer(EndsAtTheTimeOut(None), lambda: None) == "an answer"


@pytest.mark.parametrize("failure", [ValueError("no"), TimeoutError("a time-out of the job itself")])
def test_a_job_that_fails_at_the_time_out_gives_its_failure(failure: Exception) -> None:
    with pytest.raises(type(failure), match=str(failure)):
        session._answer(EndsAtTheTimeOut(failure), lambda: None)


def test_seconds_in_a_report_do_not_make_the_candidates_others() -> None:
    """Otherwise Spark ends jobs with repeated tasks, whose rows have other times and names of files."""
    names = [name for name in session_settings.SQL_NEEDED if "orderIndependentChecksum" in name]
    assert [session_settings.SQL_NEEDED[name] for name in names] == ["false"] * 3
