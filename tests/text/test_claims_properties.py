"""What holds of claims, conflicts and repeats whatever the text: no text breaks them, and none takes long."""

import pytest
from hypothesis import assume, example, given, strategies as st

from tallystick.text.claims import Claim, claim_of, conflict, corrects, gist, is_repeat
from tests.growth import assert_text_linear

subjects = st.sampled_from(["the port", "Ana", "Ana's phone", "room 1", "the favourite colour of Ana", "I",
"The user"])
verbs = st.sampled_from(
    ["is", "is not", "was", "likes", "hates", "does not like", "lives in", "has", "starts at", ":", "=", "runs on",
     "uses"]
)  # fmt: skip
values = st.sampled_from(
    ["5432", "6543", "port 5", "3 May", "4 May 2026", "5 pm", "Monday", "tea", "hot tea", "cold tea", "Berlin",
     "Paris", "open",
     "closed", "2 cats", "3 cats", "Python 3.11", "Python 3.12", "https://a.example/x", "ab12", "5 and 6", "enabled",
     "May"]
)  # fmt: skip
statements = st.builds("{} {} {}".format, subjects, verbs, values)
signs = st.lists(
    st.sampled_from([
        ":=", "==", "=>", "::", "->", "!=", "…", "–", "(", ")", "'s", " ", " ", " ", "a", "Ana", "is", "not",
        "no longer", "likes", "that", "5", "3.5", "10:00", "ed", "s", "~",
    ]), max_size=8,
).map("".join)  # fmt: skip
texts = st.text() | st.text("aA1.,'\" :=-/@\n\u200b") | statements | signs


@given(texts, texts)
def test_a_triple_of_anything_is_read_or_not_and_nothing_breaks(one, other):
    for triple in ((one, other, one), (one, "is", other), ("", "", ""), (one,), (one, other, one, other)):
        found = claim_of(one, triple)
        assert found is None or isinstance(found, Claim)


@given(statements, statements)
@example("the port is 5", "the port is 6")
def test_a_conflict_is_the_same_from_both_sides(one, other):
    claim, other_claim = claim_of(one), claim_of(other)
    if claim is None or other_claim is None:
        return
    found, turned = conflict(claim, other_claim), conflict(other_claim, claim)

    assert (found and found[:2]) == (turned and turned[:2])
    if found:
        assert claim.key == other_claim.key
        assert 0 < found.score <= 1
        assert "\n" not in found.why


@given(statements, st.sampled_from(["Actually, {}.", "{}!", "As of now {}", "  {}  ", "No, {}", "Note: {}"]))
def test_a_claim_never_conflicts_with_itself_however_it_is_dressed(text, dress):
    claim, dressed = claim_of(text), claim_of(dress.format(text))
    assume(claim)

    assert conflict(claim, claim) is None
    assert dressed == claim
    assert not corrects(dress.format(text), text)


@given(texts, texts)
def test_is_repeat_holds_of_a_text_and_itself_and_from_both_sides(one, other):
    assert is_repeat(one, one)
    assert is_repeat(one, other) == is_repeat(other, one)
    assert is_repeat(one, other) == (gist(one) == gist(other))


digits = "0123456789"
numbered = st.sampled_from(
    ["the port is 5432", "3 May 2026", "May 3, 2026", "3rd of May", "2026-05-03", "5 pm", "12:30 am", "00:30 am",
     "17:00",
     "v1.2.3", "1,234.50", "8GB", "$5", "+49 30 555-1234", "10.0.0.1", "ab12", "https://a.example/1?b=2", "x=5",
     "5's", "1st",
     "room 1 is free", "5%", "0.10", "007", "5\"", "(5)", "'5'", "10²", "May 2026", "31 may", "12 am", "5.",
     "a1@b.example"]
) | texts.filter(lambda text: any(char in digits for char in text))  # fmt: skip


@given(numbered, st.data())
def test_no_text_repeats_another_that_differs_in_one_digit(text, data):
    places = [at for at, char in enumerate(text) if char in digits]
    at = data.draw(st.sampled_from(places))
    other = data.draw(st.sampled_from([digit for digit in digits if digit != text[at]]))

    assert not is_repeat(text, text[:at] + other + text[at + 1 :])


@given(st.text())
@example("http://" + "." * 50)
@example("'")
@example("''")
@example("'s")
@example("5'")
@example("=5")
@example("5=")
@example("am 5 pm of may")
@example("not not is")
@example("-- --05 --05-xx is")
@example(":=a")
@example("x :=y")
def test_nothing_breaks_on_any_text(text):
    claim = claim_of(text)
    assert claim is None or (claim.subject and claim.predicate and conflict(claim, claim) is None)
    assert is_repeat(text, text)


@pytest.mark.parametrize(
    "piece",
    ["a", "1", ".", " ", "a ", "1 ", "'", "a'", "a.", "1,", "1.", "=", "a=", "not ", "is ", "http://", "may 5 ",
     "of ", "@", "-1",
     "\u200b", "🙂", "\u0301", "\ud800", "as of ", "a@b.", "+1-", "\x00", '"', "a:"],
)  # fmt: skip
@pytest.mark.parametrize("letters", [19_000, 1_000_000])  # as long as one may be, and far too long
@pytest.mark.sample(10)
def test_ten_times_the_text_takes_about_ten_times_as_long(piece, letters):
    assert_text_linear(lambda text: (claim_of(text), claim_of("", (text, text, text)), gist(text)), piece, letters)
