"""The place of the settings document in the deployment's bucket."""

from __future__ import annotations

SETTINGS_KEY = "~settings/settings.json"
"""The object. No tenant's id begins with ``~``, so it belongs to no tenant, and the bucket's policy lets no function
write below ``~settings/``."""
