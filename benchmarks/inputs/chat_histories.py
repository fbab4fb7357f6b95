"""Long chat histories with known answers: sessions of small talk in which people state facts, and questions about them.

Everything is generated from a seed. A third of the questions use other words than the messages that answer them. The
same subjects are mentioned for other people, so that other sessions contain similar but wrong answers.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from baton.domain.memory.episode import Episode, EpisodeMessage, EpisodeRef, EpisodeStatus, Fact
from baton.domain.runs.usage import Usage
from baton.domain.threads.message import Role
from baton.domain.threads.thread import EndReason

BEGIN = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Subject:
    """A statement with its possible values, a question with some of its words, and a question in other words."""

    telling: str
    question: str
    paraphrased: str
    values: tuple[str, ...]


SUBJECTS = (
    Subject(
        "{who} adopted a {value} and named it Pepper",
        "What is the name of the animal that {who} adopted?",
        "Which animal moved in with {whom}?",
        ("beagle", "parrot", "tortoise"),
    ),
    Subject(
        "{who} painted the front door {value} over the weekend",
        "What colour is {whose} front door?",
        "What colour is the entrance of {whose} house?",
        ("teal", "crimson", "mustard"),
    ),
    Subject(
        "{who} signed up for {value} lessons on Tuesdays",
        "Which lessons does {who} take on Tuesdays?",
        "What is {who} learning once a week?",
        ("cello", "fencing", "pottery"),
    ),
    Subject(
        "{who} booked flights to {value} for the summer",
        "Where did {who} book flights to for the summer?",
        "Where is {who} going on holiday?",
        ("Lisbon", "Osaka", "Tromsø"),
    ),
    Subject(
        "the doctor told {whom} to avoid {value}",
        "What did the doctor tell {whom} to avoid?",
        "What must {who} not eat or drink for health reasons?",
        ("gluten", "caffeine", "peanuts"),
    ),
    Subject(
        "{who} got a new job at a {value}",
        "What is {whose} new job?",
        "Where is {who} employed now?",
        ("bakery", "law firm", "shipyard"),
    ),
    Subject(
        "the repair of {whose} car cost {value} in the end",
        "How much was the repair of {whose} car?",
        "How much did the garage charge {whom}?",
        ("480 euros", "1,250 euros", "730 euros"),
    ),
    Subject(
        "{who} is reading a thick novel about {value}",
        "What is the novel about that {who} read?",
        "What is the book on {whose} bedside table about?",
        ("whaling", "the Silk Road", "Antarctica"),
    ),
    Subject(
        "{who} finished the half marathon in {value}",
        "In what time did {who} finish the half marathon?",
        "How fast did {who} run the race?",
        ("1:48", "2:05", "1:59"),
    ),
    Subject(
        "{who} planted {value} along the fence",
        "What did {who} plant along the fence?",
        "What grows at the edge of {whose} garden?",
        ("lavender", "blackberries", "sunflowers"),
    ),
    Subject(
        "{whose} landlord raised the rent to {value}",
        "How high is {whose} rent now?",
        "What does {who} pay for the flat each month?",
        ("910 euros", "1,040 euros", "865 euros"),
    ),
    Subject(
        "{who} cooked {value} for eight people on Saturday",
        "What did {who} cook on Saturday for eight people?",
        "What dish did {who} serve to the guests?",
        ("paella", "ramen", "goulash"),
    ),
    Subject(
        "{who} lost a {value} on the tram yesterday",
        "What did {who} lose on the tram?",
        "Which belonging went missing on public transport for {whom}?",
        ("scarf", "violin case", "umbrella"),
    ),
    Subject(
        "the wedding of {whose} cousin will be in {value}",
        "Where is the wedding of {whose} cousin?",
        "Where do {whose} relatives get married?",
        ("Bruges", "Granada", "Kraków"),
    ),
    Subject(
        "{who} switched the phone plan to {value}",
        "Which phone plan does {who} have?",
        "Which mobile provider does {who} use?",
        ("Telfort", "Orange", "Vodafone"),
    ),
    Subject(
        "{who} keeps the spare key under the {value}",
        "Where is {whose} spare key?",
        "Where can one find the second key of {whose} place?",
        ("doormat", "flowerpot", "birdhouse"),
    ),
    Subject(
        "{whose} daughter wants to become a {value}",
        "What does {whose} daughter want to become?",
        "Which profession does {whose} child dream of?",
        ("marine biologist", "stunt pilot", "chocolatier"),
    ),
    Subject(
        "{who} broke the left {value} while skiing",
        "What did {who} break while skiing?",
        "Which bone did {who} injure in the snow?",
        ("wrist", "ankle", "collarbone"),
    ),
    Subject(
        "{who} subscribed to a magazine on {value}",
        "Which magazine does {who} subscribe to?",
        "What periodical arrives in {whose} letter box?",
        ("astronomy", "carpentry", "chess"),
    ),
    Subject(
        "the password hint of {whom} is the first {value}",
        "What is the hint for the password of {whom}?",
        "What reminds {whom} of the login?",
        ("teacher", "street", "bicycle"),
    ),
)

PARAPHRASED = 1 / 3
"""The share of questions in other words."""
PEOPLE = (
    ("I", "me", "my"),
    ("my sister Ines", "my sister Ines", "my sister Ines's"),
    ("Tom from work", "Tom from work", "Tom's"),
)

OPENINGS = ("By the way,", "Oh, and", "You will like this:", "Before I forget,", "Not important, but", "Guess what,")
REQUESTS = (
    "Can you help me write a polite e-mail to the city about the bins?",
    "How long should I boil eggs so that the yolk stays soft?",
    "Please suggest three names for a small online shop for tea.",
    "I need a packing list for a weekend in the mountains.",
    "What is the difference between a debit and a credit card?",
    "Explain photosynthesis to a ten year old.",
    "Which day of the week suits a team meeting best?",
    "Help me plan a birthday party for a child of six.",
    "How do I remove a red wine stain from a carpet?",
    "Give me a workout for twenty minutes without equipment.",
    "What should I ask a landlord before I sign a contract?",
    "Write a short poem about rain on a tin roof.",
    "How do I set up a savings plan with little money?",
    "Which plants survive in a dark hallway?",
    "Compare trains and planes for a trip of 800 kilometres.",
)
REPLIES = (
    "Of course. A good start is to decide what matters most to you, then to go through it step by step, and to leave "
    "some room for surprises.",
    "Happy to help. Here are three points: keep it simple, write it down, and check it again the next morning.",
    "That depends on your time and budget. Most people begin with the cheapest option and improve it later.",
    "Good question. There is no single answer, but a common rule is to plan for a third more time than you expect.",
    "Here is a suggestion: make a list of what you have, mark what is missing, and ask a friend to look it over.",
    "I would begin with the part that worries you, because the rest becomes easier once it is out of the way.",
)
NOTED = ("Nice, thanks for telling me.", "Good to know!", "That sounds like quite a story.", "Noted, how did it go?")
FOLLOW_UPS = ("And what would you change?", "Thanks. What else?", "Could you make it shorter?", "Why is that?")
Person = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class History:
    """The sessions of one user, and questions about them."""

    sessions: Sequence[tuple[Episode, Sequence[EpisodeMessage], Sequence[Fact]]]
    questions: Sequence[Question]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, with the ids of the session and the message that answer it."""

    text: str
    episode_id: str
    message_id: str


