"""The table's keys, without those of agents' records (``agent_keys``). Only these two modules build keys."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from baton.adapters.dynamodb import key_forms as forms
from baton.adapters.dynamodb.key_forms import Key
from baton.domain.schedules.schedule import derive_user_place
from baton.domain.tenants.identity import Scope

A2A_TASK = "A2A#"
AT = "AT#"
"""The prefix of the sort keys of ``desk_place``."""
AUDIT = "AUDIT#"
FLOW = "FLOW#"
LIVE = "LIVE#"
"""The prefix of the sort keys of connections, and of requests to a run in progress."""
PUSH = "PUSH#"
SCHEDULE = "SCHEDULE#"
SCHEDULER = "USER#"
UPLOAD = "UPLOAD#"
THREAD_PROCEDURE = "PROCEDURE#"
"""The prefix of the sort keys of ``thread_procedure``."""
_MAX_ENCODED_USER = 512
"""Characters of a user's id in a key, percent-encoded. A longer one is replaced by its digest."""


def partition(scope: Scope, thread_id: str) -> str:
    """Return the partition of everything that belongs to one thread."""
    return f"{scope.tenant_id}#{thread_id}"


def thread_id_of(scope: Scope, item: Mapping[str, Any]) -> str:
    """Return the id of the thread to which an item belongs."""
    thread_id: str = item["PK"].removeprefix(partition(scope, ""))
    return thread_id


def user_listing(scope: Scope) -> str:
    """Return the partition of the ``listing`` index with a user's threads and workflows."""
    return f"{scope.tenant_id}#~USER#{_encode_user(scope)}"


def user_episodes(scope: Scope) -> str:
    """Return the partition of the ``listing`` index with a user's episodes."""
    return f"{scope.tenant_id}#~EPISODES#{_encode_user(scope)}"


def user_completions(scope: Scope) -> str:
    """Return the partition of the ``listing`` index with a user's completed workflows."""
    return f"{scope.tenant_id}#~COMPLETED#{_encode_user(scope)}"


def _encode_user(scope: Scope) -> str:
    encoded = quote(scope.user_id, safe="")
    if len(encoded) > _MAX_ENCODED_USER:  # an index key holds 2,048 bytes
        return "~" + hashlib.sha256(scope.user_id.encode()).hexdigest()
    return encoded


# Partitions of a tenant.
fork_listing = forms.Partition("FORKS")
"""The partition of the ``listing`` index with the forks of a thread."""
desk = forms.Partition("DESK")
"""The partition of the conversations at a desk."""
forgetting = forms.TenantPartition("FORGET")
"""The partition of requests to forget."""
episode_places = forms.Partition("EPISODE")
"""The partition of the item that maps an episode's id to its record."""
_prompts = forms.TenantPartition("PROMPTS")
_settings = forms.TenantPartition("SETTINGS")

activity = forms.MemberKey(forms.Partition("ACTIVITY"), "")
"""The counts of the user with a tag, or of the tenant, by their kind."""

spending = forms.MemberKey(forms.Partition("SPENDING"), "")
"""The spending of the tenant, or of an agent or user of it, by the kind of account."""

# Lists to which many items are added at the same time. One partition of an index takes 1,000 writes a second.
tenant_listings = forms.TenantShards("THREADS")
"""The partitions of the ``listing`` index with threads, by activity."""
tenant_episodes = forms.TenantShards("ALLEPISODES")
"""The partitions of the ``listing`` index with episodes, by their ends."""
completion_listings = forms.TenantShards("ALLCOMPLETED")
"""The partitions of the ``listing`` index with completed workflows, by their ends."""
dead_delivery_listings = forms.TenantShards("DEADWEBHOOKS")
"""The partitions of the ``listing`` index with deliveries to webhooks that were given up, by the time of giving up."""
audit_listings = forms.TenantShards("AUDIT")
"""The partitions of the ``listing`` index with audit records, including records that belong to no thread."""
idle_shards = forms.Shards("IDLE", 8)
"""The partitions of the ``idle`` index for threads. Each session is written once, so 8,000 can begin per second."""

due_shards = forms.Shards("DUE", 8)
"""The partitions of the ``idle`` index for records that begin runs by themselves. Each such run writes twice."""
schedulers = forms.TenantPartition("SCHEDULERS")
"""The partition that names the users of a tenant who have schedules."""

