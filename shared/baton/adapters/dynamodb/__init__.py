"""One DynamoDB table under ``tenant#thread`` keys: keys, attributes, packed bodies, conditional writes."""
