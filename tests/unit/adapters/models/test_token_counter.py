"""Token counts are tiktoken's own."""

from __future__ import annotations

import json
import string
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tiktoken_ext import openai_public  # type: ignore[import-untyped]

from baton.adapters.models.token_counter import MAX_COUNTED, TABLE_FILE, VOCABULARY_FILE, TiktokenCounter
from baton.adapters.models.token_pieces import PATTERN, PieceCounter, TooManyLookups, make_table

FOLDER = Path(__file__).parents[4] / "layers" / "tokenizer"
COUNTER = TiktokenCounter(FOLDER)
TABLE = (FOLDER / TABLE_FILE).read_bytes()


@pytest.fixture(scope="session")
def tiktokens_own(tmp_path_factory: pytest.TempPathFactory) -> tiktoken.Encoding:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TIKTOKEN_CACHE_DIR", str(FOLDER))
        return tiktoken.get_encoding("o200k_base")


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("hello world", 2), ("<|endoftext|>", 7), ("こんにちは", 1), ("🙂", 1), ("\ud800", 1)]
)
def test_known_counts(text: str, tokens: int) -> None:
    assert COUNTER.count(text) == tokens


TEXTS = st.one_of(
    st.text(max_size=500),
    st.text(string.printable, max_size=200),
    st.lists(
        st.sampled_from([*"aÄ语ไ🙂 \n\t\r/'", "'S", "ing", "\u0301", "12", "\x1c", "\ud800", "\u017f"]), max_size=60
    ).map("".join),
)


@given(text=TEXTS)
def test_every_text_counts_as_tiktoken_counts_it(tiktokens_own: tiktoken.Encoding, text: str) -> None:
    counted = len(tiktokens_own.encode_ordinary(text))
    assert COUNTER.count(text) == counted
    assert PieceCounter(TABLE).count(text) == counted


def test_the_table_is_made_of_tiktokens_vocabulary(tiktokens_own: tiktoken.Encoding) -> None:
    ranks: dict[bytes, int] = tiktokens_own._mergeable_ranks
    assert make_table(ranks) == TABLE


def test_few_texts_are_counted_without_loading_the_vocabulary(tmp_path: Path) -> None:
    for file in (VOCABULARY_FILE, TABLE_FILE):
        (tmp_path / file).symlink_to(FOLDER / file)  # a place of which nothing has been read yet
    counter = TiktokenCounter(tmp_path)
    counter.prepare([LONG_TEXTS["prose"][:MAX_COUNTED], LONG_TEXTS["code"][:MAX_COUNTED], "Größe: 5 µm"])
    assert counter._encoding is None
    assert counter.count(LONG_TEXTS["another script"][:MAX_COUNTED]) > MAX_COUNTED
    assert counter._encoding is not None


@pytest.mark.parametrize("kind", ["no words", "another script"])
async def test_an_event_loop_gets_an_estimate_until_a_thread_has_loaded_the_vocabulary(
    kind: str, tmp_path: Path, tiktokens_own: tiktoken.Encoding
) -> None:
    for file in (VOCABULARY_FILE, TABLE_FILE):
        (tmp_path / file).symlink_to(FOLDER / file)
    counter, text = TiktokenCounter(tmp_path), LONG_TEXTS[kind][:MAX_COUNTED]
    exact = len(tiktokens_own.encode_ordinary(text))
    assert exact // 4 < counter.count(text) < exact * 4
    assert counter._loading is not None
    counter._loading.join()
    assert counter.count(text) == exact


@pytest.mark.parametrize("kind", ["no words", "another script"])
def test_the_table_is_not_used_for_long_pieces_and_rare_scripts(kind: str) -> None:
    with pytest.raises(TooManyLookups):
        PieceCounter(TABLE).count(LONG_TEXTS[kind])


def test_the_table_is_not_used_for_many_texts() -> None:
    counter = PieceCounter(TABLE)
    words = ["".join(letters) for letters in product("bcdfgjkqxz", repeat=5)]
    texts = [" ".join(words[index : index + 1_000]) for index in range(0, len(words), 1_000)]
    with pytest.raises(TooManyLookups):
        sum(map(counter.count, texts))


def test_text_is_cut_as_tiktoken_cuts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(FOLDER))
    assert openai_public.o200k_base()["pat_str"] == PATTERN


@pytest.mark.parametrize("character", [" ", "\n", "\t", "a", "=", "1", "é", "語", "🙂"])
def test_what_is_counted_whole_is_exact(tiktokens_own: tiktoken.Encoding, character: str) -> None:
    text = f"before{character * (MAX_COUNTED - 6)}"
    assert COUNTER.count(text) == len(tiktokens_own.encode_ordinary(text))


LONG_TEXTS = {
    "prose": "".join(path.read_text() for path in sorted(FOLDER.parents[1].glob("docs/explanation/*.md"))) * 3,
    "code": (FOLDER.parents[1] / "shared/baton/adapters/models/openai/chat_answer.py").read_text() * 9,
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
    """An encoding that counts, and remembers how much it was given."""

    characters = 0

    def encode_ordinary(self, text: str) -> list[int]:
        self.characters += len(text)
        return super().encode_ordinary(text)


@pytest.mark.parametrize(
    "size",
    [
        1_000,
        MAX_COUNTED,
        pytest.param(10 * MAX_COUNTED, marks=pytest.mark.nightly),
        1_048_576,
        pytest.param(100_000_000, marks=pytest.mark.nightly),
    ],
)
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


@pytest.mark.parametrize("file", [VOCABULARY_FILE, TABLE_FILE])
def test_a_damaged_vocabulary_is_refused(tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_bytes(b"aGVsbG8= 1\n")
    with pytest.raises(RuntimeError, match="damaged"):
        TiktokenCounter(tmp_path).count("x")
