"""What the roles of the template allow, asked at every AWS call that a function makes on this machine."""
