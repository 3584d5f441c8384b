"""What short statements claim: which contradict each other, which correct, which merely repeat, and which do none."""

import pytest

from tallystick.text.claims import claim_of, conflict, corrects, is_repeat
from tallystick.text.words import words_of

# Old statement, new statement, the kind of their conflict, whether the new one corrects the old one by itself.
CONTRADICT = [
    ("the port is 5432", "the port is 6543", "number", True),
    ("The port is 5432", "Actually, the port is now 6543.", "number", True),
    ("The port is 5432.", "As of today, the port is 6543!", "number", True),
    ('the port is "5432"', "The port is currently 6543", "number", True),
    ("the port is 5432", "port: 6543", "number", True),
    ("port = 5432", "the port is 6543", "number", True),
    ("port=5432", "port=6543", "number", True),
    ("max_retries = 3", "the max retries are 5", "number", True),
    ("MAX_RETRIES=3", "MAX_RETRIES=5", "number", True),
    ("the timeout is 30s", "the timeout is 60 seconds", "number", True),
    ("the port is 5432", "No, the port is 6543", "number", True),
    ("the port is 5432", "the port is 6543, not 5432", "number", True),
    ("the port is 5432", "the port is 6543 instead of 5432", "number", True),
    ("the port is 5432", "Update: the port is 6543", "number", True),
    ("the port is 5432", "Note that the port is 6543 because the old one was taken", "number", True),
    ("the port is 5432", "the port is 6543 since Monday", "number", True),
    ("Ana's port is 5432", "the port of Ana is 6543", "number", True),
    ("Ana is 34", "Ana is 35", "number", True),
    ("Ana is 34 years old", "Ana is 35 years old", "number", True),
    ("Ana has two cats", "Ana has 3 cats", "number", True),
    ("the server has 8GB of memory", "the server has 16 GB of memory", "number", True),
    ("the ticket costs $5", "the ticket costs $6.50", "number", True),
    ("the rent is 1,200 euros", "the rent is 1300 euros", "number", True),
    ("the build takes 5 minutes", "the build takes 1 minute", "number", True),
    ("the service runs on port 5432", "the service runs on port 6543", "number", True),
    ("the version is v1.2.3", "the version is 1.2.4", "number", True),
    ("The project uses Python 3.11", "This project uses Python 3.12", "number", True),
    ("the limit is set to 10", "the limit is set to 20", "number", True),
    ("the discount is 5%", "the discount is 10%", "number", True),
    ("my phone is 555-1234", "my phone is 555-1235", "number", True),
    ("the score was 5", "the score was 6", "number", False),  # each at its time, perhaps
    ("the meeting is on Monday", "the meeting is on Tuesday", "date", True),
    ("the meeting is on Monday", "the meeting will be on Tuesday", "date", True),
    ("the deadline is 3 May", "the deadline is 4 May", "date", True),
    ("the deadline is May 3rd", "the deadline is the 4th of May 2026", "date", True),
    ("the deadline is 2026-05-03", "the deadline is 4 May 2026", "date", True),
    ("the box ships on 2026-05-03", "the box ships on 2026-05-04", "date", True),
    ("ships on 2026-05-03", "ships on 2026-05-04", "date", True),
    ("the launch is in May", "the launch is in June", "date", True),
    ("the pass expires on 3 May", "the pass expires 4 May", "date", True),
    ("the meeting starts at 5 pm", "the meeting starts at 18:00", "date", True),
    ("the meeting is on Monday at 5 pm", "the meeting is on Monday at 6 pm", "date", True),
    ("the deadline is 3/5/2026", "the deadline is 4/5/2026", "date", True),
    ("the pass ends 2026-05-03T10:00Z", "the pass ends 2026-05-03T11:00Z", "date", True),
    ("the database is Postgres 15", "the database is Postgres 16", "number", True),
    ("Ana has one cat", "Ana has two cats", "number", True),
    ("Ana agrees with Bob", "Ana disagrees with Bob", "antonym", False),
    ("the meeting is on 3 May at 5 pm", "the meeting is on 4 May at 6 pm", "date", False),  # two values differ
    ("the cache is enabled", "the cache is not enabled", "negation", True),
    ("the cache is enabled", "the cache isn't enabled", "negation", True),
    ("Ana likes tea", "Ana does not like tea", "negation", True),
    ("Ana likes tea", "Ana doesn’t like tea", "negation", True),
    ("Ana likes tea", "Ana no longer likes tea", "negation", True),
    ("Ana never drinks tea", "Ana always drinks tea", "negation", True),
    ("Ana can swim", "Ana cannot swim", "negation", True),
    ("Ana has a dog", "Ana has no dog", "negation", True),
    ("Ana juggles", "Ana does not juggle", "negation", True),
    ("Use tabs", "Do not use tabs", "negation", True),
    ("Push to main", "Never push to main", "negation", True),
    ("the port is 5432", "the port is not 5432", "negation", True),
    ("Ana called Bob", "Ana did not call Bob", "negation", False),
    ("Ana loves tea", "Ana does not like tea", "negation", False),
    ("the cache is enabled", "the cache is disabled", "antonym", False),
    ("the light is on", "the light is off", "antonym", False),
    ("Ana likes tea", "Ana hates tea", "antonym", False),
    ("Ana prefers tea over coffee", "Ana prefers coffee over tea", "antonym", False),
    ("Ana prefers tea to coffee", "Ana prefers coffee over tea", "antonym", False),
    ("Ana likes green tea more than coffee", "Ana likes coffee more than green tea", "antonym", False),
    ("the backup runs before the deploy", "the backup runs after the deploy", "antonym", False),
    ("the shop is open on Sunday", "the shop is closed on Sunday", "antonym", False),
    ("the project uses tabs", "the project uses spaces", "antonym", False),
    ("the favourite colour of Ana is red", "Ana's favorite color is blue", "value", False),
    ("Ana lives in Berlin", "Ana lives in Paris", "value", False),
    ("Ana is living in Berlin", "Ana lives in Paris", "value", False),
    ("Ana works at Acme", "Ana works at Globex", "value", False),
    ("the service is called Atlas", "the service is called Orion", "value", False),
    ("the manager is Ana", "The manager is Bob", "value", False),
    ("the url is https://a.example/x", "the url is https://a.example/y", "value", True),
    ("Ana's mail is ana@a.example", "Ana's mail is ana@b.example", "value", True),
    ("the script lives in a/b.sh", "the script lives in a/c.sh", "value", True),
    ("the code is aB3x", "the code is ab3X", "value", True),
]  # fmt: skip

