"""The measured scenarios: a conversation, two writers, a kill during an answer, and a message that is sent twice."""

from __future__ import annotations

import statistics
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.peers.setting import PeerInSetting
from benchmarks.peers.storage_proxy import Usage
from benchmarks.workload import ANSWER, QUESTION

DELAY = 0.005
"""The seconds that are added to each storage request in every other measured turn."""
WINDOW = 10
"""The number of turns in which times are measured, half of them with the delay."""
OVERLAP_SECONDS = 1.0
"""The seconds of the answers to two messages that are sent at the same time."""
KILLED_SECONDS = 4.0
"""The seconds of the answer during which the peer is killed."""
AFTER_KILL_SECONDS = 120.0
"""The longest wait for an answer that a restarted peer may complete by itself."""
USER_ROLES = frozenset({"user", "human"})


@dataclass(frozen=True, slots=True)
class Times:
    """The median times of some turns to the first token and to the end, in seconds from the question."""

    first: float
    whole: float


@dataclass(frozen=True, slots=True)
class Conversation:
    """The cost and the times of one conversation."""

    turns: int
    usage: Usage
    at_ten: tuple[Times, Times]
    """Times around turn 10, without and with the delay."""
    at_end: tuple[Times, Times]
    """Times in the last turns, without and with the delay."""


@dataclass(frozen=True, slots=True)
class Writers:
    """The outcome of two messages to one conversation at the same time, in several rounds."""

    rounds: int
    questions: int
    answers: int
    """The stored questions and answers of the two writers. None is lost if both are twice the rounds."""
    errors: int
    """The number of writers that received an error."""


@dataclass(frozen=True, slots=True)
class Kill:
    """The outcome of SIGKILL after the first word of an answer."""

    question: bool
    """Whether the question is stored after the restart."""
    answer: str
    """The stored answer before any other message: ``"whole"``, ``"part"`` or ``"none"``."""
    next_turn: str
    """The outcome of the next message: ``"answered"`` or the error."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """The outcome of a message that is sent again after its answer, with the same id."""

    questions: int
    answers: int
    """The stored questions and answers, one of each if the peer recognises the repetition."""
    model_answers: int
    """The answers of the model to both messages."""


def make_id() -> str:
    """Return an id of a session or a message."""
    return str(uuid.uuid4())


def hold_conversation(running: PeerInSetting, turns: int) -> Conversation:
    """Hold a conversation. Raises ``RuntimeError`` if an answer fails or is incomplete."""
    storage, session = running.setting.storage, make_id()
    running.setting.set_pace(0)
    measured: dict[int, Times] = {}
    with running.start_driver() as driver:
        _check_answer(driver.ask(make_id(), make_id(), QUESTION))  # the first turn of a process loads code
        storage.take_when_quiet()
        windows = [*range(6, 6 + WINDOW), *range(turns - WINDOW + 1, turns + 1)]
        for turn in range(1, turns + 1):
            storage.delay = DELAY if turn in windows and turn % 2 else 0.0
            measured[turn] = _check_answer(driver.ask(session, make_id(), QUESTION))
        storage.delay = 0.0
        usage = storage.take_when_quiet()
    return Conversation(
        turns, usage, _find_medians(measured, windows[:WINDOW]), _find_medians(measured, windows[WINDOW:])
    )


def write_at_once(running: PeerInSetting, rounds: int) -> Writers:
    """Send two messages to one conversation at the same time, from two processes.

    Raises ``RuntimeError`` if the turn before them fails.
    """
    running.setting.set_pace(OVERLAP_SECONDS)
    questions = answers = errors = 0
    with running.start_driver() as one, running.start_driver() as other:
        for _ in range(rounds):
            session = make_id()
            _check_answer(one.ask(session, make_id(), "The question before"))
            one.send("ask", session, make_id(), "The first writer's question")
            other.send("ask", session, make_id(), "The second writer's question")
            errors += sum("error" in driver.read() for driver in (one, other))
            with running.start_driver() as reader:
                messages = reader.read_history(session)
            questions += sum("writer" in text for role, text in messages if role in USER_ROLES)
            answers += sum(role not in USER_ROLES for role, _ in messages) - 1
    return Writers(rounds, questions, answers, errors)


def kill_in_mid_answer(running: PeerInSetting) -> Kill:
    """Kill the peer during the second answer of a conversation, start it again, and read the stored messages.

    Raises ``RuntimeError`` if the first turn fails, or the messages cannot be read.
    """
    session = make_id()
    running.setting.set_pace(0)
    with running.start_driver() as driver:
        _check_answer(driver.ask(session, make_id(), "The question before"))
        running.setting.set_pace(KILLED_SECONDS)
        driver.send("ask", session, make_id(), "The question in which it is killed")
        driver.read("first")
        time.sleep(KILLED_SECONDS / 4)  # so that some of the answer has arrived
        running.kill(driver)
    running.setting.set_pace(0)
    with running.start_driver() as reader:
        works_alone = not running.peer.requirements  # libraries do nothing without a call
        deadline = time.monotonic() + (AFTER_KILL_SECONDS if works_alone else 0)
        messages = reader.read_history(session)
        while len(_find_answers(messages)) < 2 and time.monotonic() < deadline:
            time.sleep(1)
            messages = reader.read_history(session)
        after = _find_answers(messages)[1:]
        report = reader.ask(session, make_id(), "The question after")
    return Kill(
        any("is killed" in text for role, text in messages if role in USER_ROLES),
        ("whole" if after[0] == ANSWER else "part") if after else "none",
        "answered" if report.get("text") == ANSWER else report.get("error", "no answer"),
    )


def send_twice(running: PeerInSetting) -> Repeat:
    """Send a message, wait for its answer, and send it again. Raises ``RuntimeError`` if an answer fails."""
    session, message = make_id(), make_id()
    running.setting.set_pace(0)
    with running.start_driver() as driver:
        _check_answer(driver.ask(session, make_id(), "The question before"))
        running.setting.storage.take_when_quiet()  # a title may be written in the background
        before = running.setting.set_pace(0)
        for _ in range(2):
            _check_answer(driver.ask(session, message, QUESTION))
        messages = driver.read_history(session)[2:]
    questions = sum(role in USER_ROLES for role, _ in messages)
    return Repeat(questions, len(messages) - questions, running.setting.set_pace(0) - before)


def _find_answers(messages: Sequence[tuple[str, str]]) -> list[str]:
    return [text for role, text in messages if role not in USER_ROLES]


def _check_answer(report: dict[str, object]) -> Times:
    """Return the times of an answer. Raises ``RuntimeError`` if it failed or is incomplete."""
    if report.get("text") != ANSWER:
        raise RuntimeError(f"an answer did not arrive whole: {report.get('error') or report.get('text')}")
    return Times(float(str(report["first"])), float(str(report["whole"])))


def _find_medians(measured: dict[int, Times], turns: Sequence[int]) -> tuple[Times, Times]:
    """Return the medians of turns without the delay, and of turns with it."""
    plain, delayed = ([measured[turn] for turn in turns if turn % 2 == odd] for odd in (0, 1))
    return _find_median(plain), _find_median(delayed)


def _find_median(times: Sequence[Times]) -> Times:
    return Times(
        statistics.median(timing.first for timing in times), statistics.median(timing.whole for timing in times)
    )
