"""All ports of Baton with their adapters for a deployment, which the function's environment variables configure.

Each adapter is built on first use, and reads only the settings that it needs. ``parts`` imports each adapter when it is
first used, because the authorizer and the sockets must not load the libraries of the model or the API.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from baton.composition import parts
from baton.composition.search_ports import SearchPorts

if TYPE_CHECKING:
    from datetime import datetime, timedelta


class Ports(SearchPorts):
    """The ports of one execution environment, with which ``composition.app.build`` builds an ``App``.

    A port is built when a use case first needs it, so that a function neither loads nor configures unused ports. A
    subclass overrides the properties with fakes.
    """

    # Objects in buckets

    @cached_property
    def files(self) -> parts.Files:
        """The store of files in threads."""
        return parts.S3Files(parts.defer_client(parts.create_s3_client), parts.StoreSettings().bucket, self.clock)

    @cached_property
    def source_objects(self) -> parts.SourceObjects:
        """The reader of objects in the buckets that sources may read."""
        return parts.S3SourceObjects(parts.defer_client("s3"))

    @cached_property
    def document_files(self) -> parts.DocumentFiles:
        """The store of documents' content."""
        return parts.S3Documents(parts.defer_client(parts.create_s3_client), parts.StoreSettings().bucket, self.clock)

    @cached_property
    def objects(self) -> parts.ObjectErasure:
        """The removal of objects from the bucket."""
        return parts.S3Erasure(parts.defer_client("s3"), parts.StoreSettings().bucket)

    @cached_property
    def tenant_files(self) -> parts.TenantFiles:
        """All objects of tenants in the bucket, for exports."""
        client = parts.defer_client(parts.create_s3_client)
        return parts.S3TenantFiles(client, parts.StoreSettings().bucket, parts.unpack)

    @cached_property
    def cursor_seal(self) -> parts.CursorSeal:
        """The cipher of cursors that contain keys of the table."""
        return parts.SealedCursors(lambda: self.secrets.get(parts.PushKeySettings().secret))

    @cached_property
    def tenant_objects(self) -> parts.TenantObjects:
        """Counts of tenants' objects in the bucket."""
        return parts.S3TenantObjects(parts.defer_client("s3"), parts.StoreSettings().bucket)

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
        """The current limits of every tenant."""
        return self.settings.limits

    @property
    def prices(self) -> parts.Prices:
        """The current prices of models."""
        return self.settings.prices

    @cached_property
    def recall_deadline(self) -> timedelta:
        """The longest time that a turn waits for retrieval."""
        return parts.RecallSettings().deadline

    # Learning

    @cached_property
    def announcements(self) -> parts.Announcements:
        """The sender of events to other systems."""
        return parts.EventBridgeAnnouncements(parts.defer_client("events"), parts.AnnouncementSettings().event_bus)

    @cached_property
    def with_learning(self) -> bool:
        """True if procedures are captured."""
        return parts.ProcedureSettings().learning

    # Forgetting

    @cached_property
    def forgettings(self) -> parts.Forgettings:
        """The pipeline that carries out requests to forget."""
        return parts.StepFunctionsForgettings(
            parts.defer_client("stepfunctions"), parts.ForgettingSettings().forget_user_arn
        )

    @cached_property
    def forget_wait_seconds(self) -> float:
        """The seconds between the two sweeps of a request to forget."""
        return parts.ForgettingWaitSettings().wait_seconds

    # Ingestion

    @property
    def source_rules(self) -> parts.SourceRules:
        """The hosts and buckets that sources may read now."""
        return parts.SourceRules(self.settings.egress, parts.SourceSettings().allowed_prefixes)

    @cached_property
    def web_pages(self) -> parts.WebPages:
        """The reader of web pages for sources."""
        return parts.HttpPages(
            lambda seconds, limit: parts.make_http_client(
                self.settings.egress, timeout_seconds=seconds, max_response_bytes=limit
            ),
            pause_seconds=0.0 if parts.StageSettings().is_local else 1.0,
        )

    @cached_property
    def extractor(self) -> parts.TextExtractor:
        """The extractor of text from documents. It works only in functions that have its libraries."""
        return parts.ChildProcessExtractor()

    # Queues and connections

    @cached_property
    def queue(self) -> parts.TurnQueue:
        """The queue of turns."""
        operations = parts.make_operations(parts.create_client("sqs", config=parts.QUICK))
        return parts.SqsTurnQueue(operations, parts.QueueSettings().turns_queue_url)

    @cached_property
    def queue_records(self) -> parts.QueueRecords | None:
        """The records of the turns' queue that a worker holds; None in fakes without other workers."""
        operations = parts.make_operations(parts.create_client("sqs"))
        url = parts.QueueSettings().turns_queue_url
        return parts.SqsRecords(operations, url, self.lease_times, self.last_wills)

    @cached_property
    def public_url(self) -> str | None:
        """The API's address in the settings; None if the operator has not set it."""
        return parts.ApiSettings().public_url

    @cached_property
    def delay_queue(self) -> parts.DelayQueue:
        """The queue that delivers due items at their times."""
        operations = parts.make_operations(parts.create_client("sqs", config=parts.QUICK))
        return parts.SqsDelayQueue(operations, parts.DueQueueSettings().due_queue_url)

    @cached_property
    def push_queue(self) -> parts.PushQueue:
        """The queue of push notifications."""
        operations = parts.make_operations(parts.create_client("sqs", config=parts.QUICK))
        return parts.SqsPushQueue(operations, parts.PushQueueSettings().push_queue_url)

    @cached_property
    def webhooks(self) -> parts.Webhooks:
        """The client that posts push notifications."""

        def get_policy() -> parts.EgressPolicy:
            return self.settings.push_egress

        return parts.HttpWebhooks(
            get_policy, lambda seconds: parts.make_http_client(get_policy(), timeout_seconds=seconds)
        )

    @cached_property
    def webhook_receivers(self) -> parts.Webhooks:
        """The client that posts events to the webhooks of the settings."""

        def get_policy() -> parts.EgressPolicy:
            return self.settings.egress

        return parts.HttpWebhooks(
            get_policy,
            lambda seconds: parts.make_http_client(get_policy(), timeout_seconds=seconds),
            hosts_field="allowedHosts",
            breakers=parts.CircuitBreakers(failures=3, open_seconds=120.0),
        )

    @property
    def webhook_settings(self) -> parts.WebhookSettings:
        """The current settings of webhooks."""
        return self.settings.webhooks

    @cached_property
    def webhook_signer(self) -> parts.WebhookSigner:
        """The signer of requests to webhooks."""
        return parts.StandardWebhookSigner(self.secrets.get, is_local=parts.StageSettings().is_local)

    @property
    def hook_settings(self) -> parts.HookSettings:
        """The current settings of inbound hooks."""
        return self.settings.hooks

    @cached_property
    def hook_verifier(self) -> parts.HookVerifier:
        """The verifier of requests to hooks."""
        return parts.SignatureVerifier(self.secrets.get)

    @cached_property
    def push_configs(self) -> parts.PushConfigs:
        """The store of addresses to which notifications of A2A tasks are sent."""
        secrets = parts.ReceiverSecrets(lambda: self.secrets.get(parts.PushKeySettings().secret))
        return parts.DynamoPushConfigs(self.table, self.clock, secrets)

    @cached_property
    def signing_key(self) -> parts.SigningKey:
        """The key that signs push notifications."""
        settings = parts.PushKeySettings()
        return parts.DerivedSigningKey(self.secrets, settings.secret, accepts_short_secret=settings.is_local)

    @cached_property
    def push_issuer(self) -> str:
        """The address of the deployment, below which receivers find its public key."""
        return parts.PushIssuerSettings().issuer.rstrip("/")

    @cached_property
    def connections(self) -> parts.Connections:
        """The sender of messages to WebSocket connections."""
        client = parts.create_client("apigatewaymanagementapi", parts.SocketSettings().connections_url)
        return parts.ApiGatewayConnections(client, parts.make_operations(client))

    # Pipelines

    @cached_property
    def pipelines_since(self) -> datetime | None:
        """The start of the pipelines' engine, if the runs of an earlier engine have ended with it; otherwise None."""
        return parts.PipelineSettings().since

    @cached_property
    def admission(self) -> parts.PipelineAdmission:
        """The admission of runs of the pipelines."""
        executions = parts.StepFunctionsExecutions(
            parts.defer_client("stepfunctions"),
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
