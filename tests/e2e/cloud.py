"""The running product as the tests know it: its addresses, its tokens, and a look into its table."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import jwt
from boto3.dynamodb.types import TypeDeserializer

from baton_local.engines.clients import client
from tests.e2e.serving import serve
from tests.engines import SHARED_DYNAMODB
from tests.environment import INITIAL_ENVIRONMENT
from tests.fault_model import LIGHT_MODEL
from tests.forked import ForkedProcess

Json = dict[str, Any]

AGENTS = Path(__file__).parent / "agents"
KEY_ID = "local"
EMBED_ISSUER = "baton-embed"

_deserialize = TypeDeserializer().deserialize


@dataclass
class RunningCloud:
    """A local cloud in another process, whose model is at ``model_url``, by default the demo model.

    Use it as a context manager.
    """

    model_url: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    """More environment variables of the local cloud."""
    agents: Path = AGENTS
    """A folder of agent files beside the shipped ones, or in place of those of the same name."""
    url: str = ""
    socket_url: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    def __enter__(self) -> Self:
        model = {"OPENAI_BASE_URL": self.model_url or "", "BATON_CHAT_MODEL": "", "BATON_LIGHT_MODEL": ""}
        if self.model_url is not None:
            # What Baton asks by itself uses up none of the answers that tests have scripted for agents.
            model |= {"BATON_CHAT_MODEL": "fault-1", "BATON_LIGHT_MODEL": LIGHT_MODEL, "BATON_THREAD_TITLES": "none"}
        shared = INITIAL_ENVIRONMENT.get(SHARED_DYNAMODB)
        # Worker processes take the template's name of the table, which another cloud would share.
        shares = shared is not None and "BATON_LOCAL_WORKER_PROCESSES" not in self.settings
        engine = {"AWS_ENDPOINT_URL_DYNAMODB": str(shared)} if shares else {}
        settings = {**engine, **self.settings, "OPENAI_API_KEY": "sk-very-secret-key"}
        environment = {**INITIAL_ENVIRONMENT, **model, **settings}
        self._process = ForkedProcess(serve, environment, self.agents)
        self.url, self.socket_url, self.environment = self._process.receive()
        self._table = client("dynamodb", self.environment["AWS_ENDPOINT_URL_DYNAMODB"])
        return self

    def __exit__(self, *_: object) -> None:
        self._table.close()
        self._process.end()

    def throttle(self, posts: int) -> None:
        """Have the next ``posts`` posts to WebSocket connections refused with 429."""
        self._command("throttle", posts)

    def kill_workers(self, most: int | None = None) -> int:
        """Kill every busy worker process, or at most ``most`` of them, with SIGKILL; return their number.

        Others follow.
        """
        killed: int = self._command("kill", most)
        return killed

    def sweep(self) -> Any:
        """Fire the sweeper's schedule; its answer."""
        return self._command("sweep")

    def set_clock(self, now: datetime) -> None:
        """Have the functions' clock go on from a moment of the past."""
        self._command("set_clock", now)

    def read_sources(self) -> Any:
        """Fire the schedule on which sources of documents are read; its answer."""
        return self._command("read_sources")

    def deliver(self, function: str, *bodies: str) -> list[Any]:
        """Give records with these bodies to a queue-fed function, all at the same time; its answers."""
        answers: list[Any] = self._command("deliver", {"function": function, "bodies": bodies})
        return answers

    def invoke(self, function: str, event: Any) -> Any:
        """Have a built function handle an event; its answer, or the type and message of its error."""
        return self._command("invoke", {"function": function, "event": event})

    def log(self, function: str) -> list[str]:
        """The newest lines of a built function that Lambda would have kept."""
        lines: list[str] = self._command("log", function)
        return lines

    def token(self, tenant: str, user: str, *permissions: str, seconds: float = 3600) -> str:
        """A token that is good for ``seconds`` more (negative: it has expired)."""
        return self.sign(self.claims(tenant, user, *permissions, seconds=seconds))

    @staticmethod
    def claims(tenant: str, user: str, *permissions: str, seconds: float = 3600) -> Json:
        """The claims of an embed token."""
        expires = int(time.time() + seconds)
        who = {"iss": EMBED_ISSUER, "sub": user, "tenant": tenant, "permissions": list(permissions)}
        return who | {"iat": expires - 3600, "exp": expires}

    def sign(self, claims: Json, *, key: str | None = None, kid: str = KEY_ID) -> str:
        """The claims as a token, signed with the deployment's embed key or another."""
        return jwt.encode(claims, key or self._embed_key, algorithm="HS256", headers={"kid": kid})

    def items(self, tenant: str) -> list[Json]:
        """Everything the table holds for a tenant, its claims to thread ids included, in the order of keys."""
        items = self._scan(
            FilterExpression="begins_with(PK, :partition) OR (begins_with(PK, :owner) AND tenant_id = :tenant)",
            ExpressionAttributeValues={
                ":partition": {"S": f"{tenant}#"},
                ":owner": {"S": "~THREAD#"},
                ":tenant": {"S": tenant},
            },
        )
        return sorted(items, key=lambda item: (item["PK"], item["SK"]))

    def list_all_items(self) -> list[Json]:
        """Return the items of all tenants."""
        return self._scan()

    def list_data(self, tenant: str) -> list[Json]:
        """Return ``items`` without audit records: the data that a refused request must not change."""
        return [item for item in self.items(tenant) if not item["SK"].startswith("AUDIT#")]

    def audits(self, tenant: str) -> list[Json]:
        """The tenant's audit records."""
        return [item for item in self.items(tenant) if item["SK"].startswith("AUDIT#")]

    def turns(self, tenant: str) -> list[Json]:
        """The tenant's accepted turns."""
        return [item for item in self.items(tenant) if item["SK"].startswith("TURN#")]

    @cached_property
    def _embed_key(self) -> str:
        secrets = client("secretsmanager", self.environment["AWS_ENDPOINT_URL"])
        text = secrets.get_secret_value(SecretId=self.environment["BATON_EMBED_KEYS_SECRET"])["SecretString"]
        secrets.close()
        key: str = json.loads(text)[KEY_ID]["key"]
        return key

    def _scan(self, **choice: Any) -> list[Json]:
        pages = self._table.get_paginator("scan").paginate(
            TableName=self.environment["BATON_TABLE"], ConsistentRead=True, **choice
        )
        return [{k: _deserialize(v) for k, v in item.items()} for page in pages for item in page["Items"]]

    def _command(self, name: str, argument: Any = None) -> Any:
        return self._process.ask((name, argument))
