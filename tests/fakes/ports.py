"""All ports of Baton as fakes: ``composition.app.build`` takes them as it takes a deployment's."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

from baton.adapters.tokens.hook_signatures import SignatureVerifier
from baton.adapters.tokens.sealed_cursors import SealedCursors
from baton.adapters.tokens.signing_keys import DerivedSigningKey
from baton.adapters.tokens.webhook_signatures import StandardWebhookSigner
from baton.composition.ports import Ports
from baton.composition.store_ports import StorePorts
from baton.domain.documents.pipelines import PipelineLimits
from baton.domain.documents.source import SourceRules
from baton.entry.jobs.pipeline_admission import PipelineAdmission
from baton_testing.fakes.agents.shipped_agents import FakeShippedAgents
from baton_testing.fakes.agents.tools import FakeTools
from baton_testing.fakes.clock import FakeClock
from baton_testing.fakes.ports import MemoryPorts
from tests.fakes.captures import FakeAnnouncements, FakeCaptures, FakeCaptureStore
from tests.fakes.chat_model import ScriptedChatModel
from tests.fakes.documents import FakeDocumentFiles, FakeIngestions
from tests.fakes.erasure import FakeErasure, FakeForgettings, FakeObjectErasure, FakeRetentions, FakeTenantErasure
from tests.fakes.evaluations import FakeEvaluations
from tests.fakes.feedback import FakeFeedback
from tests.fakes.mcp_calls import FakeMcpCalls
from tests.fakes.pipelines import FakeExecutions, FakePipelineQueue
from tests.fakes.push import FakePushConfigs, FakeWebhooks, known_key
from tests.fakes.searched_tenants import FakeSearchedTenants
from tests.fakes.sources import FakeSourceObjects, FakeSources, FakeWebPages
from tests.fakes.tenant_export import FakeTenantFiles, FakeTenantRecords
from tests.fakes.text_extractor import PlainTextExtractor
from tests.fakes.token_counter import WordCounter
from tests.fakes.token_verifier import OpenVerifier
from tests.fakes.webhooks import FakeDeadDeliveries

STORES = [
    name
    for name, value in vars(StorePorts).items()
    if isinstance(value, cached_property) and name not in ("table", "bodies", "lease_times", "removed_tenants")
]
"""The names of the clock and of all ports that keep something in the table."""


class FakePorts(MemoryPorts):
    """Fakes in place of all ports of a deployment. A test gives the ports that it wants to script."""

    with_learning = True
    forget_wait_seconds = 960.0
    pipelines_since = None
    source_rules = SourceRules()
    push_issuer = "http://baton.test"
    default_model = "test-model"
    light_model = "light-model"
    card_signer = None

    @cached_property
    def push_configs(self) -> FakePushConfigs:
        return FakePushConfigs(self.clock)

    @cached_property
    def captures(self) -> FakeCaptures:
        return FakeCaptures()

    @cached_property
    def capture_records(self) -> FakeCaptureStore:
        return FakeCaptureStore()

    @cached_property
    def clock(self) -> FakeClock:
        return FakeClock()

    @cached_property
    def feedback(self) -> FakeFeedback:
        return FakeFeedback(self.store)

    @cached_property
    def evaluations(self) -> FakeEvaluations:
        return FakeEvaluations(self.clock)

    @cached_property
    def mcp_calls(self) -> FakeMcpCalls:
        return FakeMcpCalls(self.clock)

    @cached_property
    def document_files(self) -> FakeDocumentFiles:
        return FakeDocumentFiles()

    @cached_property
    def sources(self) -> FakeSources:
        return FakeSources()

    @cached_property
    def web_pages(self) -> FakeWebPages:
        return FakeWebPages()

    @cached_property
    def source_objects(self) -> FakeSourceObjects:
        return FakeSourceObjects()

    @cached_property
    def ingestions(self) -> FakeIngestions:
        return FakeIngestions()

    @cached_property
    def extractor(self) -> PlainTextExtractor:
        return PlainTextExtractor()

    @cached_property
    def webhooks(self) -> FakeWebhooks:
        return FakeWebhooks()

    @cached_property
    def webhook_receivers(self) -> FakeWebhooks:
        return FakeWebhooks()

    @cached_property
    def hook_verifier(self) -> SignatureVerifier:
        return SignatureVerifier(lambda name: "")

    @cached_property
    def webhook_signer(self) -> StandardWebhookSigner:
        return StandardWebhookSigner({}.__getitem__, is_local=True)

    @cached_property
    def dead_deliveries(self) -> FakeDeadDeliveries:
        return FakeDeadDeliveries(self.clock)

    @cached_property
    def announcements(self) -> FakeAnnouncements:
        return FakeAnnouncements()

    @cached_property
    def erasure(self) -> FakeErasure:
        return FakeErasure()

    @cached_property
    def tenant_erasure(self) -> FakeTenantErasure:
        return FakeTenantErasure()

    @cached_property
    def tenant_records(self) -> FakeTenantRecords:
        return FakeTenantRecords()

    @cached_property
    def tenant_files(self) -> FakeTenantFiles:
        return FakeTenantFiles()

    @cached_property
    def cursor_seal(self) -> SealedCursors:
        return SealedCursors(lambda: "a secret")

    @cached_property
    def objects(self) -> FakeObjectErasure:
        return FakeObjectErasure()

    @cached_property
    def forgettings(self) -> FakeForgettings:
        return FakeForgettings()

    @cached_property
    def searched_tenants(self) -> FakeSearchedTenants:
        return FakeSearchedTenants(self.documents, self.episodes)

    @cached_property
    def retentions(self) -> FakeRetentions:
        return FakeRetentions()

    @cached_property
    def shipped_agents(self) -> FakeShippedAgents:
        return FakeShippedAgents()

    @cached_property
    def model(self) -> ScriptedChatModel:
        return ScriptedChatModel()

    @cached_property
    def counter(self) -> WordCounter:
        return WordCounter()

    @cached_property
    def tools(self) -> FakeTools:
        return FakeTools()

    @cached_property
    def verifier(self) -> OpenVerifier:
        return OpenVerifier(self.clock)

    @cached_property
    def signing_key(self) -> DerivedSigningKey:
        return known_key()

    @cached_property
    def admission(self) -> PipelineAdmission:
        """An admission that begins every run at once."""
        return PipelineAdmission(FakePipelineQueue(), FakeExecutions(), self.clock, PipelineLimits())

    @classmethod
    def from_stores(cls, stores: Ports, **overrides: Any) -> Self:
        """Return fakes that use the clock and the stores of other ports."""
        return cls(**{name: getattr(stores, name) for name in (*STORES, "push_configs")} | overrides)

    def with_ports(self, **overrides: Any) -> FakePorts:
        """Return a copy of these ports with the ``overrides`` in it."""
        overridden = [name for name in vars(self) if hasattr(Ports, name)]
        return FakePorts(**{name: getattr(self, name) for name in (*FAKED, *overridden)} | overrides)


FAKED = [
    name for name in dir(Ports) if not name.startswith("_") and getattr(FakePorts, name) is not getattr(Ports, name)
]
"""The names of all ports that are fakes."""
