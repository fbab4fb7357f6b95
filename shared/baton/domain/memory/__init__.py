"""Episodes, procedures, and the items of a prompt that memory finds."""
