"""The network in the runtime gives the vectors of the plain formulas, however many texts it is given at once."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from baton_local.demo_model.sentence_network import GRAPH, SentenceNetwork
from baton_local.demo_model.weights import find_installed
from tests import sentence_graph

LAYERS, HEADS, WIDTH, INNER, WORDS, PLACES, EPSILON = 2, 4, 16, 48, 60, 300, 1e-12


def weights() -> dict[str, Any]:
    chance = np.random.default_rng(0)
    shapes = {
        "embeddings.word_embeddings.weight": (WORDS, WIDTH),
        "embeddings.position_embeddings.weight": (PLACES, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
    }
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        for part, outputs, inputs in (
            ("attention.self.query", WIDTH, WIDTH),
            ("attention.self.key", WIDTH, WIDTH),
            ("attention.self.value", WIDTH, WIDTH),
            ("attention.output.dense", WIDTH, WIDTH),
            ("intermediate.dense", INNER, WIDTH),
            ("output.dense", WIDTH, INNER),
        ):
            shapes[f"{name}.{part}.weight"] = (outputs, inputs)
            shapes[f"{name}.{part}.bias"] = (outputs,)
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"{name}.{part}.weight"] = shapes[f"{name}.{part}.bias"] = (WIDTH,)
    return {name: chance.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


GIVEN = weights()
SMALL = sentence_graph.network(layers=LAYERS, heads=HEADS, width=WIDTH, inner=INNER, epsilon=EPSILON)
NETWORK = SentenceNetwork(GIVEN, layers=LAYERS, graph=SMALL)


def compute_vector(text: list[int]) -> Any:
    """The vector of a text by the formulas of the paper, in double precision."""
    tensors = {name: tensor.astype(np.float64) for name, tensor in GIVEN.items()}

    def linear(x: Any, name: str) -> Any:
        return x @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]

    def norm(x: Any, name: str) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
        return scaled * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]

    erf = np.vectorize(math.erf)
    x = tensors["embeddings.word_embeddings.weight"][text] + tensors["embeddings.token_type_embeddings.weight"][0]
    x = norm(x + tensors["embeddings.position_embeddings.weight"][: len(text)], "embeddings.LayerNorm")
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        query, key, value = (linear(x, f"{name}.attention.self.{part}") for part in ("query", "key", "value"))
        heads = []
        for head in np.split(np.arange(WIDTH), HEADS):
            scores = query[:, head] @ key[:, head].T / math.sqrt(WIDTH / HEADS)
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            heads.append(shares / shares.sum(-1, keepdims=True) @ value[:, head])
        attended = linear(np.concatenate(heads, axis=1), f"{name}.attention.output.dense")
        x = norm(x + attended, f"{name}.attention.output.LayerNorm")
        wide = linear(x, f"{name}.intermediate.dense")
        wide = wide * (1 + erf(wide / math.sqrt(2))) / 2
        x = norm(x + linear(wide, f"{name}.output.dense"), f"{name}.output.LayerNorm")
    total = x.sum(0)
    return total / np.linalg.norm(total)


@pytest.mark.parametrize("lengths", [[1], [2, 40, 3], [280], [9] * 12, [130, 5, 200]])
def test_vectors_are_those_of_the_formulas(lengths: list[int]) -> None:
    chance = np.random.default_rng(len(lengths))
    texts = [chance.integers(0, WORDS, length).tolist() for length in lengths]
    vectors = NETWORK.encode(texts)
    assert vectors.dtype == np.float32
    for text, vector in zip(texts, vectors, strict=True):
        assert vector @ compute_vector(text) > 0.9999
        assert abs(np.linalg.norm(vector) - 1) < 1e-6


def test_the_graph_in_use_is_the_one_that_the_program_makes() -> None:
    assert GRAPH.read_bytes() == sentence_graph.network(), "python -m tests.sentence_graph writes it"


def test_the_graph_has_the_size_of_the_installed_model() -> None:
    config = json.loads((find_installed() / "config.json").read_text())
    assert (
        config["num_hidden_layers"],
        config["num_attention_heads"],
        config["hidden_size"],
        config["intermediate_size"],
        config["layer_norm_eps"],
    ) == (
        sentence_graph.LAYERS,
        sentence_graph.HEADS,
        sentence_graph.WIDTH,
        sentence_graph.INNER,
        sentence_graph.EPSILON,
    )
