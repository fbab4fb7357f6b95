"""The local cloud over a project, with hot reload."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NoReturn

from baton_local.__main__ import leave, main
from baton_project.new import write_schema
from baton_project.project import Project


def run(folder: Path, port: int | None) -> NoReturn:
    """Run the project until Ctrl-C, then end this process. Raises ``ProjectProblem`` if there is no project."""
    project = Project.find(folder)
    os.environ.update(project.make_environment())
    write_schema(project.folder)
    data = Path(os.environ.get("BATON_DATA_DIR") or project.data)
    chosen: dict[str, Any] = {} if port is None else {"port": port}
    for name, variable in (("settings", "BATON_LOCAL_SETTINGS"), ("secrets", "BATON_LOCAL_SECRETS")):
        if not os.environ.get(variable):
            chosen[f"{name}_file"] = project.folder / f"{name}.local.yaml"
    chosen |= {"documents_dir": project.documents, "library_permissions": project.settings.library_permissions}
    leave(main(data_dir=data, tools_dir=project.tools, **chosen))