# Items of a thread.
message = forms.NumberedKey(partition, "MSG#")
feedback = forms.NumberedKey(partition, "FEEDBACK#")
"""The feedback on the message at an ordinal."""
redaction = forms.NumberedKey(partition, "REDACTED#")
"""A message's text without personal data."""
log = forms.NumberedKey(partition, "LOG#")
"""A piece of the log, by the number of its first event."""
live_ask = forms.NumberedKey(partition, "LIVE#ASK#")
"""A question to the worker that holds the lease with a fence."""
episode = forms.NumberedKey(partition, "EPISODE#", digits=6)
turn = forms.MemberKey(partition, "TURN#")
"""A turn, by the id of its message."""
a2a_task = forms.MemberKey(partition, A2A_TASK)
"""An A2A task's mark, by the message that began the task."""
live_connection = forms.MemberKey(partition, "LIVE#CONN#")
live_cancel = forms.MemberKey(partition, "LIVE#CANCEL#")
later_run = forms.MemberKey(partition, "DUE#")
"""A message that is put off until a time, by its id."""
background_task = forms.MemberKey(partition, "BACKGROUND#")
"""A task in the background."""
live_message = forms.MemberKey(partition, "LIVE#MESSAGE#")
"""A message that waits for the end of a run, by its id."""
task_place = forms.MemberKey(partition, "TASKAT#")
"""The item that maps a sub-task's id to its run."""
capture = forms.MemberKey(partition, "CAPTURE#")
"""The record of a capture."""
completion = forms.MemberKey(partition, "COMPLETED#")
"""A completed workflow, with the thread in which it ended."""
completion_entry = forms.MemberKey(partition, "COMPLETEDAT#")
"""The item that lists a completed workflow for the tenant."""
dead_delivery = forms.MemberKey(partition, "WEBHOOK#")
"""A delivery to a webhook that was given up."""
call = forms.UnderNumber(partition, "CALL#")
"""A tool call, under the first ordinal of its run, which is the same in every attempt."""
task = forms.UnderNumber(partition, "TASK#")
"""A sub-task, under the first ordinal of its run."""
remote_task = forms.UnderNumber(partition, "REMOTE#")
"""A remote agent's task, under the first ordinal of its run, which is the same in every attempt."""
step = forms.UnderNumber(partition, "STEP#")
"""A step, under the first ordinal of its exchange, which is the same in every attempt and run."""

# Items of a user or a tenant.
user_flow = forms.ListedKey(user_listing, FLOW)
"""A workflow in its user's list."""
user_upload = forms.ListedKey(user_listing, UPLOAD)
"""The note that a user may upload files under a thread id."""
schedule = forms.ListedKey(user_listing, SCHEDULE)
"""A schedule in its user's list."""
system_prompt = forms.ListedKey(_prompts, "PROMPT#")
"""An agent's system prompt, by its digest. Records of the tenant's runs refer to it."""
forget_request = forms.ListedKey(forgetting, "REQUEST#")
"""A request to forget."""
forgotten_thread = forms.ListedKey(forgetting, "THREAD#")
"""The record of a forgotten thread."""


def thread(scope: Scope, thread_id: str) -> Key:
    """Return the key of a thread's own item."""
    return {"PK": partition(scope, thread_id), "SK": "THREAD"}


def live_reader(scope: Scope, thread_id: str) -> Key:
    """Return the key of the note that a client is reading the thread's log."""
    return {"PK": partition(scope, thread_id), "SK": "LIVE#READER"}


def live_typing(scope: Scope, thread_id: str) -> Key:
    """Return the key of the note that the thread's user is typing."""
    return {"PK": partition(scope, thread_id), "SK": "LIVE#TYPING"}


def push_config(scope: Scope, thread_id: str, root: str, config_id: str) -> Key:
    """Return the key of a configuration of push notifications: a digest, because both ids may hold any character."""
    digest = hashlib.sha256(f"{root}\0{config_id}".encode()).hexdigest()[:40]
    return {"PK": partition(scope, thread_id), "SK": f"{PUSH}{digest}"}


def context(scope: Scope, thread_id: str, run_id: str) -> Key:
    """Return the key of the inspector's record of a run: a digest, because clients choose run ids."""
    digest = hashlib.sha256(run_id.encode("utf-8", "replace")).hexdigest()[:40]
    return {"PK": partition(scope, thread_id), "SK": f"CONTEXT#{digest}"}


