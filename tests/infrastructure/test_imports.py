"""Each function starts and answers with the packages, files and variables of its own layers, and with no others."""
