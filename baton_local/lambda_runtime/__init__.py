"""Functions as `sam build` packs them, under AWS's runtime interface client, each environment a process tree."""
