"""Desks: the people who answer, their hours, and conversations that wait for them."""
