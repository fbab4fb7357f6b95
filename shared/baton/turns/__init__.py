"""Turns under a lease: admission, opening, commit, recovery; reruns and dry runs, which store nothing."""
