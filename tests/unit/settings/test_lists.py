"""Settings that are lists: nothing of what an operator writes is dropped silently."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from baton.settings.document import DocumentVariables, SettingsDocument, apply_variables
from baton.settings.resources import OutsideSettings

LISTS = {
    "BATON_ALLOWED_HOSTS": ("api.example.com", "*.example.org", "api..example.com", "https://api.example.com"),
    "BATON_TOOL_PACKAGES": ("acme_tools", "shop.tools", "shop-tools", "shop..tools"),
    "BATON_ALLOWED_ORIGINS": ("https://a.example", "http://localhost:3000", "https://a.example/", "a.example"),
}
"""Variable -> two good entries and two bad ones."""


@pytest.fixture(autouse=True)
def stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_STAGE", "dev")


def read(name: str) -> list[str]:
    """The entries of a list, as the settings give them."""
    if name == "BATON_TOOL_PACKAGES":
        return list(OutsideSettings().packages)
    document = apply_variables(SettingsDocument())
    return list(document.allowed_hosts if name == "BATON_ALLOWED_HOSTS" else document.allowed_origins)


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("between", [",", ", ", " , ", ",\n  ", "\t,"])
def test_white_space_around_entries_does_not_matter(monkeypatch: pytest.MonkeyPatch, name: str, between: str) -> None:
    one, other, *_ = LISTS[name]
    monkeypatch.setenv(name, f" {one}{between}{other} ")
    assert read(name) == [one, other]


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("broken", ["{0},", ",{0}", "{0},,{1}", "{0} {1}", "{0}, {2}", "{3}", "{0};{1}", "{0}, ,{1}"])
def test_a_list_that_is_not_whole_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, name: str, broken: str) -> None:
    monkeypatch.setenv(name, broken.format(*LISTS[name]))
    with pytest.raises(ValidationError, match=rf"{name}\n.*separated by commas"):
        read(name)


def test_the_refusal_names_the_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_ALLOWED_HOSTS", "a.example, https://b.example")
    with pytest.raises(ValidationError, match=r"'https://b\.example' is none of them"):
        DocumentVariables()


@pytest.mark.parametrize("name", ["BATON_ALLOWED_HOSTS", "BATON_TOOL_PACKAGES"])
@pytest.mark.parametrize("nothing", ["", " "])
def test_nothing_is_an_empty_list(monkeypatch: pytest.MonkeyPatch, name: str, nothing: str) -> None:
    monkeypatch.setenv(name, nothing)
    assert read(name) == []


@pytest.mark.parametrize("broken", ['[{"issuer":', "https://issuer.example", "{}"])
def test_issuers_that_are_no_list_are_refused_by_name(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    monkeypatch.setenv("BATON_TOKEN_ISSUERS", broken)
    with pytest.raises(ValidationError, match="BATON_TOKEN_ISSUERS"):
        DocumentVariables()
