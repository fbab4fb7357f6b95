"""Clients of models: the choice of provider, calls with retries, layout of prompts, token counts."""
