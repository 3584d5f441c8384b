"""What little English a claim is read with: words that say nothing, words that take a claim back, forms of verbs.

Lists and no rules. A word that stands in none of them is a word like any other.
"""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


ARTICLES = _set("a an the this these")
OWNERS = _set("my our your whose")  # of whom it is plain which one is meant
FILLERS = _set("now actually currently really just indeed basically presently also anymore very quite simply nowadays")
LASTING = _set("still already")  # says nothing new to a claim, but something to a reader
OPENERS = _set("yes ok okay well so oh hey please btw fyi")  # these say nothing at the beginning only
PHRASES = {  # a first word, and what may follow for both to say nothing
    "as": (("of", "today"), ("of", "now"), ("of", "right", "now")), "at": (("the", "moment"), ("present",)),
    "right": (("now",),), "from": (("now", "on"),), "for": (("now",),), "in": (("fact",),), "of": (("course",),),
    "by": (("the", "way"),), "these": (("days",),), "any": (("longer",), ("more",)), "to": (("be", "clear"),),
}  # fmt: skip
LEADS = _set("note update correction reminder fact edit info remember fyi btw know")  # before a colon or "that"

# It is asked, guessed, wished, told of somebody, or holds only under a condition: no claim.
HEDGES = _set(
    "if unless whether maybe perhaps probably possibly presumably apparently supposedly allegedly likely unlikely might"
    " could would may seem seems seemed think thinks thought believe believes believed guess guesses suppose supposes"
    " assume assumes assumed suspect suspects hope hopes wish wishes said says say told tells tell claims claimed"
    " asked asks ask wonder wonders or either imagine suggests suggested except but although though however according"
    " supposing hypothetically quoted mentioned mentions thinking when whenever while nor neither nobody"
    " nothing none noone"
)
RELATIVE = _set("that which who whom whose where why because until since than as what how")
UNCLEAR = _set(
    "it he she they them him this that these those there here someone somebody something everything everyone one his"
    " her its their some any another many most few several both all none"
)
VAGUE = _set("a an some any another many most few several both one")  # "a room is free": which one?
ABBREVIATIONS = _set("dr mr mrs ms prof st no nr approx ca vs etc jr sr inc ltd co e.g i.e")

DENIALS = _set("not never")
BE = {"is": "is", "are": "is", "am": "is", "be": "is", "was": "was", "were": "was"}
AUXILIARY = _set("do does did have has had will shall can must should")
PREPOSITIONS = _set("in on at to from by for with under near of about as into until till over")
WHEN = _set("on at in")  # what stands before a date or a time and says nothing

# After "is": words that with it say how the value is meant.
STATES = _set(
    "called named titled located based hosted stored kept set due scheduled planned born priced worth owned led managed"
    " run maintained limited equal valid situated headquartered"
)

_VERBS = """
accept agree allow answer approve arrive ask attend ban become begin belong block bring build buy call cancel carry
catch cause celebrate change charge check choose clean close collect come commit commute complete connect contain
control cook copy cost cover create cross cut cycle dance debug decide decrease default delete depart depend deploy
describe design develop disable disagree discuss dislike display distrust download draw drink drive earn eat edit
enable encrypt end enjoy ensure equal escape exclude exercise exist expect expire export fail fall feel fetch find
finish fix fly follow forbid format generate get give go grow handle happen hate help hit hold host hurt ignore import
improve include increase inherit inspect install invite jog join keep kill know last launch lead learn leave lend let
like limit lint listen live load lock look lose love maintain make manage mean measure meet merge miss monitor move
name need offer open oppose order own paint parse pass pay permit pick pin plan play point post prefer print process
produce prohibit publish pull push put raise reach read receive reduce refer refuse reject release reload remove
render repeat replace reply report require reside resolve respect restart retry return reuse review ride rise rotate
run save schedule search see seek select sell send separate serve share ship shrink shut sing sit skip sleep smoke
solve speak spell spend split sponsor stand start stay stop store stream stretch strip study subscribe succeed suit
supply support swear swim switch sync take talk teach test throw total track travel trigger trust turn type understand
update upgrade upload use validate verify visit wait wake walk want watch wear weigh win work write
"""
_IRREGULAR = {
    "ate": "eat", "began": "begin", "bought": "buy", "built": "build", "drank": "drink", "drove": "drive",
    "forbade": "forbid", "gave": "give", "got": "get", "grew": "grow", "held": "hold", "kept": "keep", "knew": "know",
    "left": "leave", "made": "make", "met": "meet", "paid": "pay", "ran": "run", "sang": "sing", "sat": "sit",
    "saw": "see", "sent": "send", "slept": "sleep", "sold": "sell", "spent": "spend", "spoke": "speak",
    "stood": "stand", "swam": "swim", "taught": "teach", "took": "take", "went": "go", "won": "win", "wore": "wear",
    "wrote": "write", "moved": "move",
}  # fmt: skip
BARE, THIRD, PAST, GOING = "bare", "third", "past", "going"


def _third(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in "aeou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


def _with(verb: str, ending: str) -> set[str]:
    """The forms a verb may take before "ed" or "ing": a wrong one beside the right one does no harm."""
    if verb.endswith("e"):
        return {verb[:-1] + ending}
    if verb.endswith("y") and ending == "ed" and verb[-2] not in "aeou":
        return {verb[:-1] + "ied"}
    return {verb + ending, verb + verb[-1] + ending}


def _forms() -> dict[str, tuple[str, str]]:
    forms: dict[str, tuple[str, str]] = {}
    for verb in _VERBS.split():
        forms |= dict.fromkeys(_with(verb, "ing"), (verb, GOING))
        forms |= dict.fromkeys(_with(verb, "ed"), (verb, PAST))
        forms[_third(verb)] = (verb, THIRD)
    forms |= {form: (verb, PAST) for form, verb in _IRREGULAR.items()}
    forms |= {verb: (verb, BARE) for verb in _VERBS.split()}
    return forms


FORMS = _forms()  # every form of every verb: its bare form, and which it is


def singular(word: str) -> str:
    """A noun without its plural s; what merely ends in s stays."""
    if len(word) < 4 or word[-1] != "s" or word[-2] in "sui":
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "xes", "ches", "shes", "zes")) else word[:-1]