BOTH_MAY_HOLD = [
    ("Ana likes tea", "Ana likes coffee"),
    ("Ana likes hot tea", "Ana likes cold tea"),
    ("room 1 is free", "room 2 is free"),
    ("port 5432 is open", "port 6543 is open"),
    ("Ana's phone is 123", "Bob's phone is 456"),
    ("version 2 fixed bug 17", "version 2 fixed bug 18"),
    ("Ana is 34", "Ana is a nurse"),
    ("Ana is a nurse", "Ana is tall"),
    ("Ana is German", "Ana is Catholic"),
    ("Ana has 2 cats", "Ana has 3 dogs"),
    ("Ana bought 2 apples", "Ana bought 3 apples"),
    ("the server uses port 5432", "the server uses port 6543"),
    ("the shop is open on Monday", "the shop is open on Tuesday"),
    ("Ana is free at 5 pm", "Ana is free at 6 pm"),
    ("the meeting is on Monday", "the meeting is at 5 pm"),
    ("the meeting is on Monday", "the meeting is on 4 May"),
    ("the deadline is 3 May", "the deadline is 3 May 2026"),
    ("the price is 5", "the price is 5.0"),
    ("the version is 3.11", "the version is 3.11.2"),
    ("the deadline is 3/5/2026", "the deadline is 2026-05-03"),
    ("the deadline is 3/5/2026", "the deadline is 5/3/2026"),
    ("the pass ends 2026-05-03", "the pass ends 2026-05-03T10:00"),
    ("the launch is in May", "the launch is in May 2026"),
    ("the reading is 20 at 5 pm", "the reading is 20 at 6 pm"),
    ("the pass expires in 5 days", "the pass expires in 3 days"),
    ("the game is in 5 minutes", "the game is in 10 minutes"),
    ("the talk is about 5 birds", "the gift is for 5 birds"),
    ("the gift is for Ana", "the gift is for Bob"),
    ("the rate is 200 a minute", "the rate is 100 an hour"),
    ("only Ana likes tea", "only Ana does not like tea"),
    ("Paris is the capital of France", "Lyon is the capital of France"),
    ("Invoice 17 is due on 3 May", "Invoice 18 is due on 4 May"),
    ("two servers are down", "two servers are not down"),
    ("Ana uses Room 5", "Ana uses Room 6"),
    ("Ana usually sleeps", "Ana does not sleep"),
    ("the port was 5432 in 2020", "the port is 6543 now"),
    ("the port was 5432", "the port is 6543"),
    ("the port will be 5432", "the port is 6543"),
    ("Ana used to like tea", "Ana does not like tea"),
    ("Ana lived in Berlin", "Ana lives in Paris"),
    ("Ana lived in Berlin", "Ana lived in Paris"),
    ("Ana lives in Berlin", "Ana lives in Berlin, Germany"),
    ("the cache is disabled", "the cache is not enabled"),
    ("Ana hates tea", "Ana does not like tea"),
    ("Ana likes tea", "Ana does not love tea"),
    ("the port is not 5432", "the port is 6543"),
    ("the port is not 5432", "the port is not 6543"),
    ("the ports are 5432 and 6543", "the ports are 5432 and 7000"),
    ("the ports are 5432 and 6543", "the ports are 7000 and 6543"),
    ("the ports are 5432, 6543", "the ports are 7000, 6543"),
    ("the price is 1.5", "the price is 1.50"),
    ("Ana is good as a cook", "Ana is not good as a driver"),
    ("the port is 5432 on staging", "the port is 6543 on production"),
    ("on staging, the port is 5432", "on production, the port is 6543"),
    ("the server is down", "the servers are up"),
    ("Ana usually sleeps 8 hours", "Ana rarely sleeps 8 hours"),
    ("Ana does not always drink tea", "Ana drinks tea"),
    ("the meeting is today", "the meeting is tomorrow"),
    ("Ana likes IT", "Ana does not like it"),
]  # fmt: skip

