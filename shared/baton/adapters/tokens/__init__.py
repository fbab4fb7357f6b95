"""Tokens of users: verification of those of OIDC issuers and of embed tokens, exchange, and sealing while stored.

It imports nothing: workers seal and exchange tokens, and need not load what verifies signatures.
"""
