"""BERT's forward pass in numpy (Devlin et al., 2019), with the mean over the tokens as the sentence's vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

SCORES_AT_ONCE = 65_536
"""Attention scores that are computed together: 256 KB, which stay in a core's cache from one step to the next."""
ROWS_AT_ONCE = 512
"""Tokens that go through a feed-forward layer together, for the same reason."""


@dataclass(frozen=True, slots=True)
class _Linear:
    weight: Array
    """Inputs by outputs."""
    bias: Array

    def __call__(self, x: Array) -> Array:
        y: Array = x @ self.weight
        y += self.bias
        return y


@dataclass(frozen=True, slots=True)
class _Norm:
    weight: Array
    bias: Array
    epsilon: float

    def __call__(self, x: Array) -> Array:
        """Normalise each row, in place."""
        x -= x.mean(-1, keepdims=True)
        variance = np.einsum("ij,ij->i", x, x)[:, None] / x.shape[-1]
        x /= np.sqrt(variance + self.epsilon)
        x *= self.weight
        x += self.bias
        return x


@dataclass(frozen=True, slots=True)
class _Layer:
    query_key_value: _Linear
    """Queries are scaled by the root of a head's width."""
    attended: _Linear
    attended_norm: _Norm
    widened: _Linear
    narrowed: _Linear
    narrowed_norm: _Norm

    def __call__(self, x: Array, texts: Sequence[slice], heads: int) -> Array:
        """Return the tokens' next states. Those of a text attend to each other."""
        y = self.attended(self._attention(x, texts, heads))
        y += x
        y = self.attended_norm(y)
        z = np.empty_like(y)
        for start in range(0, len(y), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            z[rows] = self.narrowed(_gelu(self.widened(y[rows])))
        z += y
        return self.narrowed_norm(z)

    def _attention(self, x: Array, texts: Sequence[slice], heads: int) -> Array:
        # Parts by heads by tokens by the width of a head.
        parts = self.query_key_value(x).reshape(len(x), 3, heads, -1).transpose(1, 2, 0, 3)
        context = np.empty_like(x)
        by_head = context.reshape(len(x), heads, -1).transpose(1, 0, 2)
        for text in texts:
            length = text.stop - text.start
            at_once = max(1, SCORES_AT_ONCE // length**2)
            for start in range(0, heads, at_once):
                query, key, value = parts[:, start : start + at_once, text]
                # Keys by queries: numpy is faster at the maxima and sums of columns.
                scores: Array = key @ query.transpose(0, 2, 1)
                scores -= scores.max(1, keepdims=True)
                np.exp(scores, out=scores)
                found = scores.transpose(0, 2, 1) @ value
                found /= scores.sum(1)[..., None]
                by_head[start : start + at_once, text] = found
        return context


class SentenceNetwork:
    """The network over weights that are named as in the model's file."""

    def __init__(self, weights: Mapping[str, Array], *, layers: int, heads: int, epsilon: float) -> None:
        def linear(*names: str) -> _Linear:
            weight = np.concatenate([weights[f"{name}.weight"] for name in names])
            return _Linear(np.ascontiguousarray(weight.T), np.concatenate([weights[f"{name}.bias"] for name in names]))

        def norm(name: str) -> _Norm:
            return _Norm(weights[f"{name}.weight"], weights[f"{name}.bias"], epsilon)

        def layer(name: str) -> _Layer:
            query_key_value = linear(*(f"{name}.attention.self.{part}" for part in ("query", "key", "value")))
            width = len(query_key_value.weight)
            for each in (query_key_value.weight, query_key_value.bias):
                each[..., :width] *= (width // heads) ** -0.5
            return _Layer(
                query_key_value,
                linear(f"{name}.attention.output.dense"),
                norm(f"{name}.attention.output.LayerNorm"),
                linear(f"{name}.intermediate.dense"),
                linear(f"{name}.output.dense"),
                norm(f"{name}.output.LayerNorm"),
            )

        self._heads = heads
        self._words = weights["embeddings.word_embeddings.weight"]
        self._places = (
            weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
        )
        self._norm = norm("embeddings.LayerNorm")
        self._layers = [layer(f"encoder.layer.{number}") for number in range(layers)]

    def encode(self, texts: Sequence[Sequence[int]]) -> Array:
        """Return a vector of length 1 for each text, given by its token ids. No text may be empty."""
        ends = np.cumsum([len(text) for text in texts])
        places = [slice(int(end) - len(text), int(end)) for text, end in zip(texts, ends, strict=True)]
        x = self._words[np.concatenate([np.asarray(text) for text in texts])]
        for text in places:
            x[text] += self._places[: text.stop - text.start]
        x = self._norm(x)
        for layer in self._layers:
            x = layer(x, places, self._heads)
        total: Array = np.stack([x[text].sum(0) for text in places])
        total /= np.linalg.norm(total, axis=1, keepdims=True)
        return total


def _gelu(x: Array) -> Array:
    """Return GELU by its tanh form, which is within 0.001 of the exact one (Hendrycks and Gimpel, 2016)."""
    y: Array = x * x
    y *= 0.044715
    y += 1.0
    y *= x
    y *= 0.7978845608028654  # the root of 2 / pi
    np.tanh(y, out=y)
    y += 1.0
    y *= x
    y *= 0.5
    return y
