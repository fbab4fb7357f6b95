"""Slack as a channel of Baton: people answer at desks from Slack, and users talk to agents there."""

from baton_slack.channel import Channel, Worker
from baton_slack.configuration import Configuration, ConfigurationError, PeopleChannel, Users, read_configuration
from baton_slack.doors import Doors, Reply
from baton_slack.failures import pause_after
from baton_slack.identities import EmbedKey, Identity, Member, TokenMaker
from baton_slack.server import make_app
from baton_slack.storage import Job, Jobs, Records, SqliteStorage

__all__ = [
    "Channel",
    "Configuration",
    "ConfigurationError",
    "Doors",
    "EmbedKey",
    "Identity",
    "Job",
    "Jobs",
    "Member",
    "PeopleChannel",
    "Records",
    "Reply",
    "SqliteStorage",
    "TokenMaker",
    "Users",
    "Worker",
    "make_app",
    "pause_after",
    "read_configuration",
]
