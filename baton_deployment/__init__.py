"""Tools for operators: checks before a deployment, the deployment, checks after it, publishing, restore, teardown.

``baton deploy``, ``settings``, ``publish``, ``smoke``, ``search``, ``restore`` and ``teardown`` use them.
"""
