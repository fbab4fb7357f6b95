"""Token counts are tiktoken's own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tiktoken_ext import openai_public  # type: ignore[import-untyped]

from baton.adapters.token_counter import LONGEST_BLANK, PATTERN, VOCABULARY_FILE, TiktokenCounter

FOLDER = Path(__file__).parents[3] / "layers" / "tokenizer"
COUNTER = TiktokenCounter(FOLDER)


@pytest.fixture(scope="session")
def tiktokens_own(tmp_path_factory: pytest.TempPathFactory) -> tiktoken.Encoding:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TIKTOKEN_CACHE_DIR", str(FOLDER))
        return tiktoken.get_encoding("o200k_base")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello world", 2), ("<|endoftext|>", 7), ("こんにちは", 1), ("🙂", 1), ("\ud800", 1)],
)
def test_known_counts(text: str, tokens: int) -> None:
    assert COUNTER.count(text) == tokens


@given(text=st.text(max_size=500))
def test_every_text_counts_as_tiktoken_counts_it(tiktokens_own: tiktoken.Encoding, text: str) -> None:
    assert COUNTER.count(text) == len(tiktokens_own.encode_ordinary(text))


def test_text_is_cut_as_tiktoken_cuts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(FOLDER))
    assert openai_public.o200k_base()["pat_str"] == PATTERN


@pytest.mark.parametrize(
    "run", [LONGEST_BLANK - 1, LONGEST_BLANK, LONGEST_BLANK + 1, LONGEST_BLANK + 2, 3 * LONGEST_BLANK + 7]
)
def test_long_runs_of_spaces_are_exact(tiktokens_own: tiktoken.Encoding, run: int) -> None:
    text = f"before{' ' * run}after"
    assert COUNTER.count(text) == len(tiktokens_own.encode_ordinary(text))


@pytest.mark.parametrize("character", [" ", "\n", "\t", "a", "=", "1"])
def test_a_million_times_one_character_can_be_counted(character: str) -> None:
    assert COUNTER.count(character * 1_048_576) > 0


def test_many_threads_may_count_first() -> None:
    counter = TiktokenCounter(FOLDER)
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(counter.count, ["hello world"] * 32)) == {2}


def test_a_missing_vocabulary_is_named(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=VOCABULARY_FILE):
        TiktokenCounter(tmp_path).count("x")


def test_a_damaged_vocabulary_is_refused(tmp_path: Path) -> None:
    (tmp_path / VOCABULARY_FILE).write_bytes(b"aGVsbG8= 1\n")
    with pytest.raises(RuntimeError, match="damaged"):
        TiktokenCounter(tmp_path).count("x")
