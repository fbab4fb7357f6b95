"""The activities of a deployment, such as turns and closings, with the units that one occurrence of each uses.

Counts of DynamoDB, frames, calls of models and S3 are from ``measured.yaml`` if it has them, memory sizes from the
template, and times of models from the profile. The constants and the other numbers are estimates, because benchmarks on
one machine cannot measure them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.cost.deployment import Deployment
from benchmarks.cost.measured import Measured, Units
from benchmarks.cost.profile import Profile

OWN_SECONDS = 0.2
"""Seconds of a turn's worker without the model. ``benchmarks.turn_latency`` shows half, on a faster processor."""
FRAME_SECONDS, REQUEST_SECONDS, CHECK_SECONDS = 0.025, 0.05, 0.01
"""Seconds of a function for a frame, for a short HTTP request, and for checking the token of a new connection."""
SEARCH_SECONDS, WRITE_SECONDS = 0.15, 0.5
"""Seconds that searches of index files add to a turn, if half of the turns must fetch a file, and seconds of a closing
without the light model."""
SQS_OF_TURN, SQS_OF_TITLE = 5, 4
"""SQS requests of a turn and of a title: send, receive, delete, and one or two extensions of the visibility timeout."""
OPENING_REQUESTS = 3
"""HTTP requests when a panel is opened: the list of conversations, the conversation and its messages."""
ATTACH_WRITES, DETACH_WRITES = 3, 3
"""Write units when a connection is attached to a conversation, and when it ends."""
INDEX_READS_OF_TURN = 2
"""The index files that a turn requests from S3: the user's conversations and the agent's documents."""
INVOCATION_KB, METRICS_KB, ACCESS_KB, TRANSITION_KB = 0.75, 0.6, 0.4, 2.65
"""KB of log lines: Lambda's lines of an invocation, a line of metrics, an access log entry, and a state machine's lines
of a transition."""
FRAME_BYTES, RESPONSE_BYTES = 400, 4_000
"""Bytes that are sent to the client: a frame with a part of an answer, and an HTTP response."""
QUERY_TOKENS, CONVERSATION_TOKENS, CHUNK_TOKENS = 100, 2_200, 600
"""Embedded tokens of a question, of three turns in three views each, and of a chunk with its passages."""
DOCUMENT_TRANSITIONS, CHUNKS_OF_BATCH = 14, 20
"""State transitions of a document's ingestion without its batches, and chunks that one batch embeds and writes."""
DOCUMENT_SECONDS, BATCH_SECONDS = 3.0, 1.0
"""Seconds of the function for a document of some pages, and for each batch including the embedding model."""
CHECKS_OF_CONVERSATION = 2
"""Checks by the sweeper: one finds that the user was active again, and one ends the session."""
DESK_POLL_SECONDS, DESK_POLL_READS = 0.7, 1.0
"""The interval at which an open list of a desk reads the table, and the read units of one read."""
TASK_CHECKS = 2
"""Checks of a background task before it ends."""
SUMMARY_FROM, TURNS_OF_SUMMARY = 28, 9
"""Turns before the first summary, and between further ones (``benchmarks.turn_cost``)."""
START_SECONDS: Mapping[str, float] = {
    "Authorizer": 0.37,
    "Closing": 0.72,
    "Http": 0.93,
    "Ingestion": 0.66,
    "Sockets": 0.67,
    "Streams": 1.36,
    "Sweeper": 0.62,
    "Turns": 1.18,
}
"""Seconds of a cold start by function (INIT, which is billed since August 2025), from ``benchmarks.cold_start``."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Invocations of one function."""

    function: str
    count: float
    seconds: float
    """The duration of one invocation."""


@dataclass(frozen=True, slots=True)
class Activity:
    """A kind of activity, with the units that are billed for one occurrence."""

    name: str
    calls: tuple[Calls, ...] = ()
    units: Mapping[str, float] = field(default_factory=dict)
    """Amounts by unit of the price list, without Lambda's units."""
    frames_in: float = 0.0
    """The part of ``socket_message`` that clients send."""

    def sum_seconds(self, function: str | None = None) -> float:
        """Return the seconds that one function is busy, or all functions together."""
        return sum(call.count * call.seconds for call in self.calls if function in (None, call.function))


