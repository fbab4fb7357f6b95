"""The graph of the sentence encoder's network, without weights. ``python -m tests.sentence_graph`` writes it."""

from __future__ import annotations

from onnx import ModelProto, NodeProto, TensorProto, helper

from baton_local.demo_model.sentence_network import GRAPH

OPSET, IR_VERSION = 17, 8
"""Versions that every ONNX Runtime since 1.13 can read."""
LAYERS, HEADS, WIDTH, INNER, EPSILON = 6, 12, 384, 1_536, 1e-12
"""The size of all-MiniLM-L6-v2."""
OPTIMISED = "com.microsoft"
"""The domain of the runtime's own operators, which combine several steps."""


def network(
    *, layers: int = LAYERS, heads: int = HEADS, width: int = WIDTH, inner: int = INNER, epsilon: float = EPSILON
) -> bytes:
    """Return the graph of a network.

    The inputs are the sums of the embeddings (``embedded``, texts by tokens by ``width``), the ``lengths`` of the texts
    in tokens, and ``is_token`` (texts by 1 by tokens), which is 0 for padding. The output is one vector per text.
    """
    nodes: list[NodeProto] = []
    weights: list[TensorProto] = []

    def weight(name: str, *shape: int) -> str:
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="the model's file")
        weights.append(tensor)
        return name

    def add(operator: str, name: str, *inputs: str, domain: str = "", **attributes: object) -> str:
        nodes.append(helper.make_node(operator, inputs, [name], name, domain=domain, **attributes))
        return name

    def product(name: str, x: str, inputs: int, outputs: int) -> tuple[str, str]:
        """Add a linear layer without its bias, and return its output and the bias."""
        return add("MatMul", f"{name}.product", x, weight(f"{name}.weight", inputs, outputs)), weight(
            f"{name}.bias", outputs
        )

    def add_and_norm(name: str, x: str, of: str, inputs: int) -> str:
        """Add a linear layer of ``of``, add ``x`` to its output, and normalise the sum."""
        output, bias = product(name, of, inputs, width)
        scale, shift = weight(f"{name}_norm.weight", width), weight(f"{name}_norm.bias", width)
        operator = "SkipLayerNormalization"
        return add(operator, f"{name}.normed", output, x, scale, shift, bias, domain=OPTIMISED, epsilon=epsilon)

    scale, shift = weight("norm.weight", width), weight("norm.bias", width)
    x = add("LayerNormalization", "normed", "embedded", scale, shift, axis=-1, epsilon=epsilon)
    for layer in range(layers):
        output, bias = product(f"{layer}.attention", x, width, 3 * width)
        parts = [f"{layer}.{part}" for part in ("query", "key", "value")]
        nodes.append(helper.make_node("Split", [output], parts, f"{layer}.split", axis=-1))
        attention = "MultiHeadAttention"
        result = add(attention, f"{layer}.found", *parts, bias, "lengths", domain=OPTIMISED, num_heads=heads)
        x = add_and_norm(f"{layer}.attended", x, result, width)
        output, bias = product(f"{layer}.widened", x, width, inner)
        wide = add("FastGelu", f"{layer}.wide", output, bias, domain=OPTIMISED)
        x = add_and_norm(f"{layer}.narrowed", x, wide, inner)
    total = add("MatMul", "total", "is_token", x)
    nodes.append(helper.make_node("Squeeze", [total, "texts"], ["sum"], "sum"))
    nodes.append(helper.make_node("LpNormalization", ["sum"], ["vectors"], "vectors", axis=-1, p=2))
    graph = helper.make_graph(
        nodes,
        "sentence encoder",
        [
            helper.make_tensor_value_info("embedded", TensorProto.FLOAT, ["texts", "tokens", width]),
            helper.make_tensor_value_info("lengths", TensorProto.INT32, ["texts"]),
            helper.make_tensor_value_info("is_token", TensorProto.FLOAT, ["texts", 1, "tokens"]),
        ],
        [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", width])],
        [*weights, helper.make_tensor("texts", TensorProto.INT64, [1], [1])],
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(OPTIMISED, 1)]
    model: ModelProto = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
    return model.SerializeToString(deterministic=True)


if __name__ == "__main__":
    GRAPH.write_bytes(network())
