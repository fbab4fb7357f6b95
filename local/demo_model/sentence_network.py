"""BERT's forward pass in numpy (Devlin et al., 2019), with the mean over the tokens as the sentence's vector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

FAR_AWAY = -1e9
"""What is added to the attention to padding."""


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
        """Normalize each row, in place."""
        x -= x.mean(-1, keepdims=True)
        variance = np.einsum("ij,ij->i", x, x)[:, None] / x.shape[-1]
        x /= np.sqrt(variance + self.epsilon)
        x *= self.weight
        x += self.bias
        return x


@dataclass(frozen=True, slots=True)
class _Layer:
    query_key_value: _Linear
    attended: _Linear
    attended_norm: _Norm
    widened: _Linear
    narrowed: _Linear
    narrowed_norm: _Norm

    def __call__(self, x: Array, padding: Array, heads: int) -> Array:
        rows, length = padding.shape[0], padding.shape[-1]
        width = x.shape[-1] // heads
        parts = self.query_key_value(x).reshape(rows, length, 3, heads, width).transpose(2, 0, 3, 1, 4)
        attention: Array = parts[0] @ parts[1].transpose(0, 1, 3, 2)
        attention *= width**-0.5
        attention += padding
        attention -= attention.max(-1, keepdims=True)
        np.exp(attention, out=attention)
        attention /= attention.sum(-1, keepdims=True)
        context = (attention @ parts[2]).transpose(0, 2, 1, 3).reshape(x.shape)
        y = self.attended(context)
        y += x
        y = self.attended_norm(y)
        z = self.narrowed(_gelu(self.widened(y)))
        z += y
        return self.narrowed_norm(z)


class SentenceNetwork:
    """The network over weights that are named as in the model's file."""

    def __init__(self, weights: Mapping[str, Array], *, layers: int, heads: int, epsilon: float) -> None:
        def linear(*names: str) -> _Linear:
            weight = np.concatenate([weights[f"{name}.weight"] for name in names])
            return _Linear(np.ascontiguousarray(weight.T), np.concatenate([weights[f"{name}.bias"] for name in names]))

        def norm(name: str) -> _Norm:
            return _Norm(weights[f"{name}.weight"], weights[f"{name}.bias"], epsilon)

        def layer(name: str) -> _Layer:
            return _Layer(
                linear(*(f"{name}.attention.self.{part}" for part in ("query", "key", "value"))),
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

    def encode(self, ids: NDArray[np.int64], is_token: Array) -> Array:
        """Return a vector of length 1 for each row of token ids. ``is_token`` is 0 for padding, otherwise 1."""
        rows, length = ids.shape
        x = self._words[ids] + self._places[:length]
        x = self._norm(x.reshape(rows * length, -1))
        padding = ((1.0 - is_token) * np.float32(FAR_AWAY))[:, None, None, :]
        for layer in self._layers:
            x = layer(x, padding, self._heads)
        total: Array = (x.reshape(rows, length, -1) * is_token[..., None]).sum(1)
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