def find_billed_units(activity: Activity, deployment: Deployment, cold_starts: float) -> dict[str, float]:
    """Return all units of one occurrence, including Lambda's.

    ``cold_starts`` is the share of invocations that start a new environment.
    """
    units = dict(activity.units)
    for call in activity.calls:
        start = cold_starts * START_SECONDS[call.function]
        gb_seconds = call.count * (call.seconds + start) * deployment.memory[call.function]
        unit = f"gb_second_{deployment.architecture}"
        units[unit] = units.get(unit, 0.0) + gb_seconds
        units["lambda_request"] = units.get("lambda_request", 0.0) + call.count
        units["log_gb"] = units.get("log_gb", 0.0) + call.count * INVOCATION_KB / 1e6
    return units


def make_activities(measured: Measured, profile: Profile, deployment: Deployment) -> dict[str, Activity]:
    """Return the activities by short names, which ``Calculator.count_monthly`` uses too."""
    searches = 1.0 if deployment.uses_embedded_search else 0.0
    worker_seconds = OWN_SECONDS + profile.first_token_seconds + profile.answer_seconds
    light = profile.light_model_seconds
    recall = {"s3_read": INDEX_READS_OF_TURN * searches, "embedded_token": QUERY_TOKENS}
    prompt_gb = profile.prompt_bytes / 1e9
    answer_gb = measured.frames * FRAME_BYTES / 1e9
    facts = measured.closing_model_calls if deployment.writes_facts else 0
    batches = profile.document_chunks / CHUNKS_OF_BATCH
    panel, due, desk = measured.panel, measured.due, measured.desk
    turn_log = (METRICS_KB + ACCESS_KB) / 1e6
    turn_units = {**_sum_table_units(measured.later_turn), **recall, "log_gb": turn_log}
    return {
        "turn": Activity(
            "turn over a WebSocket",
            (Calls("Turns", 1, worker_seconds + SEARCH_SECONDS * searches), Calls("Sockets", 1, FRAME_SECONDS)),
            {
                **turn_units,
                "socket_message": measured.frames + 1,
                "fifo_request": SQS_OF_TURN,
                "gb_out": prompt_gb + answer_gb,
            },
            frames_in=1,
        ),
        "sse_turn": Activity(
            "turn over SSE",
            (Calls("Streams", 1, worker_seconds + SEARCH_SECONDS * searches),),
            {**turn_units, "rest_request": 1, "gb_out": prompt_gb + answer_gb},
        ),
        "beginning": Activity(
            "beginning of a conversation", units=_sum_table_units(measured.first_turn.subtract(measured.later_turn))
        ),
        "title": Activity(
            "title",
            (Calls("Turns", 1, OWN_SECONDS + light),),
            {**_sum_table_units(measured.title), "fifo_request": SQS_OF_TITLE, "gb_out": 2_000 / 1e9},
        ),
        "summary": Activity(
            "summary of older messages",
            (Calls("Turns", 1, OWN_SECONDS + 2 * light),),
            {**_sum_table_units(measured.summary), "fifo_request": SQS_OF_TITLE, "gb_out": prompt_gb},
        ),
        "check": Activity(
            "check whether a session is idle", units={"write_unit": measured.idle_check.write_units, "read_unit": 0.1}
        ),
        "closing": Activity(
            "closing of a session",
            (Calls("Closing", 1, facts * light + WRITE_SECONDS),),
            {
                **_sum_table_units(measured.closing),
                "transition": deployment.closing_transitions,
                "s3_read": measured.closing_s3_reads * searches,
                "s3_write": measured.closing_s3_writes * searches,
                "embedded_token": CONVERSATION_TOKENS,
                "log_gb": (METRICS_KB + TRANSITION_KB * deployment.closing_transitions) / 1e6,
                "gb_out": facts * 8_000 / 1e9,
            },
        ),
        "opening": Activity(
            "opening of a panel",
            (
                Calls("Authorizer", 1, CHECK_SECONDS),
                Calls("Sockets", 3, FRAME_SECONDS),
                Calls("Http", OPENING_REQUESTS, REQUEST_SECONDS),
            ),
            {
                "write_unit": ATTACH_WRITES + DETACH_WRITES,
                "read_unit": 2 * OPENING_REQUESTS,
                "socket_message": 2,
                "rest_request": OPENING_REQUESTS,
                "log_gb": (3 + OPENING_REQUESTS) * ACCESS_KB / 1e6,
                "gb_out": OPENING_REQUESTS * RESPONSE_BYTES / 1e9,
            },
            frames_in=1,
        ),
        "panel_hour": Activity(
            "hour of an open panel at rest",
            (
                Calls("Sockets", panel.sent + 2 * panel.connections, FRAME_SECONDS),
                Calls("Authorizer", panel.connections, CHECK_SECONDS),
            ),
            {
                "connection_minute": 60,
                "socket_message": panel.sent + panel.received,
                "write_unit": panel.connections * (ATTACH_WRITES + DETACH_WRITES),
                "log_gb": (panel.sent + 2 * panel.connections) * ACCESS_KB / 1e6,
            },
            frames_in=panel.sent,
        ),
        "desk_stay": Activity(
            f"stay at a desk with {profile.desk_messages:g} messages and replies",
            (
                Calls("Sockets", profile.desk_messages, FRAME_SECONDS),
                Calls("Turns", profile.desk_messages + 1, OWN_SECONDS),
                Calls("Http", profile.desk_messages + 3, REQUEST_SECONDS),
            ),
            {
                "write_unit": sum(desk[act].write_units for act in ("arrival, by a trigger", "take", "return"))
                + profile.desk_messages
                * (desk["message of the user"].write_units + desk["reply of the person"].write_units),
                "read_unit": 10 + 4 * profile.desk_messages,
                "socket_message": 8 + 5 * profile.desk_messages,
                "rest_request": profile.desk_messages + 3,
                "fifo_request": SQS_OF_TURN * (profile.desk_messages + 1),
                "log_gb": (2 * profile.desk_messages + 3) * ACCESS_KB / 1e6,
            },
            frames_in=profile.desk_messages,
        ),
        "desk_hour": Activity(
            "hour of an open list of a desk",
            (Calls("Streams", 60, 60),),
            {
                "read_unit": 3_600 / DESK_POLL_SECONDS * DESK_POLL_READS,
                "rest_request": 60,
                "log_gb": 60 * ACCESS_KB / 1e6,
            },
        ),
        "reminder": Activity(
            "reminder without a turn",
            (Calls("Sweeper", 1, REQUEST_SECONDS),),
            {
                **_sum_table_units(due["single: creating it"], due["single: starting it"]),
                "queue_request": 4,
                "fifo_request": 1,
            },
        ),
        "background_task": Activity(
            "task in the background without turns",
            (Calls("Sweeper", 1, REQUEST_SECONDS), Calls("Turns", TASK_CHECKS, OWN_SECONDS)),
            {
                **_sum_table_units(
                    due["background task: beginning it"],
                    *[due["background task: checking it"]] * TASK_CHECKS,
                    due["background task: its result"],
                ),
                "queue_request": 4,
                "fifo_request": TASK_CHECKS * SQS_OF_TURN,
            },
        ),
        "document": Activity(
            f"document of {profile.document_chunks:g} chunks",
            (Calls("Ingestion", 6 + batches, (DOCUMENT_SECONDS + batches * BATCH_SECONDS) / (6 + batches)),),
            {
                "write_unit": 20,
                "read_unit": 20,
                "transition": DOCUMENT_TRANSITIONS,
                "s3_write": 4 + batches * searches,
                "s3_read": 8 + batches * searches,
                "embedded_token": profile.document_chunks * CHUNK_TOKENS,
                "log_gb": TRANSITION_KB * DOCUMENT_TRANSITIONS / 1e6,
            },
        ),
    }


def _sum_table_units(*steps: Units) -> dict[str, float]:
    """Return the sums of capacity units, by unit of the price list."""
    return {"write_unit": sum(step.write_units for step in steps), "read_unit": sum(step.read_units for step in steps)}