def make_history(seed: int, *, sessions: int, questions: int) -> History:
    """Return one user's history, with at most ``questions`` questions.

    Each subject is mentioned at most once for each person.
    """
    chance = random.Random(seed)  # noqa: S311 - a benchmark, no secret
    tellings = [(subject, person) for subject in SUBJECTS for person in PEOPLE]
    chance.shuffle(tellings)
    stated = tellings[: min(len(tellings), sessions * 2)]
    places = sorted(range(len(stated)), key=lambda _: chance.random())
    by_session: dict[int, list[int]] = {}
    for number, index in enumerate(places):
        by_session.setdefault(number % sessions, []).append(index)
    episodes, questions_asked = [], []
    for number in range(sessions):
        episode, messages, facts, answers = _make_session(
            chance, seed, number, [stated[index] for index in by_session.get(number, [])]
        )
        episodes.append((episode, messages, facts))
        questions_asked += answers
    chance.shuffle(questions_asked)
    return History(episodes, questions_asked[:questions])


def _make_session(
    chance: random.Random, seed: int, number: int, stated: Sequence[tuple[Subject, Person]]
) -> tuple[Episode, list[EpisodeMessage], list[Fact], list[Question]]:
    """Return a session in which people may state ``stated``, with its messages, facts and questions."""
    at = BEGIN + timedelta(days=2 * number, minutes=chance.randrange(600))
    thread = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{seed}/{number}"))
    ref = EpisodeRef(thread, 1, 0, 0, EndReason.TIMEOUT, at + timedelta(hours=1))
    lines = list(_make_lines(chance, stated))
    episode = Episode(ref, "user", ("assistant",), EpisodeStatus.COMPLETE, at, len(lines), Usage(0, 0))
    messages, facts, questions = [], [], []
    for ordinal, (role, text, fact, question) in enumerate(lines):
        id_ = f"{number}-{ordinal}"
        messages.append(EpisodeMessage(id_, ordinal, role, text, at + timedelta(minutes=2 * ordinal)))
        if fact is not None and question is not None:
            facts.append(Fact(f"fact-{id_}", fact, at.date(), (id_,)))
            questions.append(Question(question, ref.id, id_))
    return episode, messages, facts, questions


def _make_lines(
    chance: random.Random, stated: Sequence[tuple[Subject, Person]]
) -> Iterator[tuple[Role, str, str | None, str | None]]:
    """Yield the lines of a session: role and text, and for a statement its fact and question, otherwise None."""
    waiting = list(stated)
    for turn in range(chance.randint(4, 8)):
        request = chance.choice(REQUESTS if turn % 3 == 0 else FOLLOW_UPS)
        if waiting and chance.random() < 0.6:
            subject, (who, whom, whose) = waiting.pop()
            fact = subject.telling.format(who=who, whom=whom, whose=whose, value=chance.choice(subject.values))
            template = subject.paraphrased if chance.random() < PARAPHRASED else subject.question
            question = template.format(who=who, whom=whom, whose=whose)
            yield Role.USER, f"{request} {chance.choice(OPENINGS)} {fact}.", fact, question
            yield Role.ASSISTANT, f"{chance.choice(NOTED)} {chance.choice(REPLIES)}", None, None
        else:
            yield Role.USER, request, None, None
            yield Role.ASSISTANT, chance.choice(REPLIES), None, None
