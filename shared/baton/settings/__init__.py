"""Settings from environment variables: one frozen model a function family, in modules by topic.

Each is read when it is needed. An invalid variable fails at once and is named in the error. ``template.yaml`` sets the
variables, and the local cloud sets them from the same template. Import the topic that you read, not all of them: a
function waits for each import when it starts.
"""