def episode_place(scope: Scope, episode_id: str, thread_id: str, number: int) -> Key:
    """Return the key of the item of ``episode_places``. It contains thread and number, so lists need not read items."""
    return {"PK": episode_places(scope, episode_id), "SK": f"AT#{thread_id}#{number:06d}"}


def desk_place(scope: Scope, desk_id: str, arrived_at: int, thread_id: str) -> Key:
    """Return the key of a conversation's place at a desk. ``arrived_at`` is in milliseconds since 1970."""
    return {"PK": desk(scope, desk_id), "SK": f"{AT}{arrived_at:015d}#{thread_id}"}


def scheduler(scope: Scope) -> Key:
    """Return the key of the note that the user has, or had, schedules."""
    return {"PK": schedulers(scope), "SK": f"{SCHEDULER}{derive_user_place(scope.user_id)}"}


def user_time_zone(scope: Scope) -> Key:
    """Return the key of a user's last time zone."""
    return {"PK": user_listing(scope), "SK": "ZONE"}


def mcp_call(scope: Scope, session_id: str, request_id: str) -> Key:
    """Return the key of the note that names the run of a call over MCP. Clients choose both ids."""
    digest = hashlib.sha256(f"{session_id}\0{request_id}".encode()).hexdigest()
    return {"PK": user_listing(scope), "SK": f"MCPCALL#{digest}"}


def thread_procedure(scope: Scope, thread_id: str, owner: str, slug: str, version: int) -> Key:
    """Return the key of a thread's note about a version made from it. Forgetting finds the version by the note."""
    return {"PK": partition(scope, thread_id), "SK": f"{THREAD_PROCEDURE}{owner}#{slug}#{version:06d}"}


def audit(scope: Scope, thread_id: str | None, sortable_id: str) -> Key:
    """Return the key of an audit record, in its thread's partition or in one of the tenant."""
    hash_key = audit_listings.of(scope, sortable_id) if thread_id is None else partition(scope, thread_id)
    return {"PK": hash_key, "SK": f"{AUDIT}{sortable_id}"}


def owner(thread_id: str) -> Key:
    """Return the key of the item that names a thread id's tenant. Partitions of no tenant start with ``~``."""
    return {"PK": f"~THREAD#{thread_id}", "SK": "OWNER"}


def connection(connection_id: str, attachment: str = "") -> Key:
    """Return the key of a connection's attachment to a thread, in the connection's partition."""
    return {"PK": f"~CONN#{connection_id}", "SK": f"AT#{attachment}"}


def forgotten_user(scope: Scope) -> Key:
    """Return the key of the record of a forgotten user: the latest request and its cut-off."""
    return {"PK": forgetting(scope), "SK": f"USER#{_encode_user(scope)}"}


def retention(scope: Scope) -> Key:
    """Return the key of a tenant's retention."""
    return {"PK": _settings(scope), "SK": "RETENTION"}


def tenant_limits(scope: Scope) -> Key:
    """Return the key of a tenant's limits."""
    return {"PK": _settings(scope), "SK": "LIMITS"}


def removal(tenant_id: str) -> Key:
    """Return the key of a tenant's removal. It is outside of the tenant's partitions, because it outlasts them."""
    return {"PK": f"~REMOVAL#{tenant_id}", "SK": "REMOVAL"}


RETENTIONS = "~RETENTION"
"""The partition that names the tenants with a retention, and when it is next enforced."""


def retention_due(tenant_id: str) -> Key:
    """Return the key of the note that says when a tenant's retention is next enforced."""
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
    """Return the key of a waiting run. ``since``, in milliseconds since 1970, is the order of a tenant's runs."""
    return {"PK": pipeline(name), "SK": f"{waiting_runs(tenant_id)}{since:015d}#{subject}"}


def waiting_runs(tenant_id: str) -> str:
    """Return the prefix of the sort keys of a tenant's waiting runs."""
    return f"{WAITING}{tenant_id}#"


def waiting_subject(name: str, subject: str) -> Key:
    """Return the key of the note that a run for ``subject`` waits."""
    return {"PK": pipeline(name), "SK": f"SUBJECT#{subject}"}
