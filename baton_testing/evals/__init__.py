"""Evaluations: data sets of cases, held several times, scored, summed up with intervals and compared."""