CLAIM_NOTHING = [
    "", " ", ".", "?", "tea", "is", "the", "is the port 5432?", "is the port 5432", "the port is 5432?",
    "what is the port",
    "if the cache is full the port is 5432", "the port is 5432 if the cache is full", "maybe the port is 5432",
    "the port might be 5432", "the port may be 5432", "I think the port is 5432", "Ana said the port is 5432",
    'Ana says: "the port is 5432"', "the port is 5432 or 6543", "the port is 5432. The host is a.",
    "the port is 5432; it moved", "the port is 5432. No", "the port is 5432. Now", "Ana is sure not to come",
    "the port is 5432\nthe host is a", "the port is 5432\non b", "it is 5432", "he lives in Berlin",
    "two rooms are free", "his phone is 123", "a room is free",
    "some server is down", "one of the servers is down", "the port is 5432 and the host is x",
    "the server that failed is up",
    "Ana knows that the port is 5432", "nobody likes tea", "the port is", "= 5432", ": 5432", "die Tür ist offen",
    "港口是 5432",
    "الميناء هو 5432", "🙂🙂🙂", "\x00", "\ud800 \ud800", "word " * 61 + "is 5", "the port is 5" + "0" * 1000,
]  # fmt: skip

REPEATS = [
    ("It costs $5,000", "It costs $5000"),
    ("It weighs 3,500kg", "It weighs 3500 kg"),
    ("Dr. Smith called", "Dr Smith called"),
    ("The wall is gray.", "The wall is grey"),
    ("Ana likes tea", "ana likes tea."),
    ("The user prefers dark mode", "User prefers the dark mode!"),
    ("the port is 5432", "Actually, the port is now 5432."),
    ("Ana doesn't like tea", "Ana does not like tea"),
    ("the deadline is 3 May 2026", "The deadline is 2026-05-03"),
    ("the deadline is May 3rd", "the deadline is the 3rd of May"),
    ("the meeting starts at 5 pm", "the meeting starts at 17:00"),
    ("the rent is 1,200", "the rent is 1200"),
    ("it needs 8GB", "it needs 8 GB"),
    ("it takes 30s", "it takes 30 seconds"),
    ("Ana has two cats", "Ana has 2 cats"),
    ("Ana can't swim", "Ana cannot swim"),
    ("Ana’s favorite color is “red”", 'Ana\'s favourite colour is "red"'),
    ("the  port\nis\t5432", "the port is 5432"),
    ("the port is 5432\u200b", "the port is 5432"),
    ("Yes, the port is 5432", "the port is 5432"),
    ("the version is v1.2.3", "the version is 1.2.3"),
    ("caf\u00e9", "cafe\u0301"),
]  # fmt: skip

