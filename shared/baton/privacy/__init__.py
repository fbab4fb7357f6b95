"""Personal data: what is removed from texts; forgetting, retention and export."""
