"""Evaluations: data sets of cases, run several times, scored, summarised with confidence intervals and compared."""

from baton_testing.evals.answer import Answer, Source
from baton_testing.evals.dataset import EvalCase

__all__ = ["Answer", "EvalCase", "Source"]
