"""One agent at work: its loop, its answer and the sources of it, approvals, the facts and the attempt of its run."""
