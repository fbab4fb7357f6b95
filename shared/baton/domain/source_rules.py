"""What a deployment allows sources to read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from baton.domain.egress_policy import EgressPolicy, EgressRefused
from baton.domain.errors import InvalidRequest, SourceRefused
from baton.domain.web_url import has_credentials, is_web_url

MAX_SOURCE_URL = 2048
TENANT = "{tenant}"
PREFIX_ENTRY = r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/([A-Za-z0-9!_.*'()~=-]+/)*\{tenant\}/([A-Za-z0-9!_.*'()~=-]+/)*"
"""One entry of the allowed prefixes: a bucket and a path that names the tenant in a segment of its own."""

_S3 = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])/(.+)")
_MAX_KEY_BYTES = 1024


@dataclass(frozen=True, slots=True)
class SourceRules:
    """The hosts and the prefixes that sources may name."""

    egress: EgressPolicy = field(default_factory=EgressPolicy)
    prefixes: tuple[str, ...] = ()
    """Entries as ``PREFIX_ENTRY`` describes them. A tenant reads below those with its own id in place of ``{tenant}``,
    and nothing else."""

    def check_url(self, url: str) -> None:
        """Raise ``InvalidRequest`` for what is no address, ``SourceRefused`` for one that must not be called."""
        if has_credentials(url):
            raise InvalidRequest(
                "Addresses must hold no user name and no password: whoever lists the source reads them."
            )
        if not is_web_url(url, MAX_SOURCE_URL):
            raise InvalidRequest(
                f"Addresses must be absolute http or https ones of at most {MAX_SOURCE_URL} characters."
            )
        parts = urlsplit(url)
        try:
            self.egress.check_scheme(parts.scheme, parts.hostname or "")
            self.egress.check_host(parts.hostname or "")
        except EgressRefused as error:
            raise SourceRefused(str(error)) from None

    def place(self, tenant_id: str, prefix: str) -> tuple[str, str]:
        """Return the bucket and the key prefix of ``s3://bucket/prefix``.

        Raises ``InvalidRequest`` for what is no prefix, ``SourceRefused`` for one that the tenant must not read.
        """
        found = _S3.fullmatch(prefix)
        if found is None or not prefix.isprintable() or len(found[2].encode()) > _MAX_KEY_BYTES:
            raise InvalidRequest("prefix must be s3://bucket/prefix.")
        if not any(f"{found[1]}/{found[2]}".startswith(allowed) for allowed in self.allowed_prefixes(tenant_id)):
            raise SourceRefused(
                "This deployment does not allow this prefix. It allows "
                + (" and ".join(f"s3://{each}" for each in self.allowed_prefixes(tenant_id)) or "none")
                + " (BATON_SOURCE_PREFIXES)."
            )
        return found[1], found[2]

    def allowed_prefixes(self, tenant_id: str) -> list[str]:
        """Return the beginnings, ``bucket/path/``, of what the tenant may read."""
        return [entry.replace(TENANT, tenant_id) for entry in self.prefixes]
