"""All ports of Baton, each with the adapter of a deployment, configured by the function's environment variables.

Each adapter is built on first use, and reads only the settings that it needs. The methods contain their imports,
because the authorizer and the sockets must not load the libraries of the model or the API.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from baton.composition.pipeline_ports import PipelinePorts
from baton.composition.search_ports import SearchPorts

if TYPE_CHECKING:
    from datetime import timedelta

    from baton.domain.documents.source import SourceRules
    from baton.domain.memory.context_item import InspectionPolicy
    from baton.domain.runs.usage import Prices
    from baton.domain.tenants.egress_policy import EgressPolicy
    from baton.domain.tenants.tenant_limits import DeploymentLimits
    from baton.domain.threads.thread_title import TitleSource
    from baton.ports.agents.a2a import PushConfigs, PushQueue, SigningKey, Webhooks
    from baton.ports.documents.documents import DocumentFiles, TextExtractor
    from baton.ports.documents.files import Files
    from baton.ports.documents.sources import SourceObjects, WebPages
    from baton.ports.memory.procedures import Announcements
    from baton.ports.tenants.privacy import Forgettings, ObjectErasure, PiiDetector
    from baton.ports.threads.connections import Connections
    from baton.ports.threads.turn_queue import QueueRecords, TurnQueue


class Ports(SearchPorts, PipelinePorts):
    """The ports that ``composition.app.build`` makes an ``App`` from, for one execution environment.

    The first use case that needs a port reads it, so that a function neither loads nor configures unused ports.
    Fakes are a subclass that overrides them.
    """

    # Objects in buckets

    @cached_property
    def files(self) -> Files:
        """Uploads."""
        from baton.adapters.aws.blocking_calls import deferred_client
        from baton.adapters.aws.s3_files import S3Files, s3_client
        from baton.settings.resources import StoreSettings

        return S3Files(deferred_client(s3_client), StoreSettings().bucket, self.clock)

    @cached_property
    def source_objects(self) -> SourceObjects:
        """Objects in the buckets that sources may read."""
        from baton.adapters.aws.blocking_calls import deferred_client
        from baton.adapters.aws.s3_documents import S3SourceObjects

        return S3SourceObjects(deferred_client("s3"))

    @cached_property
    def document_files(self) -> DocumentFiles:
        """The content of documents."""
        from baton.adapters.aws.blocking_calls import deferred_client
        from baton.adapters.aws.s3_documents import S3Documents
        from baton.adapters.aws.s3_files import s3_client
        from baton.settings.resources import StoreSettings

        return S3Documents(deferred_client(s3_client), StoreSettings().bucket, self.clock)

    @cached_property
    def objects(self) -> ObjectErasure:
        """Removal of objects from the bucket."""
        from baton.adapters.aws.blocking_calls import deferred_client
        from baton.adapters.aws.s3_erasure import S3Erasure
        from baton.settings.resources import StoreSettings

        return S3Erasure(deferred_client("s3"), StoreSettings().bucket)

    # Memory

    @cached_property
    def inspection_policy(self) -> InspectionPolicy:
        """The turns that the Context Inspector records."""
        from baton.settings.conversations import InspectorSettings

        return InspectorSettings().policy

    @cached_property
    def pii_detector(self) -> PiiDetector:
        """The detector of personal data."""
        from baton.composition.startup.deferred import DeferredPiiDetector
        from baton.settings.conversations import PrivacySettings

        regions = PrivacySettings().regions

        def make() -> PiiDetector:
            from baton.adapters.pii.in_process import InProcessPiiDetector

            return InProcessPiiDetector(regions)

        return DeferredPiiDetector(make)

    @cached_property
    def with_episode_facts(self) -> bool:
        """True if the light model writes summaries and facts of episodes."""
        from baton.settings.conversations import EpisodeSettings

        return EpisodeSettings().facts

    @cached_property
    def title_source(self) -> TitleSource:
        """The source of threads' titles."""
        from baton.settings.conversations import TitleSettings

        return TitleSettings().source

    @property
    def deployment_limits(self) -> DeploymentLimits:
        """The limits of every tenant now."""
        return self.settings.limits

    @property
    def prices(self) -> Prices:
        """The prices of models now."""
        return self.settings.prices

    @cached_property
    def recall_deadline(self) -> timedelta:
        """The longest time that a turn waits for retrieval."""
        from baton.settings.conversations import RecallSettings

        return RecallSettings().deadline

    # Learning

    @cached_property
    def announcements(self) -> Announcements:
        """Events for other systems."""
        from baton.adapters.aws.blocking_calls import deferred_client
        from baton.adapters.aws.event_bridge import EventBridgeAnnouncements
        from baton.settings.resources import AnnouncementSettings

        return EventBridgeAnnouncements(deferred_client("events"), AnnouncementSettings().event_bus)

    @cached_property
    def with_learning(self) -> bool:
        """True if procedures are captured."""
        from baton.settings.conversations import LearningSettings

        return LearningSettings().learning

    # Forgetting

    @cached_property
    def forgettings(self) -> Forgettings:
        """The pipeline that forgets."""
        from baton.adapters.aws.blocking_calls import deferred_client
        from baton.adapters.aws.step_functions import StepFunctionsForgettings
        from baton.settings.resources import ForgettingSettings

        return StepFunctionsForgettings(deferred_client("stepfunctions"), ForgettingSettings().forget_user_arn)

    @cached_property
    def forget_wait_seconds(self) -> float:
        """The wait before the second sweep."""
        from baton.settings.resources import ForgettingWaitSettings

        return ForgettingWaitSettings().wait_seconds

    # Ingestion

    @property
    def source_rules(self) -> SourceRules:
        """The places that sources may read now."""
        from baton.domain.documents.source import SourceRules
        from baton.settings.resources import SourceSettings

        return SourceRules(self.settings.egress, SourceSettings().allowed_prefixes)

    @cached_property
    def web_pages(self) -> WebPages:
        """Pages of the web, for sources."""
        from baton.adapters.egress import http_client
        from baton.adapters.egress.web_pages import HttpPages
        from baton.settings.identity import StageSettings

        return HttpPages(
            lambda seconds, limit: http_client(self.settings.egress, timeout_seconds=seconds, max_response_bytes=limit),
            pause_seconds=0.0 if StageSettings().is_local else 1.0,
        )

    @cached_property
    def extractor(self) -> TextExtractor:
        """The extractor of text from documents. Only functions with its libraries can use it."""
        from baton.adapters.documents.document_reader import ChildProcessExtractor

        return ChildProcessExtractor()

    # Queues and connections

    @cached_property
    def queue(self) -> TurnQueue:
        """The queue of turns."""
        from baton.adapters.aws.blocking_calls import QUICK, client
        from baton.adapters.aws.direct_calls import operations
        from baton.adapters.aws.sqs import SqsTurnQueue
        from baton.settings.resources import QueueSettings

        made = client("sqs", config=QUICK)
        return SqsTurnQueue(made, QueueSettings().turns_queue_url, operations(made))

    @cached_property
    def queue_records(self) -> QueueRecords | None:
        """Records of that queue while a worker holds them; None if no other worker could receive them."""
        from baton.adapters.aws.blocking_calls import client
        from baton.adapters.aws.direct_calls import operations
        from baton.adapters.aws.sqs import SqsRecords
        from baton.settings.resources import QueueSettings

        made = client("sqs")
        return SqsRecords(made, QueueSettings().turns_queue_url, self.lease_times, operations(made))

    @cached_property
    def push_queue(self) -> PushQueue:
        """The queue of push notifications."""
        from baton.adapters.aws.blocking_calls import QUICK, client
        from baton.adapters.aws.sqs import SqsPushQueue
        from baton.settings.resources import PushQueueSettings

        return SqsPushQueue(client("sqs", config=QUICK), PushQueueSettings().push_queue_url)

    @cached_property
    def webhooks(self) -> Webhooks:
        """The poster of push notifications."""
        from baton.adapters.egress import http_client
        from baton.adapters.egress.webhooks import HttpWebhooks

        def policy() -> EgressPolicy:
            return self.settings.push_egress

        return HttpWebhooks(policy, lambda seconds: http_client(policy(), timeout_seconds=seconds))

    @cached_property
    def push_configs(self) -> PushConfigs:
        """The addresses at which clients want to be notified of A2A tasks."""
        from baton.adapters.dynamodb.a2a_tasks import DynamoPushConfigs
        from baton.adapters.tokens.receiver_secrets import ReceiverSecrets
        from baton.settings.resources import PushKeySettings

        secrets = ReceiverSecrets(lambda: self.secrets.get(PushKeySettings().secret))
        return DynamoPushConfigs(self.table, self.clock, secrets)

    @cached_property
    def signing_key(self) -> SigningKey:
        """The key that signs them."""
        from baton.adapters.tokens.signing_keys import DerivedSigningKey
        from baton.settings.resources import PushKeySettings

        settings = PushKeySettings()
        return DerivedSigningKey(self.secrets, settings.secret, accepts_short=settings.is_local)

    @cached_property
    def push_issuer(self) -> str:
        """The address of the deployment, below which receivers find the public key."""
        from baton.settings.resources import PushIssuerSettings

        return PushIssuerSettings().issuer.rstrip("/")

    @cached_property
    def connections(self) -> Connections:
        """WebSocket connections."""
        from baton.adapters.aws.api_gateway import ApiGatewayConnections
        from baton.adapters.aws.blocking_calls import client
        from baton.adapters.aws.direct_calls import operations
        from baton.settings.resources import SocketSettings

        made = client("apigatewaymanagementapi", SocketSettings().connections_url)
        return ApiGatewayConnections(made, operations(made))
