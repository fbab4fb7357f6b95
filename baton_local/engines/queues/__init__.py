"""The queues of the local cloud: SQS's rules, kept in SQLite, served by SQS's JSON protocol."""

from baton_local.engines.queues.engine import Queues

__all__ = ["Queues"]
