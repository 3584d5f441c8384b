"""Claims from what people say in plain English, without a model. It would rather miss a claim than make one up.

What is read: plain statements, one clause at a time, of somebody, a verb and what follows it, for the verbs and nouns
that stand in its tables. The predicates are the closed list `PREDICATES`; `MULTI_VALUED` are those that may hold
several objects at once. A claim quotes its evidence, from the word that names its subject to the last one that says it.

Who "I" is: the episode's metadata `speaker`; else the label before the line ("Ana: …"); else the episode's agent; else
its user. "We" is the same one, a little less surely. A line that is labelled with another name than the metadata's
speaker is a quotation and is not read. Where metadata says `role` assistant, system or tool and no agent is named, "I"
is nobody. Others are named as they stand there; "my sister" without a name is "Ana's sister". "He", "she" and "they"
are read only when exactly one person was named in the sentence before, of the same episode.

What is not read: questions, orders, conditions, wishes, plans (but `goal` and `decided`), what was and is over (but
`studied`, a birth, and what held until a time that is told), what others say ("Bob said …" is skipped, not attributed),
anything in quotation marks, code, links and lists of examples, all that follows a request to write or translate
something, capitals throughout, passwords and keys. "Just kidding" takes back the sentence before it. Of a content the
first 20,000 characters are read, and no sentence of more than 600.

What is denied: `is_denied` is for "not", "no longer", "used to" and for what was left or given up. "I don't like X" is
`dislikes`. What is corrected: "not A but B", "B, not A", "A. Actually, it's B." and "from A to B" give B with
`instead_of` A. Times are read from the moment of the episode: `valid_from` is the first day of the time that was named,
`valid_to` the day after its last. Without such words, only "moved to" and "switched to" hold from the episode's day.

How sure: 0.45 to 0.7, by how plainly it is said. After "I think", "maybe" and the like it `is_hedged`; what that takes
off is for who weighs it.
"""

from tallystick.consolidate.english.extractor import EnglishExtractor
from tallystick.consolidate.english.predicates import MULTI_VALUED, PREDICATES

__all__ = ["MULTI_VALUED", "PREDICATES", "EnglishExtractor"]
