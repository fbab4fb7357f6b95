"""All ports of Baton, each with the adapter of a deployment, configured by the function's environment variables.

Each adapter is built on first use, and reads only the settings that it needs. ``parts`` imports the adapters one by
one, because the authorizer and the sockets must not load the libraries of the model or the API.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from baton.composition import parts
from baton.composition.search_ports import SearchPorts

if TYPE_CHECKING:
    from datetime import datetime, timedelta


class Ports(SearchPorts):
    """The ports that ``composition.app.build`` makes an ``App`` from, for one execution environment.

    The first use case that needs a port reads it, so that a function neither loads nor configures unused ports.
    Fakes are a subclass that overrides them.
    """

    # Objects in buckets

    @cached_property
    def files(self) -> parts.Files:
        """Uploads."""
        return parts.S3Files(parts.deferred_client(parts.s3_client), parts.StoreSettings().bucket, self.clock)

    @cached_property
    def source_objects(self) -> parts.SourceObjects:
        """Objects in the buckets that sources may read."""
        return parts.S3SourceObjects(parts.deferred_client("s3"))

    @cached_property
    def document_files(self) -> parts.DocumentFiles:
        """The content of documents."""
        return parts.S3Documents(parts.deferred_client(parts.s3_client), parts.StoreSettings().bucket, self.clock)

    @cached_property
    def objects(self) -> parts.ObjectErasure:
        """Removal of objects from the bucket."""
        return parts.S3Erasure(parts.deferred_client("s3"), parts.StoreSettings().bucket)

    @cached_property
    def tenant_objects(self) -> parts.TenantObjects:
        """Counts of tenants' objects in the bucket."""
        return parts.S3TenantObjects(parts.deferred_client("s3"), parts.StoreSettings().bucket)

    # Memory

    @cached_property
    def inspection_policy(self) -> parts.InspectionPolicy:
        """The turns that the Context Inspector records."""
        return parts.InspectorSettings().policy

    @cached_property
    def pii_detector(self) -> parts.PiiDetector:
        """The detector of personal data."""
        regions = parts.PrivacySettings().regions
        return parts.DeferredPiiDetector(lambda: parts.InProcessPiiDetector(regions))

    @cached_property
    def with_episode_facts(self) -> bool:
        """True if the light model writes summaries and facts of episodes."""
        return parts.EpisodeSettings().facts

    @cached_property
    def title_source(self) -> parts.TitleSource:
        """The source of threads' titles."""
        return parts.TitleSettings().source

    @property
    def deployment_limits(self) -> parts.DeploymentLimits:
        """The limits of every tenant now."""
        return self.settings.limits

    @property
    def prices(self) -> parts.Prices:
        """The prices of models now."""
        return self.settings.prices

    @cached_property
    def recall_deadline(self) -> timedelta:
        """The longest time that a turn waits for retrieval."""
        return parts.RecallSettings().deadline

    # Learning

    @cached_property
    def announcements(self) -> parts.Announcements:
        """Events for other systems."""
        return parts.EventBridgeAnnouncements(parts.deferred_client("events"), parts.AnnouncementSettings().event_bus)

    @cached_property
    def with_learning(self) -> bool:
        """True if procedures are captured."""
        return parts.ProcedureSettings().learning

    # Forgetting

    @cached_property
    def forgettings(self) -> parts.Forgettings:
        """The pipeline that forgets."""
        return parts.StepFunctionsForgettings(
            parts.deferred_client("stepfunctions"), parts.ForgettingSettings().forget_user_arn
        )

    @cached_property
    def forget_wait_seconds(self) -> float:
        """The wait before the second sweep."""
        return parts.ForgettingWaitSettings().wait_seconds

    # Ingestion

    @property
    def source_rules(self) -> parts.SourceRules:
        """The places that sources may read now."""
        return parts.SourceRules(self.settings.egress, parts.SourceSettings().allowed_prefixes)

    @cached_property
    def web_pages(self) -> parts.WebPages:
        """Pages of the web, for sources."""
        return parts.HttpPages(
            lambda seconds, limit: parts.http_client(
                self.settings.egress, timeout_seconds=seconds, max_response_bytes=limit
            ),
            pause_seconds=0.0 if parts.StageSettings().is_local else 1.0,
        )

    @cached_property
    def extractor(self) -> parts.TextExtractor:
        """The extractor of text from documents. Only functions with its libraries can use it."""
        return parts.ChildProcessExtractor()

    # Queues and connections

    @cached_property
    def queue(self) -> parts.TurnQueue:
        """The queue of turns."""
        operations = parts.operations(parts.client("sqs", config=parts.QUICK))
        return parts.SqsTurnQueue(operations, parts.QueueSettings().turns_queue_url)

    @cached_property
    def queue_records(self) -> parts.QueueRecords | None:
        """Records of that queue while a worker holds them; None if no other worker could receive them."""
        operations = parts.operations(parts.client("sqs"))
        url = parts.QueueSettings().turns_queue_url
        return parts.SqsRecords(operations, url, self.lease_times, self.last_wills)

    @cached_property
    def public_url(self) -> str | None:
        """The API's address that the operator has set; None if it has none."""
        return parts.ApiSettings().public_url

    @cached_property
    def delay_queue(self) -> parts.DelayQueue:
        """The queue that delivers due items at their times."""
        operations = parts.operations(parts.client("sqs", config=parts.QUICK))
        return parts.SqsDelayQueue(operations, parts.DueQueueSettings().due_queue_url)

    @cached_property
    def push_queue(self) -> parts.PushQueue:
        """The queue of push notifications."""
        operations = parts.operations(parts.client("sqs", config=parts.QUICK))
        return parts.SqsPushQueue(operations, parts.PushQueueSettings().push_queue_url)

    @cached_property
    def webhooks(self) -> parts.Webhooks:
        """The client that posts push notifications."""

        def policy() -> parts.EgressPolicy:
            return self.settings.push_egress

        return parts.HttpWebhooks(policy, lambda seconds: parts.http_client(policy(), timeout_seconds=seconds))

    @cached_property
    def webhook_receivers(self) -> parts.Webhooks:
        """The client that posts events to the webhooks of the settings."""

        def policy() -> parts.EgressPolicy:
            return self.settings.egress

        return parts.HttpWebhooks(
            policy,
            lambda seconds: parts.http_client(policy(), timeout_seconds=seconds),
            hosts_field="allowedHosts",
            breakers=parts.CircuitBreakers(failures=3, open_seconds=120.0),
        )

    @property
    def webhook_settings(self) -> parts.WebhookSettings:
        """The webhooks of the settings now."""
        return self.settings.webhooks

    @cached_property
    def webhook_signer(self) -> parts.WebhookSigner:
        """The signer of requests to webhooks."""
        return parts.StandardWebhookSigner(self.secrets.get, is_local=parts.StageSettings().is_local)

    @property
    def hook_settings(self) -> parts.HookSettings:
        """The hooks of the settings now."""
        return self.settings.hooks

    @cached_property
    def hook_verifier(self) -> parts.HookVerifier:
        """The verifier of requests to hooks."""
        return parts.SignatureVerifier(self.secrets.get)

    @cached_property
    def push_configs(self) -> parts.PushConfigs:
        """The addresses at which clients want to be notified of A2A tasks."""
        secrets = parts.ReceiverSecrets(lambda: self.secrets.get(parts.PushKeySettings().secret))
        return parts.DynamoPushConfigs(self.table, self.clock, secrets)

    @cached_property
    def signing_key(self) -> parts.SigningKey:
        """The key that signs push notifications."""
        settings = parts.PushKeySettings()
        return parts.DerivedSigningKey(self.secrets, settings.secret, accepts_short_secret=settings.is_local)

    @cached_property
    def push_issuer(self) -> str:
        """The address of the deployment, below which receivers find the public key."""
        return parts.PushIssuerSettings().issuer.rstrip("/")

    @cached_property
    def connections(self) -> parts.Connections:
        """WebSocket connections."""
        client = parts.client("apigatewaymanagementapi", parts.SocketSettings().connections_url)
        return parts.ApiGatewayConnections(client, parts.operations(client))

    # Pipelines

    @cached_property
    def pipelines_since(self) -> datetime | None:
        """The start of the pipelines' engine, if earlier runs ended with an earlier engine."""
        return parts.PipelineSettings().since

    @cached_property
    def admission(self) -> parts.PipelineAdmission:
        """Admission of the pipelines' runs."""
        executions = parts.StepFunctionsExecutions(
            parts.deferred_client("stepfunctions"),
            {
                parts.Pipeline.CLOSING: lambda: parts.ClosingSettings().close_session_arn,
                parts.Pipeline.CAPTURE: lambda: parts.CaptureSettings().capture_procedure_arn,
                parts.Pipeline.INGESTION: lambda: parts.IngestionSettings().ingest_document_arn,
            },
        )
        limits = parts.PipelineSettings().limits
        return parts.PipelineAdmission(
            parts.DynamoPipelineQueue(self.table), executions, self.clock, limits, self.pipelines_since
        )

    @cached_property
    def ingestions(self) -> parts.Ingestions:
        """The pipeline that ingests documents."""
        return parts.AdmittedIngestions(self.admission)

    @cached_property
    def captures(self) -> parts.Captures:
        """The pipeline that captures procedures."""
        return parts.AdmittedCaptures(self.admission)

    @cached_property
    def closings(self) -> parts.Closings:
        """The pipeline that makes episodes."""
        return parts.AdmittedClosings(self.admission)
