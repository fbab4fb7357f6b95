"""Routes of desks, for the people who answer there."""
