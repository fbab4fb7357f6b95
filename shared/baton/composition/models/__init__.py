"""The clients of model providers, made from the settings."""
