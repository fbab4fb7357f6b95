"""Procedures and skills: captured from tasks, compared with others, freed of names, drafted, decided on."""
