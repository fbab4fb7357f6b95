"""Personal data: what is removed from texts before they are summarized, indexed or quoted."""
