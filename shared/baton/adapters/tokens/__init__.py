"""Tokens of users, those of OIDC issuers and embed tokens: verified with keys fetched over HTTP, exchanged, sealed.

It imports nothing: workers seal and exchange tokens, and need not load what verifies signatures.
"""
