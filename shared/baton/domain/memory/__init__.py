"""Values of memory: episodes, procedures, items that were found for a prompt, items of the Context Inspector."""
