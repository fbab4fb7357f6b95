"""Routes of a tenant: audit, limits, overview and personal data."""
