"""Parts that all routes share: middleware, problem details, dependencies, shapes, and the page of the API's docs."""
