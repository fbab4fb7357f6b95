"""Code that the adapters of model APIs share: profiles, layout of prompts, attachments, failures and retries."""
