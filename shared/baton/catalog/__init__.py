"""The agents of a tenant: what turns know of them, and how they are changed."""
