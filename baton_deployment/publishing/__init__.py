"""Publishing of the built widget and console to the bucket from which a stage serves them."""

from __future__ import annotations

import json

from baton_deployment.account import Account, problems_explained
from baton_deployment.deployed_stack import read_outputs
from baton_deployment.publishing.console import find_console_place, publish_console, read_console
from baton_deployment.publishing.widget import find_widget_place, make_tag, publish, read_release
from baton_deployment.stages import Stage
from baton_local import web


def publish_front_ends(account: Account, stage: Stage) -> str:
    """Publish the front ends that the stage's stack serves, and return the text to print.

    Raises ``DeploymentError``, and ``LocalCloudError`` if they cannot be built.
    """
    outputs = read_outputs(account, stage.stack)
    widget_place, console = find_widget_place(outputs), find_console_place(outputs)
    if widget_place is None and console is None:
        return f"{stage.stack} serves neither widget nor console (ServeWidget, ServeConsole)."
    built, lines = web.build(), []
    with problems_explained("Publishing failed"):
        s3 = account.client("s3")
        if widget_place is not None:
            release = read_release(built, json.loads((web.SOURCES / "package.json").read_text())["version"])
            publish(release, s3, widget_place.bucket)
            lines.append(f"The widget is published as {release.version}:\n\n{make_tag(release, widget_place)}")
        if console is not None:
            publish_console(read_console(web.CONSOLE_BUILT), s3, console)
            lines.append(f"The console is published at {console.url}")
    return "\n\n".join(lines)
