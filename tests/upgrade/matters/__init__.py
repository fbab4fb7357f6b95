"""The matters that one release begins and another continues, in the order in which they are continued."""

from tests.upgrade.matters.conversations import ClosedSession, Conversation, Fork, LostRun
from tests.upgrade.matters.later import BackgroundTask, Reminder
from tests.upgrade.matters.matter import Matter
from tests.upgrade.matters.tenants import ForgottenUser, OwnAgent
from tests.upgrade.matters.waiting import Approval, DeskTaken, DeskWaiting, UnfinishedWorkflow, Workflow

MATTERS: tuple[Matter, ...] = (
    Conversation(),
    ClosedSession(),
    Fork(),
    Approval(),
    DeskWaiting(),
    DeskTaken(),
    Workflow(),
    UnfinishedWorkflow(),
    OwnAgent(),
    ForgottenUser(),
    BackgroundTask(),
    LostRun(),
    Reminder(),
)
