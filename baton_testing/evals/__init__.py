"""Evaluations: data sets of cases, held several times, scored, summed up with intervals and compared."""

from baton_testing.evals.answer import Answer, Source
from baton_testing.evals.dataset import EvalCase

__all__ = ["Answer", "EvalCase", "Source"]
