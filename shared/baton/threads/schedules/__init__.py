"""Schedules of users, and the start of runs that begin by themselves."""
