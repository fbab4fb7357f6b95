"""Personal data: redaction, forgetting, retention and export."""
