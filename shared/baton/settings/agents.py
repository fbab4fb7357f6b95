"""Settings of agents, and of what they may use outside Baton."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from baton.domain.egress_policy import EgressPolicy
from baton.settings.base import Name, Settings
from baton.settings.lists import Hosts, Packages, Prefixes


class AgentSettings(Settings):
    """The agents' files and the default agent."""

    agents_dir: Path = Field(validation_alias="BATON_AGENTS_DIR")
    default_agent: str | None = Field(default=None, validation_alias="BATON_DEFAULT_AGENT")
    """The main agent of conversations that name none. Required only if several files have ``main: true``."""


class OutsideSettings(Settings):
    """The hosts that tools and remote agents may use, and the packages that Python tools may come from."""

    stage: Name = Field(validation_alias="BATON_STAGE")
    allowed_hosts: Hosts = Field(default="", validation_alias="BATON_ALLOWED_HOSTS")
    """Comma-separated hosts, ``*.example.com`` for a domain's subdomains, ``*`` for every public host."""
    tool_packages: Packages = Field(default="", validation_alias="BATON_TOOL_PACKAGES")
    """Comma-separated Python packages from which ``python`` tools may come."""

    @property
    def egress(self) -> EgressPolicy:
        return EgressPolicy.of(self.allowed_hosts.split(","), allow_local=self.stage == "local")

    @property
    def packages(self) -> tuple[str, ...]:
        return tuple(self.tool_packages.split(",")) if self.tool_packages else ()


class SourceSettings(Settings):
    """The places in S3 that sources of documents may read."""

    source_prefixes: Prefixes = Field(default="", validation_alias="BATON_SOURCE_PREFIXES")
    """Comma-separated ``bucket/path/{tenant}/``: a tenant reads below those with its own id. Empty: none."""

    @property
    def allowed_prefixes(self) -> tuple[str, ...]:
        return tuple(self.source_prefixes.split(",")) if self.source_prefixes else ()
