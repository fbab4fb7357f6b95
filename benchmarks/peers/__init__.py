"""One scripted conversation through Baton and through other libraries, with the same model and the same storage."""
