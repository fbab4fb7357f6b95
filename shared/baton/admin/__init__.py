"""Commands for operators: `python -m baton.admin`."""
