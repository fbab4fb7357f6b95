"""Files that are generated from the library: the schema of agents for editors, the reference of agents in Python."""
