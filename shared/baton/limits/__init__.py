"""The limits of tenants: kept by workers for a minute, so that turns need not read them."""
