"""HTTP in general: middleware, problems, dependencies of routes, and the OpenAPI document."""
