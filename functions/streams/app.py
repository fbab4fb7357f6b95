"""The HTTP API as a web app, behind the Lambda Web Adapter: answers that stream."""

from baton import composition

app = composition.api()
