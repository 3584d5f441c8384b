"""Claims from plain English, without a model. It would rather miss a claim than make one up.

What is read: plain statements, one clause at a time, of a subject, a verb and what follows it, for the verbs and nouns
in its tables. The predicates are the closed list `PREDICATES`, and `favourite_…` for each thing that may be a favourite
(`favourite_colour`); `MULTI_VALUED` are those that may hold several objects at once. `is` gives the value of a setting
or the day of an event, `does` a habit that was given up, `has_pet` an animal with its name ("dog Rex"), and `partner`
is not married to the subject as far as was said. A claim quotes its evidence, from the word that names its subject to
the last one of the claim.

Who "I" is: the episode's metadata `speaker`; else the label before the line ("Ana: …"); else the episode's agent; else
its user. "We" is the same, a little less surely. A line labelled with another name than the metadata's speaker is a
quotation and is not read. Where metadata has `role` assistant, system or tool and no agent is named, "I" is nobody.
Others are named as in the text; "my sister" without a name is "Ana's sister". "He", "she" and "they" are read only when
exactly one person was named in the sentence before, of the same episode.

What is not read: questions, orders, conditions, wishes, plans (but `goal` and `decided`), the past (but `studied`, a
birth, and what held until a time that is named), the words of others ("Bob said …" is skipped, not attributed),
quotations, code, links and lists of examples, all that follows a request to write or translate something, text in
capitals, passwords and keys. "Just kidding" takes back the sentence before it. Of a content the first 20,000 characters
are read, and no sentence of more than 600.

Denials: `is_denied` is for "not", "no longer", "used to" and for what was left or given up. "I don't like X" is
`dislikes`. Corrections: "not A but B", "B, not A", "A. Actually, it's B." and "from A to B" give B with `instead_of` A.
Times are read from the moment of the episode: `valid_from` is the first day of the time that is named, `valid_to` the
day after its last. Without such words, only "moved to" and "switched to" hold from the episode's day.

Confidence: 0.45 to 0.7, by how plain the statement is. After "I think", "maybe" and the like it `is_hedged`; what that
takes off is for the caller to decide.
"""

from tallystick.consolidate.english.extractor import EnglishExtractor
from tallystick.text.word_lists import set_of

__all__ = ["MULTI_VALUED", "PREDICATES", "EnglishExtractor"]

PREDICATES = set_of(
    "name email phone age birthday born_on born_in comes_from lives_in works_at works_as reports_to manages studies"
    " studied studies_at studied_at member_of married_to partner child parent sibling relative friend colleague has_pet"
    " owns likes dislikes prefers allergic_to diet speaks knows uses plays does decided goal deadline due is"
)
MULTI_VALUED = set_of(
    "studied studied_at member_of child parent sibling relative friend colleague has_pet owns likes dislikes"
    " prefers allergic_to speaks knows uses plays does decided goal manages"
)
