"""The files of a release beside its distributions: a bill of materials, checksums and their signature.

OpenSSH makes the signatures (`ssh-keygen -Y`) with the key that signs tags. The trusted keys are in the repository, so
that verifying needs neither the network nor another tool. docs/how-to/release.md describes the steps.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

BILL = "baton.cdx.json"
"""The packages of uv.lock, with their versions and checksums, as CycloneDX."""
CHECKSUMS = "SHA256SUMS"
SIGNATURE = f"{CHECKSUMS}.sig"
NAMESPACE = "baton-release"
"""The purpose of a signature, so that the signature of a tag is not valid for files."""
DISTRIBUTIONS = ("baton_client", "baton_conversations", "baton_documents", "baton_slack")


def find_gaps(folder: Path, number: str) -> Iterator[str]:
    """Yield a line for each missing file of a version in ``folder``, and for each file that belongs to no release."""
    expected = {f"{name}-{number}{end}" for name in DISTRIBUTIONS for end in (".tar.gz", "-py3-none-any.whl")}
    present = {path.name for path in folder.iterdir()} - {BILL, CHECKSUMS, SIGNATURE, ".gitignore"}
    yield from (f"{name} is missing: run `make distributions`." for name in sorted(expected - present))
    yield from (f"{name} belongs to no release of {number}: remove it." for name in sorted(present - expected))


def write_bill(root: Path, folder: Path, uv: str) -> None:
    """Write the bill of materials from the lock file, without the network."""
    command = [uv, "export", "--quiet", "--locked", "--offline", "--directory", root, "--format", "cyclonedx1.5"]
    chosen = ["--all-packages", "--all-extras", "--no-dev", "--output-file", folder / BILL]
    subprocess.run([*command, *chosen], check=True)


def write_checksums(folder: Path) -> None:
    """Write the SHA-256 of each file, in the form of ``sha256sum``."""
    names = sorted(path.name for path in folder.iterdir() if path.name not in (CHECKSUMS, SIGNATURE, ".gitignore"))
    (folder / CHECKSUMS).write_text("".join(f"{_digest(folder / name)}  {name}\n" for name in names))


def sign(folder: Path, key: Path) -> None:
    """Sign the checksums with an SSH key. If ``key`` is a public key, the SSH agent must hold the private one."""
    (folder / SIGNATURE).unlink(missing_ok=True)
    command = ["ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", NAMESPACE, folder / CHECKSUMS]
    subprocess.run(command, check=True)


def find_faults(folder: Path, signers: Path) -> Iterator[str]:
    """Yield a line for each file that differs from the one that a key of ``signers`` has signed."""
    checksums = folder / CHECKSUMS
    if not checksums.is_file() or not (folder / SIGNATURE).is_file():
        yield f"{folder} has no {CHECKSUMS} with a signature: nothing is verified."
        return
    trusted = ["-f", signers, "-s", folder / SIGNATURE]
    named = _run(["ssh-keygen", "-Y", "find-principals", *trusted], checksums)
    signer = named.stdout.decode().split("\n")[0]
    verify = ["ssh-keygen", "-Y", "verify", *trusted, "-n", NAMESPACE, "-I", signer]
    if named.returncode or _run(verify, checksums).returncode:
        yield f"{CHECKSUMS} is not signed by a key of {signers} for {NAMESPACE}: do not use these files."
        return
    signed = {name: digest for digest, name in (line.split("  ", 1) for line in checksums.read_text().splitlines())}
    present = {path.name for path in folder.iterdir()} - {CHECKSUMS, SIGNATURE, ".gitignore"}
    yield from (f"{name} was not signed: do not use it." for name in sorted(present - signed.keys()))
    for name, digest in signed.items():
        if not (folder / name).is_file():
            yield f"{name} is missing: download it again."
        elif _digest(folder / name) != digest:
            yield f"{name} is not the file that was signed: do not use it."


def _run(command: list[str | Path], read: Path) -> subprocess.CompletedProcess[bytes]:
    with read.open("rb") as content:
        return subprocess.run(command, stdin=content, capture_output=True, check=False)


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
