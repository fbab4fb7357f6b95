"""The table's keys, without those of what agents have (``agent_keys``). Only these two modules build them."""

from __future__ import annotations

import hashlib
import re
import zlib
from urllib.parse import quote

from baton.domain.tenants.identity import Scope

Key = dict[str, str]

A2A_TASK = "A2A#"
AUDIT = "AUDIT#"
FLOW = "FLOW#"
PUSH = "PUSH#"
UPLOAD = "UPLOAD#"
THREAD_PROCEDURE = "PROCEDURE#"
"""The prefix of the sort keys of ``thread_procedure``."""
_MAX_ENCODED_USER = 512
IDLE_SHARDS = 8
"""Partitions of the idle index. It is written once per session, so eight take 8,000 new sessions a second."""
LISTING_SHARDS = 8
"""Partitions of a tenant's lists. One partition of an index takes 1,000 writes a second."""


def partition(scope: Scope, thread_id: str) -> str:
    """Return the partition of everything that belongs to one thread."""
    return f"{scope.tenant_id}#{thread_id}"


def thread(scope: Scope, thread_id: str) -> Key:
    return {"PK": partition(scope, thread_id), "SK": "THREAD"}


def message(scope: Scope, thread_id: str, ordinal: int) -> Key:
    return {"PK": partition(scope, thread_id), "SK": message_sort(ordinal)}


def message_sort(ordinal: int) -> str:
    return f"MSG#{ordinal:012d}"


def turn(scope: Scope, thread_id: str, message_id: str) -> Key:
    return {"PK": partition(scope, thread_id), "SK": f"TURN#{message_id}"}


def a2a_task(scope: Scope, thread_id: str, root: str) -> Key:
    """Return the key of an A2A task's mark, by the message that began the task."""
    return {"PK": partition(scope, thread_id), "SK": f"{A2A_TASK}{root}"}


def push_config(scope: Scope, thread_id: str, root: str, config_id: str) -> Key:
    """Return the key of a configuration of push notifications: a digest, because both ids may hold any character."""
    digest = hashlib.sha256(f"{root}\0{config_id}".encode()).hexdigest()[:40]
    return {"PK": partition(scope, thread_id), "SK": f"{PUSH}{digest}"}


def context(scope: Scope, thread_id: str, run_id: str) -> Key:
    """Return the key of the inspector's record of a run: a digest, because clients choose run ids."""
    digest = hashlib.sha256(run_id.encode("utf-8", "replace")).hexdigest()[:40]
    return {"PK": partition(scope, thread_id), "SK": f"CONTEXT#{digest}"}


def system_prompt(scope: Scope, digest: str) -> Key:
    """Return the key of an agent's system prompt that records of the tenant's runs refer to."""
    return {"PK": f"{scope.tenant_id}#~PROMPTS", "SK": f"PROMPT#{digest}"}


def feedback(scope: Scope, thread_id: str, ordinal: int) -> Key:
    """Return the key of the feedback on the message at ``ordinal``."""
    return {"PK": partition(scope, thread_id), "SK": feedback_sort(ordinal)}


def feedback_sort(ordinal: int) -> str:
    return f"FEEDBACK#{ordinal:012d}"


def log(scope: Scope, thread_id: str, first_seq: int) -> Key:
    return {"PK": partition(scope, thread_id), "SK": log_sort(first_seq)}


def log_sort(seq: int) -> str:
    return f"LOG#{seq:012d}"


def live_connection(scope: Scope, thread_id: str, connection_id: str) -> Key:
    return {"PK": partition(scope, thread_id), "SK": f"LIVE#CONN#{connection_id}"}


def live_cancel(scope: Scope, thread_id: str, run_id: str) -> Key:
    return {"PK": partition(scope, thread_id), "SK": f"LIVE#CANCEL#{run_id}"}


def live_ask(scope: Scope, thread_id: str, fence: int) -> Key:
    return {"PK": partition(scope, thread_id), "SK": f"LIVE#ASK#{fence:012d}"}


