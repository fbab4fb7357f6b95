"""Secrets of a deployment without any."""

from __future__ import annotations


class NoSecrets:
    def get(self, name: str) -> str:
        raise KeyError(name)

    renew = get
