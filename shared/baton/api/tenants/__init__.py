"""Routes of a tenant: audit, limits, usage, overview, hooks, webhooks, removal and personal data."""
