"""Models of Amazon Bedrock, called with the function's role: ConverseStream for answers, InvokeModel for vectors."""
