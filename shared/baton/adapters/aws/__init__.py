"""AWS over HTTP: signed requests, connections, and the services S3, SQS, Step Functions, Secrets Manager."""
