"""Tools for operators: checks before a deployment, the deployment, checks after it, publishing, teardown.

``make preflight``, ``make deploy``, ``make smoke``, ``make publish`` and ``make teardown`` run them in a checkout,
``baton deploy`` in a project.
"""
