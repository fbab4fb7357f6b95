"""Files of messages in the forms that model APIs take."""