def live_reader(scope: Scope, thread_id: str) -> Key:
    """Return the key of the note that somebody reads the thread's log."""
    return {"PK": partition(scope, thread_id), "SK": "LIVE#READER"}


def episode(scope: Scope, thread_id: str, number: int) -> Key:
    return {"PK": partition(scope, thread_id), "SK": episode_sort(number)}


def episode_sort(number: int) -> str:
    return f"EPISODE#{number:06d}"


def episode_places(scope: Scope, episode_id: str) -> str:
    """Return the partition of the item that leads from an episode's id to its record."""
    return f"{scope.tenant_id}#~EPISODE#{episode_id}"


def episode_place(scope: Scope, episode_id: str, thread_id: str, number: int) -> Key:
    """Return the key of that item. Thread and number are in it, so that lists need not read it."""
    return {"PK": episode_places(scope, episode_id), "SK": f"AT#{thread_id}#{number:06d}"}


def user_episodes(scope: Scope) -> str:
    """Return the partition of the ``listing`` index with a user's episodes."""
    return f"{scope.tenant_id}#~EPISODES#{_encode_user(scope)}"


def tenant_episodes(scope: Scope, episode_id: str) -> str:
    """Return the partition of the ``listing`` index with an episode in its tenant's list, by its end."""
    return all_tenant_episodes(scope)[shard(episode_id, LISTING_SHARDS)]


def all_tenant_episodes(scope: Scope) -> list[str]:
    """Return every partition of the ``listing`` index with episodes of a tenant."""
    return [f"{scope.tenant_id}#~ALLEPISODES#{number}" for number in range(LISTING_SHARDS)]


def tenant_of_episodes(listing: str) -> str | None:
    """Return the tenant of a partition of ``all_tenant_episodes``, None for another partition."""
    tenant_id, _, rest = listing.partition("#")
    return tenant_id if rest.startswith("~ALLEPISODES#") else None


def redaction(scope: Scope, thread_id: str, ordinal: int) -> Key:
    """Return the key of a message's text without personal data."""
    return {"PK": partition(scope, thread_id), "SK": redaction_sort(ordinal)}


def redaction_sort(ordinal: int) -> str:
    return f"REDACTED#{ordinal:012d}"


def redacted_ordinal(sort: str) -> int:
    """Return the ordinal in a sort key of ``redaction_sort``."""
    return int(sort.removeprefix("REDACTED#"))


def is_fact_id(fact_id: str) -> bool:
    """Return whether ``fact_id`` can be a name in an expression."""
    return re.fullmatch(r"fact_[0-9a-f]{32}", fact_id) is not None


def call(scope: Scope, thread_id: str, first_ordinal: int, call_id: str) -> Key:
    """Return the key of a tool call, below the first ordinal of its run. It is the same in every attempt."""
    return {"PK": partition(scope, thread_id), "SK": f"{call_sort(first_ordinal)}#{call_id}"}


def call_sort(first_ordinal: int) -> str:
    """Return the sort key just before the calls of the run that begins at ``first_ordinal``."""
    return f"CALL#{first_ordinal:012d}"


def task(scope: Scope, thread_id: str, first_ordinal: int, task_id: str) -> Key:
    """Return the key of a sub-task, below the first ordinal of its run."""
    return {"PK": partition(scope, thread_id), "SK": f"{task_sort(first_ordinal)}#{task_id}"}


def task_sort(first_ordinal: int) -> str:
    """Return the sort key just before the sub-tasks of the run that begins at ``first_ordinal``."""
    return f"TASK#{first_ordinal:012d}"


def task_place(scope: Scope, thread_id: str, task_id: str) -> Key:
    """Return the key of the item that maps a sub-task's id to its run."""
    return {"PK": partition(scope, thread_id), "SK": f"TASKAT#{task_id}"}


def remote_task(scope: Scope, thread_id: str, first_ordinal: int, message_id: str) -> Key:
    """Return the key of a remote agent's task, below the first ordinal of its run. It is the same in every attempt."""
    return {"PK": partition(scope, thread_id), "SK": f"{remote_task_sort(first_ordinal)}#{message_id}"}


