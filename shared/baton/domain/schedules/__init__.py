"""Schedules with their rules, tasks in the background, and the causes of runs that begin by themselves."""
