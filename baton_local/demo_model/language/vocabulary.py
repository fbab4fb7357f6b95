"""The English words by which the demo model reads users' statements about themselves, and their questions."""

from __future__ import annotations

import re
from collections.abc import Iterable

_IRREGULAR = """
    be am is are was were been being; have has had having; do does did done doing; go goes went gone going;
    get gets got getting; come comes came coming; grow grows grew grown growing; speak speaks spoke spoken speaking;
    teach teaches taught teaching; study studies studied studying; write writes wrote written writing;
    read reads reading; run runs ran running; drive drives drove driven driving; eat eats ate eaten eating;
    drink drinks drank drinking; keep keeps kept keeping; buy buys bought buying; sell sells sold selling;
    build builds built building; leave leaves left leaving; meet meets met meeting; fly flies flew flown flying;
    ride rides rode riding; sing sings sang singing; swim swims swam swimming; sleep sleeps slept sleeping;
    wear wears wore wearing; lose loses lost losing; win wins won winning; make makes made making;
    take takes took taking; give gives gave giving; know knows knew knowing; think thinks thought thinking;
    mean means meant meaning; understand understands understood; see sees saw seen seeing; say says said saying;
    tell tells told telling; feel feels felt feeling; sit sits sat sitting; stand stands stood standing;
    begin begins began beginning; break breaks broke breaking; carry carries carried carrying;
    marry marries married marrying; hate hates hated hating; play plays played playing;
    enjoy enjoys enjoyed enjoying; stay stays stayed staying; cost costs; put puts; cut cuts; hurt hurts; find finds
    found;
    forget forgets forgot; hear hears heard; bring brings brought; choose chooses chose; spend spends spent;
    start starts started starting; stop stops stopped; plan plans planned planning; prefer prefers preferred;
    can could; will would; shall should; may might; must
"""
_REGULAR = """
    live work reside dwell move relocate settle like love adore dislike collect practise practice own need want wish
    wonder use support cook bake dance travel commute arrive park adopt rent raise care train exercise climb hike cycle
    paint draw knit garden code program programme manage lead direct found help serve turn name call smoke weigh measure
    suffer recover retire learn graduate attend visit celebrate follow listen watch order try ask look hope guess
    believe
    suppose assume agree thank appreciate remember
"""


def _forms() -> dict[str, str]:
    forms: dict[str, str] = {}
    for verb in _IRREGULAR.split(";"):
        lemma, *others = verb.split()
        forms |= dict.fromkeys([lemma, *others], lemma)
    for lemma in _REGULAR.split():
        stem = lemma.removesuffix("e")
        forms |= dict.fromkeys([lemma, f"{lemma}s", f"{stem}ed", f"{stem}ing"], lemma)
        if lemma.endswith(("sh", "ch")):
            forms[f"{lemma}es"] = lemma
        if lemma.endswith("ry"):
            forms |= {f"{lemma[:-1]}ies": lemma, f"{lemma[:-1]}ied": lemma}
    return forms


VERBS = _forms()
"""Common verbs: their forms, and the first form of each."""
AUXILIARIES = frozenset("be have do can will shall may must".split())  # noqa: SIM905
REQUESTS = frozenset(
    """
    want need wish wonder think guess hope mean know understand see agree try look ask say tell thank appreciate
    believe suppose assume remember forget feel find stop
    """.split()  # noqa: SIM905
)
"""Verbs that state no fact about somebody who says "I": "I want to know", "I think so"."""

MOTIONS = frozenset("go fly travel drive move ride head".split())  # noqa: SIM905
"""Verbs for getting somewhere: who flies to Rome goes there."""
NOUNS_LIKE_VERBS = frozenset(
    """
    work play dance name programme garden order drink phone dish cook plan park meeting training building painting
    drawing start visit hope cost exercise care train support watch flight running swimming hiking baking cooking
    """.split()  # noqa: SIM905
)
"""Forms of verbs that are nouns behind "my"."""

SMALL_WORDS = frozenset(
    """
    a about again all also am an and any anything are as at be been but by can could did do does done ever exactly
    for from get got had has have he her hers him his how i if in into is it its just me mine my myself now of on or
    our ours own really s shall she should so some still that the their them then there these they this to too us
    usually was we were what when where which while who whom whose why will with would yet you your kind sort type
    much many old most best more right currently today actually please moment or not no did done it's is there
    """.split()  # noqa: SIM905
)
"""Words that say nothing about what is asked."""