def remote_task_sort(first_ordinal: int) -> str:
    """Return the sort key just before the remote agents' tasks of the run that begins at ``first_ordinal``."""
    return f"REMOTE#{first_ordinal:012d}"


def step(scope: Scope, thread_id: str, first_ordinal: int, step_id: str) -> Key:
    """Return the key of a step, below the first ordinal of its exchange. It is the same in every attempt and run."""
    return {"PK": partition(scope, thread_id), "SK": f"{step_sort(first_ordinal)}#{step_id}"}


def step_sort(first_ordinal: int) -> str:
    """Return the sort key just before the steps of the exchange that begins at ``first_ordinal``."""
    return f"STEP#{first_ordinal:012d}"


def user_flow(scope: Scope, workflow_id: str) -> Key:
    """Return the key of a workflow in its user's list."""
    return {"PK": user_listing(scope), "SK": f"{FLOW}{workflow_id}"}


def user_upload(scope: Scope, thread_id: str) -> Key:
    """Return the key of the note that a user may upload files under a thread id."""
    return {"PK": user_listing(scope), "SK": f"{UPLOAD}{thread_id}"}


def user_time_zone(scope: Scope) -> Key:
    """Return the key of the time zone that a user was in last."""
    return {"PK": user_listing(scope), "SK": "ZONE"}


def mcp_call(scope: Scope, session_id: str, request_id: str) -> Key:
    """Return the key of the note of which run a call over MCP has begun. Clients choose both ids."""
    named = hashlib.sha256(f"{session_id}\0{request_id}".encode()).hexdigest()
    return {"PK": user_listing(scope), "SK": f"MCPCALL#{named}"}


def thread_procedure(scope: Scope, thread_id: str, owner: str, slug: str, version: int) -> Key:
    """Return the key of the note in a thread that a version was made of it. It is how forgetting finds the version."""
    return {"PK": partition(scope, thread_id), "SK": f"{THREAD_PROCEDURE}{owner}#{slug}#{version:06d}"}


def capture(scope: Scope, thread_id: str, capture_id: str) -> Key:
    """Return the key of the record of a capture."""
    return {"PK": partition(scope, thread_id), "SK": f"CAPTURE#{capture_id}"}


def audit(scope: Scope, thread_id: str | None, sortable_id: str) -> Key:
    """Return the key of an audit record, in its thread's partition or in one of the tenant."""
    hash_key = audit_listing(scope, sortable_id) if thread_id is None else partition(scope, thread_id)
    return {"PK": hash_key, "SK": f"{AUDIT}{sortable_id}"}


def owner(thread_id: str) -> Key:
    """Return the key of the item that names a thread id's tenant. Partitions of no tenant start with ``~``."""
    return {"PK": f"~THREAD#{thread_id}", "SK": "OWNER"}


def connection(connection_id: str, attachment: str = "") -> Key:
    """Return the key of a connection's attachment to a thread, in the connection's partition."""
    return {"PK": f"~CONN#{connection_id}", "SK": f"AT#{attachment}"}


def user_listing(scope: Scope) -> str:
    """Return the partition of the ``listing`` index with a user's threads. The user's workflows are there too."""
    return f"{scope.tenant_id}#~USER#{_encode_user(scope)}"


def fork_listing(scope: Scope, parent_thread_id: str) -> str:
    """Return the partition of the ``listing`` index with a thread's forks."""
    return f"{scope.tenant_id}#~FORKS#{parent_thread_id}"


def tenant_listing(scope: Scope, thread_id: str) -> str:
    """Return the partition of the ``listing`` index with a thread in its tenant's list, by activity."""
    return tenant_listings(scope)[shard(thread_id, LISTING_SHARDS)]


def tenant_listings(scope: Scope) -> list[str]:
    """Return every partition of the ``listing`` index with threads of a tenant."""
    return [f"{scope.tenant_id}#~THREADS#{number}" for number in range(LISTING_SHARDS)]