NOT_REPEATS = [
    ("It is not just tea", "It is not tea"),
    ("Bob called. Ana paid.", "Bob called Ana. Paid."),
    ("It costs €5,00", "It costs €500"),
    ("It weighs 3,500kg", "It weighs 3.500kg"),
    ("Call +49-30-12", "Call 49-30-12"),
    ("Mr Gray came", "Mr Grey came"),
    ("Ana likes tea", "Bob likes tea"),
    ("Ana likes tea", "Ana likes green tea"),
    ("Ana knows Bob", "Bob knows Ana"),
    ("from 5 to 6", "from 6 to 5"),
    ("Ana likes tea", "Ana liked tea"),
    ("the server is down", "the servers are down"),
    ("the port is 5432", "the port is 5432?"),
    ("the version is 3.1", "the version is 3.10"),
    ("the size is -5", "the size is 5"),
    ("the size is <5", "the size is >5"),
    ("it is 5' long", 'it is 5" long'),
    ("it is 5' long", "it is 5 long"),
    ('it is 5" long', "it is 5 long"),
    ("at 1 pm", "at 13 pm"),
    ("mood: :)", "mood: :]"),
    ("the price is $5", "the price is €5"),
    ("status: ✅", "status: ❌"),
    ("mood: :)", "mood: :("),
    ("Ana writes C", "Ana writes C++"),
    ("Ana told us", "Ana told US"),
    ("Password: ABC", "password: abc"),
    ("the token is aB3", "the token is Ab3"),
    ("the url is https://a.example/x", "the url is https://a.example/X"),
    ("it is too hot", "it is hot"),
    ("the answer is yes", "the answer is"),
    ("Ana sings well", "Ana sings"),
    ("the shop is open", "the shop is still open"),
    ("5 am", "5 pm"),
    ("3 May", "May"),
    ("...", "!!!"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "kind", "is_correction"), CONTRADICT)
def test_these_contradict_each_other(old, new, kind, is_correction):
    one, other = claim_of(old), claim_of(new)

    assert one is not None
    assert other is not None
    assert one.key == other.key, "an index by key brings them together"
    found = conflict(one, other)
    assert found is not None
    assert found.kind == kind == conflict(other, one).kind
    assert corrects(new, old) is is_correction
    assert not is_repeat(old, new)


@pytest.mark.parametrize(("one", "other"), BOTH_MAY_HOLD)
def test_these_may_both_hold(one, other):
    claim, other_claim = claim_of(one), claim_of(other)

    assert claim is None or other_claim is None or conflict(claim, other_claim) is None
    assert not corrects(other, one)
    assert not corrects(one, other)
    assert not is_repeat(one, other)


@pytest.mark.parametrize("text", CLAIM_NOTHING)
def test_these_claim_nothing(text):
    assert claim_of(text) is None
    assert not corrects("the port is 6543", text)
    assert not corrects(text, "the port is 6543")


@pytest.mark.parametrize(("one", "other"), REPEATS)
def test_these_repeat_each_other_and_are_no_contradiction(one, other):
    assert is_repeat(one, other)
    assert not corrects(one, other)


