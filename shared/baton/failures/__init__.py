"""Reports of failures, and background work whose failures are reported."""
