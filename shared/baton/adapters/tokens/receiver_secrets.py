"""The tokens and credentials of receivers of push notifications, sealed while they are stored.

A client entrusts Baton with a token and credentials for its own server. The table and its backups hold ciphertext
(Fernet), which names its configuration, so that it cannot be moved to another configuration. The key is derived from
the same secret as the signing key.
"""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable, Mapping

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from baton.adapters.cached_value import ParsedText

PURPOSE = b"baton push receivers Fernet"

_log = logging.getLogger(__name__)


class ReceiverSecrets:
    """A cipher for secrets of receivers. ``read_secret`` returns the text of the key's secret; it may block."""

    def __init__(self, read_secret: Callable[[], str]) -> None:
        self._read_secret = read_secret
        self._keys = ParsedText(lambda secret: derive_cipher(secret, PURPOSE))

    def seal(self, config_key: str, secrets: Mapping[str, str]) -> str:
        """Return the secrets of the configuration ``config_key``, sealed. Raises as ``read_secret`` does."""
        return self._read_cipher().encrypt(json.dumps({"place": config_key, **secrets}).encode()).decode()

    def open(self, config_key: str, sealed: str) -> Mapping[str, str] | None:
        """Return the secrets; None if they were sealed with another key or for another configuration.

        Raises as ``read_secret`` does.
        """
        try:
            secrets: dict[str, str] = json.loads(self._read_cipher().decrypt(sealed.encode()))
        except InvalidToken:
            secrets = {}
        if secrets.pop("place", None) != config_key:
            _log.warning(
                "The secrets of a receiver cannot be opened: the key has changed, or they are another receiver's."
            )
            return None
        return secrets

    def _read_cipher(self) -> Fernet:
        return self._keys.parse(self._read_secret())


def derive_cipher(secret: str, purpose: bytes) -> Fernet:
    """Return the cipher with the key that is derived from ``secret`` for a purpose."""
    material = HKDF(hashes.SHA256(), 32, salt=None, info=purpose).derive(secret.encode())
    return Fernet(base64.urlsafe_b64encode(material))
