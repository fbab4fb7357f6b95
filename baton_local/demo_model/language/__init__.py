"""What users tell of themselves in English, and what they ask about it: read by rules, without a model."""
