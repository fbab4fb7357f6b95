"""What is done with personal data: forgetting it, keeping it no longer than agreed, handing it out."""
