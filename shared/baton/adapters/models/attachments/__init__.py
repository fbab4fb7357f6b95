"""Files of messages: their types by content, and the forms in which model APIs take them."""