_SAME = [
    ["favourite", "favorite"],
    ["colour", "color"],
    ["neighbour", "neighbor"],
    ["mum", "mom", "mother"],
    ["dad", "father"],
    ["mail", "email", "e-mail"],
    ["phone", "telephone", "mobile"],
    ["kid", "kids", "child", "children"],
    ["spouse", "partner", "wife", "husband", "married"],
    ["flat", "apartment"],
    ["film", "movie"],
    ["holiday", "vacation"],
    ["meal", "dish", "food"],
    ["car", "vehicle"],
]
_PETS = (
    "dog cat puppy kitten hamster rabbit parrot budgie canary fish goldfish horse pony bird turtle tortoise snake "
    "guinea pig mouse rat ferret lizard"
)
_KINDS = {
    "pet": _PETS,
    "animal": f"{_PETS} cow goat sheep hen chicken",
    "kid": "son daughter baby boy girl",
    "sibling": "brother sister twin",
    "parent": "mother father mum dad mom",
    "relative": "brother sister mother father aunt uncle cousin",
    "family": "wife husband son daughter brother sister mother father child children",
    "vehicle": "car bike bicycle motorbike van truck scooter boat",
}
COLOURS = frozenset(
    """
    red green blue yellow orange purple violet pink brown black white grey gray turquoise teal cyan magenta gold
    golden silver beige maroon navy lilac lavender crimson scarlet indigo olive cream ginger tabby
    """.split()  # noqa: SIM905
)
NUMBERS = frozenset(
    """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred no
    """.split()  # noqa: SIM905
)
TIME = re.compile(
    r"\d|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|september|"
    r"october|november|december|noon|midnight|today|tomorrow|yesterday|tonight|mornings?|afternoons?|evenings?|nights?|"
    r"weekends?|week|month|year|spring|summer|autumn|winter|christmas|easter|o'clock)\b",
    re.IGNORECASE,
)
PLACE = re.compile(
    r"\b(?:in|at|to|from|near|on|by|under|behind|beside|inside|outside|above|below|between|around|opposite|upstairs|"
    r"downstairs|here|abroad|home)\b",
    re.IGNORECASE,
)
NATIONALITIES = frozenset(
    """
    american argentinian australian austrian belgian brazilian british bulgarian canadian chilean chinese colombian
    croatian cuban czech danish dutch egyptian english estonian ethiopian european finnish french german ghanaian
    greek hungarian icelandic indian indonesian iranian iraqi irish israeli italian jamaican japanese kenyan korean
    latvian lebanese lithuanian malaysian mexican moroccan nigerian norwegian pakistani persian peruvian polish
    portuguese romanian russian scottish serbian slovak slovenian spanish swedish swiss syrian taiwanese thai
    tunisian turkish ukrainian vietnamese welsh catholic christian protestant muslim jewish buddhist hindu
    """.split()  # noqa: SIM905
)
MOODS = frozenset(
    """
    sorry sure fine good well ok okay done ready back here there lost tired hungry thirsty happy sad busy bored
    curious confused afraid glad new late early wrong right interested impressed alone angry ill sick better serious
    online stuck
    """.split()  # noqa: SIM905
)
"""Temporary states of a person, which are not facts to keep."""


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, without the "'s" of a possessor."""
    return [word.removesuffix("'s") for word in re.findall(r"[^\W_]+(?:['.@+-][^\W_]+)*", text.casefold())]


def lemma(word: str) -> str | None:
    """Return the verb of which the word is a form."""
    return VERBS.get(word.casefold())


def stem(word: str) -> str:
    """Return one form for a noun in singular and plural, and for the spellings and synonyms of one thing."""
    for group in _SAME:
        if word in group or word.removesuffix("s") in group:
            return group[0]
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def is_alike(word: str, other: str) -> bool:
    """Return whether two words stand for the same: forms of one noun or verb, or synonyms."""
    if word == other or stem(word) == stem(other):
        return True
    verb = VERBS.get(word)
    return verb is not None and verb == VERBS.get(other)


def is_kind_of(word: str, kind: str) -> bool:
    """Return whether a word names a thing of this kind, as "dog" a pet."""
    members = _KINDS.get(stem(kind), "").split()
    return word in members or stem(word) in members


def covers(wanted: Iterable[str], there: Iterable[str]) -> bool:
    """Return whether each of the words wanted is there, in some form or as a thing of its kind."""
    found = list(there)
    return all(any(is_alike(word, other) or is_kind_of(other, word) for other in found) for word in wanted)
