"""OpenID Connect issuers and their public keys."""

from __future__ import annotations

import http.client
import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

import jwt

from baton.adapters.cached_value import CachedValue
from baton.adapters.tokens.timed_requests import TimedRequests
from baton.domain.errors import StoreUnavailable
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import OidcIssuer

FETCH_SECONDS = 5.0
"""The time limit of reading the keys and the discovery document together."""
MAX_DOCUMENT = 512 * 1024
"""The maximum size of either document, in bytes."""
MAX_KEYS = 100
"""The number of an issuer's keys that are read."""

_log = logging.getLogger(__name__)

Keys = dict[tuple[str, str], jwt.PyJWK]
"""Keys by key id and algorithm."""


class IssuerKeys:
    """The signing keys of one issuer, cached (``adapters.cached_value``).

    For an unknown key id the keys are fetched again, because issuers rotate them, but at most every 30 s, so that
    invented ids cause no load.
    """

    def __init__(
        self, issuer: OidcIssuer, *, allow_http: bool = False, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.issuer = issuer
        self._schemes = ("https", "http") if allow_http else ("https",)
        self._keys: CachedValue[Keys] = CachedValue(self._fetch_keys, monotonic=monotonic)

    def find(self, kid: str, algorithm: str) -> jwt.PyJWK | None:
        """Return the key ``kid``, for ``algorithm`` only; None if the issuer has no such key.

        Raises ``StoreUnavailable`` if no keys can be fetched.
        """
        if algorithm not in self.issuer.algorithms:
            return None
        key_name = (kid, algorithm)
        return self._keys.get().get(key_name) or self._keys.renew().get(key_name)

    def find_read_problem(self) -> str | None:
        """Return the reason why the keys cannot be read; None if they can be."""
        try:
            self._keys.get()
        except StoreUnavailable as error:
            return str(error.__cause__ or error)
        return None

    def _fetch_keys(self) -> Keys:
        """Read the keys. Raises ``StoreUnavailable``."""
        try:
            with TimedRequests(FETCH_SECONDS) as requests:
                return self._parse_keys(self._fetch_document(self._find_jwks_url(requests), requests))
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, RecursionError) as error:
            if isinstance(error, HTTPError):
                error.close()
            _log.warning("The keys of issuer %s cannot be read: %r", self.issuer.issuer, error)
            count(Metric.KEYS_UNREADABLE)
            raise StoreUnavailable("Tokens cannot be checked at the moment. Please try again.") from error

    def _find_jwks_url(self, requests: TimedRequests) -> str:
        """Return the address of the keys, from the settings or the discovery document.

        Raises as ``_fetch_document``, and ``KeyError`` for a document without the address.
        """
        if self.issuer.jwks_url is not None:
            return self.issuer.jwks_url
        # OpenID Connect Discovery 1.0, section 4: the document must name exactly this issuer.
        configuration = self._fetch_document(
            self.issuer.issuer.rstrip("/") + "/.well-known/openid-configuration", requests
        )
        if configuration["issuer"] != self.issuer.issuer:
            raise ValueError("the discovery document is another issuer's")
        return str(configuration["jwks_uri"])

    def _fetch_document(self, url: str, requests: TimedRequests) -> dict[str, Any]:
        """Return the JSON object at ``url``. Raises ``ValueError``, ``TypeError`` and the errors of ``requests``."""
        if urlsplit(url).scheme not in self._schemes:
            raise ValueError(f"{url} is not an https address")
        body = requests.read(url, {"Accept": "application/json"}, MAX_DOCUMENT + 1)
        if len(body) > MAX_DOCUMENT:
            raise ValueError(f"{url} is longer than {MAX_DOCUMENT} bytes")
        document = json.loads(body)
        if not isinstance(document, dict):
            raise TypeError(f"{url} is not a JSON object")
        return document

    def _parse_keys(self, jwks: dict[str, Any]) -> Keys:
        """Return the usable keys of a JWK set. Of several keys with the same id, the first counts."""
        keys: Keys = {}
        for jwk in jwks["keys"][:MAX_KEYS]:
            for algorithm in self.issuer.algorithms:
                key = _parse_signing_key(jwk, algorithm)
                if key is not None:
                    keys.setdefault((jwk["kid"], algorithm), key)
        return keys


class TrustedIssuers:
    """The issuers that ``read`` returns now, with their keys. Keys of an issuer that has not changed stay cached."""

    def __init__(
        self,
        read: Callable[[], Iterable[OidcIssuer]],
        *,
        allow_http: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._make = partial(IssuerKeys, allow_http=allow_http, monotonic=monotonic)
        self._latest: tuple[Iterable[OidcIssuer] | None, dict[str, IssuerKeys]] = (None, {})

    def list_key_sets(self) -> Mapping[str, IssuerKeys]:
        """Return the keys of the issuers that are trusted now, by issuer."""
        issuers = self._read()
        latest_issuers, key_sets = self._latest
        if issuers is not latest_issuers:
            unchanged = {keys.issuer: keys for keys in key_sets.values()}
            key_sets = {issuer.issuer: unchanged.get(issuer) or self._make(issuer) for issuer in issuers}
            self._latest = (issuers, key_sets)
        return key_sets


def _parse_signing_key(jwk: Any, algorithm: str) -> jwt.PyJWK | None:
    """Return ``jwk`` bound to ``algorithm``; None if it is invalid, has no id or is for another purpose (RFC 7517)."""
    if not isinstance(jwk, dict) or not isinstance(jwk.get("kid"), str):
        return None
    if jwk.get("use", "sig") != "sig" or jwk.get("alg", algorithm) != algorithm:
        return None
    try:
        return jwt.PyJWK(jwk, algorithm)
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None
