"""Procedures and skills: capture from tasks, removal of names and other specifics, drafting, decisions."""
