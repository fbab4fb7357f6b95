"""Episodes of ended sessions: made, indexed, searched and checked."""
