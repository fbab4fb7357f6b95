"""The services that an agent at work uses."""

from __future__ import annotations

from dataclasses import dataclass, field

from baton.agents.context_budgets import ContextBudgets
from baton.memory.agent_memory import AgentMemory
from baton.ports.agent_client import AgentClient
from baton.ports.audit import AuditLog
from baton.ports.chat_model import ChatModel, TokenCounter
from baton.ports.clock import Clock
from baton.ports.files import Files
from baton.ports.run_records import RunRecords
from baton.ports.tools import Tools
from baton.registry.agent_registry import AgentRegistry


@dataclass(frozen=True, slots=True)
class AgentServices:
    """The services that an agent at work uses, whether it answers the user or is consulted."""

    registry: AgentRegistry
    model: ChatModel
    default_model: str
    light_model: str
    """The model for tasks that must be quick rather than clever."""
    memory: AgentMemory
    tools: Tools
    agent_client: AgentClient
    records: RunRecords
    files: Files
    counter: TokenCounter
    audit: AuditLog
    clock: Clock
    budgets: ContextBudgets = field(default_factory=ContextBudgets)
    """The tokens that a prompt may have, by model."""