def audit_listing(scope: Scope, sortable_id: str) -> str:
    """Return the partition of the ``listing`` index with an audit record. Records of no thread are there too."""
    return audit_listings(scope)[shard(sortable_id, LISTING_SHARDS)]


def audit_listings(scope: Scope) -> list[str]:
    """Return every partition of the ``listing`` index with audit records of a tenant."""
    return [f"{scope.tenant_id}#~AUDIT#{number}" for number in range(LISTING_SHARDS)]


def forgetting(scope: Scope) -> str:
    """Return the partition of a tenant's requests to forget."""
    return f"{scope.tenant_id}#~FORGET"


def forget_request(scope: Scope, request_id: str) -> Key:
    """Return the key of a request to forget."""
    return {"PK": forgetting(scope), "SK": f"REQUEST#{request_id}"}


def forgotten_user(scope: Scope) -> Key:
    """Return the key of the record of a forgotten user: the latest request and its cut-off."""
    return {"PK": forgetting(scope), "SK": f"USER#{user_listing(scope).partition('~USER#')[2]}"}


def forgotten_thread(scope: Scope, thread_id: str) -> Key:
    """Return the key of what is remembered of a forgotten thread."""
    return {"PK": forgetting(scope), "SK": f"THREAD#{thread_id}"}


def retention(scope: Scope) -> Key:
    """Return the key of a tenant's retention."""
    return {"PK": f"{scope.tenant_id}#~SETTINGS", "SK": "RETENTION"}


def tenant_limits(scope: Scope) -> Key:
    """Return the key of a tenant's limits."""
    return {"PK": f"{scope.tenant_id}#~SETTINGS", "SK": "LIMITS"}


def activity(scope: Scope, kind: str, user: str) -> Key:
    """Return the key of the counts of a tenant, or of the user with this tag."""
    return {"PK": f"{scope.tenant_id}#~ACTIVITY#{user}", "SK": kind}


RETENTIONS = "~RETENTION"
"""The partition that names the tenants with a retention, and when it is next enforced."""


def retention_due(tenant_id: str) -> Key:
    return {"PK": RETENTIONS, "SK": tenant_id}


WAITING = "WAITS#"
"""The prefix of sort keys of ``waiting_run``."""


def pipeline(name: str) -> str:
    """Return the partition of a pipeline's runs, of all tenants."""
    return f"~PIPELINE#{name}"


def running_runs(name: str) -> Key:
    """Return the key of the runs of a pipeline that are in progress."""
    return {"PK": pipeline(name), "SK": "RUNNING"}


def waiting_run(name: str, tenant_id: str, since: int, subject: str) -> Key:
    """Return the key of a run that waits ``since`` a time in milliseconds. A tenant's runs are in their order."""
    return {"PK": pipeline(name), "SK": f"{waiting_runs(tenant_id)}{since:015d}#{subject}"}


def waiting_runs(tenant_id: str) -> str:
    """Return the prefix of the sort keys of a tenant's waiting runs."""
    return f"{WAITING}{tenant_id}#"


def waiting_subject(name: str, subject: str) -> Key:
    """Return the key of the note that a run for ``subject`` waits."""
    return {"PK": pipeline(name), "SK": f"SUBJECT#{subject}"}


def idle_shards() -> list[str]:
    """Return every partition of the ``idle`` index."""
    return [f"~IDLE#{number}" for number in range(IDLE_SHARDS)]


def idle_shard(thread_id: str) -> str:
    """Return the partition of the ``idle`` index for a thread."""
    return idle_shards()[shard(thread_id, IDLE_SHARDS)]


def _encode_user(scope: Scope) -> str:
    encoded = quote(scope.user_id, safe="")
    if len(encoded) > _MAX_ENCODED_USER:  # an index key holds 2,048 bytes
        return "~" + hashlib.sha256(scope.user_id.encode()).hexdigest()
    return encoded


def shard(name: str, shards: int) -> int:
    """Return the shard of a name. It never changes. The whole name counts, because ids may begin with the time."""
    return zlib.crc32(name.encode()) % shards
