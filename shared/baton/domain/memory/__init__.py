"""Values of memory: episodes, procedures, items of prompts and of the Context Inspector."""
