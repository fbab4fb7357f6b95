"""Traces over OTLP, with OpenTelemetry's SDK, which is loaded only if a deployment sends traces."""
