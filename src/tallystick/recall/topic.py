"""What a question asks about as a whole: "tell me about Priya", "everything on the oven".

It is answered by all that names the topic or is about it, then by what the topic said itself, each as far as it
resembles the question; and what is known is never refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tallystick.projections.index.search import SourceRow
from tallystick.text.recall_words import STOP, stem, words

_NAMED, _SAID = 1.0, 0.85  # what names the topic or is about it, and what it said
_MOST_WORDS = 4
_ALIKE = 3  # characters with which words of one stem begin
_TELLING = 0.6  # of the rarest word's weight: a word of the topic that names it by itself

_KNOWN = r"(?:know|known|have|got|noted?|told you|remember(?:ed)?|recorded|learned)"
_ALL = r"(?:everything|anything|all|the (?:whole |full )?(?:story|picture|summary|overview|history)|info|the lot)"
_FILLING = rf"(?: (?:i|we|you|have|{_KNOWN}|that|the|is|there is|so far|{_ALL}|info))*"
_LEADS = (
    rf"(?:please )?(?:tell|give|remind) me|(?:brief|fill|catch) me(?: in| up)?|summari[sz]e|sum up"
    rf"|(?:what'?s )?{_ALL}|(?:a |full )?(?:summary|overview|history)"
    rf"|what(?:'?s| is| do| did| have| has| should)? (?:(?:i|we|you) )?{_KNOWN}"
)
_ENDS = (
    rf"{_ALL}|(?:full |whole )?history|remind me|tell me|what(?:'?s| (?:is|have|do)) [\w' ]*?(?:story|picture|{_KNOWN})"
)
_LISTS = (
    re.compile(rf"(?:{_LEADS}){_FILLING}(?: (?:about|abt|on|of|with|re|w/))?(?=\W)(?P<topic>.+)", re.IGNORECASE),
    re.compile(rf"(?P<topic>[\w' .-]+?)(?:\s?[-,:]\s?)(?:{_ENDS})\b", re.IGNORECASE),
    re.compile(r"[Ww]ho(?:'?s| is| are) (?P<topic>(?:[A-Z]\w{1,3}\.? )?[^\W\d_a-z][\w-]+(?: [^\W\d_a-z][\w-]+)?)"
               r"\s*(?:[?,]|and\b|\Z)"),
)  # fmt: skip
_END = re.compile(r"[,:?;!]|\s-\s")
_NO_NAMES = STOP | frozenset(
    """
    know known noted note told remember please pls everything anything all story picture info lot summary overview full
    history got
    remind tell give brief far mr mrs ms miss dr prof
    """.split()  # noqa: SIM905
)


def topic_of(asked: str) -> tuple[str, ...]:
    """The words of the topic that a question asks about as a whole; none, if it asks anything else."""
    text = asked.strip().replace("’", "'")
    found = next((match for pattern in _LISTS if (match := pattern.match(text))), None)
    if found is None:
        return ()
    named = [word for word in words(_END.split(found["topic"].strip(" -"))[0]) if word not in _NO_NAMES]
    return tuple(dict.fromkeys(named)) if len(named) <= _MOST_WORDS else ()


def of_topic(
    sources: Sequence[Sequence[SourceRow]], texts: Sequence[str], wanted: Mapping[str, float]
) -> tuple[NDArray[np.float64], bool]:  # fmt: skip
    """How far each candidate is of the topic, from 0 to 1; and whether the topic is known.

    `wanted` is how rare each of its words is, by the stem.
    """
    begin = {word[:_ALIKE] for word in wanted}
    held = [
        wanted.keys() & set(map(stem, words(text))) if any(each in low for each in begin) else frozenset[str]()
        for text, low in ((text, text.lower().replace("’", "'")) for text in texts)
    ]
    about = [wanted.keys() & _words_of(source.about for source in said) for said in sources]
    spoken = [wanted.keys() & _words_of(source.agent for source in said) for said in sources]
    least = _TELLING * max((wanted[word] for has in held for word in has), default=0.0)
    parts = [
        _NAMED if names or any(wanted[word] >= least for word in has) else _SAID if says else 0.0
        for has, names, says in zip(held, about, spoken, strict=True)
    ]
    is_known = any(wanted.keys() <= {*has, *more, *says} for has, more, says in zip(held, about, spoken, strict=True))
    return np.array(parts), is_known


def _words_of(names: Iterable[str]) -> set[str]:
    return {stem(word) for name in names if name for word in words(name)}
