"""Models: strict stand-ins for their endpoints, and the suite that each adapter passes against them."""
