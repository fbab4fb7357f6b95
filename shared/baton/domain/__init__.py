"""Types and rules of the domain: texts, JSON values, times and days, metrics, addresses. Pure: no I/O, AWS or clock."""
