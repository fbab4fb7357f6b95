"""Detectors of personal data in texts: addresses, phone numbers, cards, accounts."""
