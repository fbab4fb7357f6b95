"""Token counts are tiktoken's own."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tiktoken_ext import openai_public  # type: ignore[import-untyped]

from baton.adapters.token_counter import MAX_COUNTED, PATTERN, VOCABULARY_FILE, TiktokenCounter

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


@pytest.mark.parametrize("character", [" ", "\n", "\t", "a", "=", "1", "é", "語", "🙂"])
def test_what_is_counted_whole_is_exact(tiktokens_own: tiktoken.Encoding, character: str) -> None:
    text = f"before{character * (MAX_COUNTED - 6)}"
    assert COUNTER.count(text) == len(tiktokens_own.encode_ordinary(text))


LONG_TEXTS = {
    "prose": "".join(path.read_text() for path in sorted(FOLDER.parents[1].glob("docs/explanation/*.md"))) * 3,
    "code": (FOLDER.parents[1] / "shared/baton/adapters/openai/chat_answer.py").read_text() * 9,
    "data": json.dumps([{"id": number, "name": f"item {number}", "tags": ["a", "b"]} for number in range(5_000)]),
    "no words": "a" * 200_000,
    "another script": "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(100_000)),
    "first prose, then data": "It was a dark and stormy night. " * 5_000 + "[[0,1],{}]," * 15_000,
}


@pytest.mark.parametrize("kind", LONG_TEXTS)
def test_longer_texts_are_estimated_within_a_few_per_cent(tiktokens_own: tiktoken.Encoding, kind: str) -> None:
    text = LONG_TEXTS[kind]
    assert len(text) > 2 * MAX_COUNTED
    exact = len(tiktokens_own.encode_ordinary(text))
    assert abs(COUNTER.count(text) - exact) < 0.08 * exact


class Measured(tiktoken.Encoding):
    """Counts, and remembers how much it was given."""

    characters = 0

    def encode_ordinary(self, text: str) -> list[int]:
        self.characters += len(text)
        return super().encode_ordinary(text)


@pytest.mark.parametrize("size", [1_000, MAX_COUNTED, 10 * MAX_COUNTED, 1_048_576, 100_000_000])
def test_the_work_of_a_count_is_bounded_whatever_the_length(
    size: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tiktoken.Encoding", Measured)
    (tmp_path / VOCABULARY_FILE).symlink_to(FOLDER / VOCABULARY_FILE)  # a place of which nothing is loaded yet
    counter = TiktokenCounter(tmp_path)
    assert counter.count("a" * size) > 0
    assert isinstance(counter._encoding, Measured)
    assert counter._encoding.characters == min(size, MAX_COUNTED)


def test_counters_of_a_process_share_a_vocabulary() -> None:
    assert TiktokenCounter(FOLDER).load() is TiktokenCounter(FOLDER).load()


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
