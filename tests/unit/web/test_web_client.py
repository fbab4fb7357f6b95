"""The tests of what browsers load run with all others."""

from local import web


def test_the_tests_of_the_javascript_client_pass() -> None:
    assert "fail 0" in web.script("test")


def test_the_lock_file_names_no_registry() -> None:
    assert '"resolved"' not in (web.SOURCES / "package-lock.json").read_text()