@pytest.mark.parametrize(("one", "other"), NOT_REPEATS)
def test_these_are_alike_and_no_repeats(one, other):
    assert not is_repeat(one, other)


def test_a_claim_is_in_plain_small_words():
    assert claim_of("Actually, the Port of Ana's server is not 5432.")[:4] == ("ana server port", "is", "5432", True)
    assert claim_of("Ana used to like tea")[:4] == ("ana", "did like", "tea", False)
    assert claim_of("Dr. Smith lived in Berlin")[:4] == ("dr smith", "did live in", "berlin", False)


def test_a_date_is_one_word_and_takes_no_more_than_its_own():
    assert words_of("on 3 May, 2026") == [("on", "a"), ("2026-05-03", "d")]
    assert words_of("3 May 5432") == [("--05-03", "d"), ("5432", "n")]
    assert words_of("3 May costs 2026") == [("--05-03", "d"), ("costs", "a"), ("2026", "n")]
    assert words_of("34 May 5 may") == [("34", "n"), ("--05-05", "d"), ("may", "a")]


def test_a_conflict_says_why_in_one_line():
    def why(one: str, other: str) -> str:
        return conflict(claim_of(one), claim_of(other)).why

    assert why("the port is 5432", "the port is 6543") == "5432 against 6543"
    assert why("the deadline is 3 May", "the deadline is 4 May") == "3 May against 4 May"
    assert why("the launch is in May", "the launch is in June") == "May against June"
    assert why("Ana likes tea", "Ana dislikes tea") == "like against dislike"
    assert why("Ana likes tea", "Ana does not like tea") == "said and denied: like tea"


def test_the_surer_the_conflict_the_higher_its_score():
    def score(one: str, other: str) -> float:
        return conflict(claim_of(one), claim_of(other)).score

    scores = [
        score("Ana likes tea", "Ana does not like tea"),
        score("Ana is 34", "Ana is 35"),
        score("the door is open", "the door is closed"),
        score("the game is on 3 May at 5 pm", "the game is on 4 May at 6 pm"),
        score("the score was 5", "the score was 6"),
        score("Ana lives in Rome", "Ana lives in Oslo"),
        score("the guest is Ana", "the guest is Bob"),
    ]
    assert scores == sorted(set(scores), reverse=True)


def test_a_triple_decides_and_meets_what_was_said_in_words():
    assert claim_of("whatever", ("Ana", "lives_in", "Berlin")) == claim_of("Ana lives in Berlin")
    assert claim_of("", ("Ana", "livesIn", "Berlin")) == claim_of("Ana lives in Berlin")
    assert claim_of("", ("Ana", "phone", "123")) == claim_of("Ana's phone is 123")
    assert claim_of("", ("Ana", "has_phone", "123")) == claim_of("Ana's phone is 123")
    assert claim_of("", ("Ana", "does not like", "tea")) == claim_of("Ana does not like tea")
    assert corrects("x", "y", ("db", "port", "6543"), ("db", "port", "5432"))
    assert corrects("Ana's phone is 124", "", (), ("Ana", "phone", "123"))


def test_a_triple_that_may_hold_several_values_is_not_corrected():
    assert not corrects("", "", ("Ana", "visited", "2019"), ("Ana", "visited", "2020"))
    assert not corrects("", "", ("Ana", "phones", "123"), ("Ana", "phones", "456"))
    assert not corrects("", "", ("Ana", "likes", "tea"), ("Ana", "likes", "coffee"))
    assert not corrects("", "", ("Ana", "phone", "123"), ("Bob", "phone", "456"))


@pytest.mark.parametrize("text", ["may n't", "the day is 'll", "May 's", "n't", "the port is 's 5432"])
def test_a_short_form_that_lost_its_word_is_a_word_like_any_other(text):
    claim_of(text)  # it raises nothing


def test_my_at_the_head_of_a_sentence_is_no_name():
    said = claim_of("My port is 5432")

    assert said is not None
    assert said.is_definite
