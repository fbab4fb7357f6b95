"""Verification, exchange and sealing of users' tokens (of OIDC issuers and embed tokens), and keys for signatures.

This module imports nothing, so that workers which exchange tokens need not load the libraries that verify them.
"""
