"""BERT's forward pass in ONNX Runtime (Devlin et al., 2019), with the mean over the tokens as the sentence's vector."""

from __future__ import annotations

import contextlib
import ctypes
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

GRAPH = Path(__file__).parent / "sentence_network.onnx"
"""The network's operations without its weights. ``python -m tests.sentence_graph`` writes it."""


class SentenceNetwork:
    """The network over weights that are named as in the model's file. Calls may come from several threads."""

    def __init__(self, weights: Mapping[str, Array], *, layers: int, graph: bytes | None = None) -> None:
        """``graph`` replaces ``GRAPH`` for a network of another size."""
        import onnxruntime

        self._words = weights["embeddings.word_embeddings.weight"]
        self._places = (
            weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
        )
        options = onnxruntime.SessionOptions()
        # Each call takes one core. Its callers divide the others among themselves.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        # Every call has another shape, whose buffers would be kept.
        options.enable_mem_pattern = options.enable_cpu_mem_arena = False
        values = _make_graph_weights(weights, layers)
        options.add_external_initializers(
            list(values), [onnxruntime.OrtValue.ortvalue_from_numpy(value) for value in values.values()]
        )
        self._session: Any = onnxruntime.InferenceSession(
            graph or GRAPH.read_bytes(), options, providers=["CPUExecutionProvider"]
        )
        del values
        _return_memory()

    def encode(self, texts: Sequence[Sequence[int]]) -> Array:
        """Return a vector of length 1 for each text, given by its token ids. No text may be empty.

        Shorter texts are padded to the length of the longest.
        """
        lengths = np.array([len(text) for text in texts], dtype=np.int32)
        longest = int(lengths.max())
        ids = np.zeros((len(texts), longest), dtype=np.int64)
        for row, text in zip(ids, texts, strict=True):
            row[: len(text)] = text
        is_token = (np.arange(longest) < lengths[:, None]).astype(np.float32)
        embedded = self._words[ids] + self._places[:longest]
        [vectors] = self._session.run(None, {"embedded": embedded, "lengths": lengths, "is_token": is_token[:, None]})
        return np.asarray(vectors, dtype=np.float32)


def _return_memory() -> None:
    """Return freed memory to the system. The runtime has copied the weights, and glibc keeps their freed blocks."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def map_weights(path: Path) -> dict[str, Array]:
    """Return the 32-bit weights of a safetensors file by their names. They are read from the file when they are used.

    The word vectors are half of the model, and texts use few of them. See the format's description:
    https://huggingface.co/docs/safetensors/index#format
    """
    whole = np.memmap(path, mode="r", dtype=np.uint8)
    begin = 8 + int(whole[:8].view("<u8")[0])
    described = json.loads(whole[8:begin].tobytes())
    return {
        name: np.asarray(whole[begin + start : begin + end].view("<f4").reshape(shape))
        for name, shape, (start, end) in (
            (name, description["shape"], description["data_offsets"])
            for name, description in described.items()
            if description.get("dtype") == "F32"
        )
    }


def _make_graph_weights(weights: Mapping[str, Array], layers: int) -> dict[str, Array]:
    """Return the weights by their names in the graph. Matrices are inputs by outputs; attention's three are joined."""

    def join_linear(*names: str) -> tuple[Array, Array]:
        weight = np.concatenate([weights[f"{name}.weight"] for name in names])
        return np.ascontiguousarray(weight.T), np.concatenate([weights[f"{name}.bias"] for name in names])

    values: dict[str, Array] = {}

    def put(name: str, weight: Array, bias: Array) -> None:
        values[f"{name}.weight"], values[f"{name}.bias"] = weight, bias

    def put_norm(name: str, of: str) -> None:
        put(name, weights[f"{of}.LayerNorm.weight"].copy(), weights[f"{of}.LayerNorm.bias"].copy())

    put_norm("norm", "embeddings")
    for number in range(layers):
        of = f"encoder.layer.{number}"
        put(f"{number}.attention", *join_linear(*(f"{of}.attention.self.{part}" for part in ("query", "key", "value"))))
        put(f"{number}.attended", *join_linear(f"{of}.attention.output.dense"))
        put_norm(f"{number}.attended_norm", f"{of}.attention.output")
        put(f"{number}.widened", *join_linear(f"{of}.intermediate.dense"))
        put(f"{number}.narrowed", *join_linear(f"{of}.output.dense"))
        put_norm(f"{number}.narrowed_norm", f"{of}.output")
    return values
