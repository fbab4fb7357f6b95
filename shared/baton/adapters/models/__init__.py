"""Models: clients of their APIs, and what these share, such as the layout of prompts, retries and token counts."""
