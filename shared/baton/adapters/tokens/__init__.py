"""Tokens of users (of OIDC issuers and embed tokens) are verified, exchanged and sealed here; keys sign and verify.

This module imports nothing, so that workers which exchange tokens need not load the libraries that verify them.
"""
