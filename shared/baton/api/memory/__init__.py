"""Routes of episodes, procedures and skills."""
