"""The thresholds of recall: what each decides, and the reason for its value.

Two more are settings of an agent (``MemorySettings``), because they depend on its embedding model: ``relevance_floor``,
0.2, and ``procedural_floor``, 0.5. The latter is higher because a procedure that does not fit changes what the agent
does, and a needless snippet only costs tokens.
"""

WORDS_FLOOR = 1 / 3
"""The share of the message's words that a text must have if it was found by words only, or has no vector.

Such a text has no similarity that says whether it fits. It was chosen and not measured.
"""
LEAST_SHARE = 0.5
"""The share of the best relevant chunk's score that a chunk of a document needs, unless it is about as similar.

Measured with Baton's own documentation (``benchmarks.knowledge``; docs/reference/benchmarks.md): half loses nothing of
the references and saves 6 % of the tokens; 0.6 loses 0.9 points.
"""
LEAST_LIKENESS = 0.75
"""The share of the best similarity with which a chunk is kept whatever its score.

Scores are relative to the weakest candidate: of two chunks that fit about equally, one has a score near 0. It was
chosen and not measured.
"""
CLOSE = 0.03
"""The largest difference of cosine similarities at which two procedures count as equally likely, and as ambiguous.

It was chosen and not measured. It only decides which of them an approval puts first.
"""
