"""Secrets do not get into a memory, through no door; only a person's program may keep them."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tallystick import Memory
from tallystick.records.errors import NeedsApproval
from tallystick.records.event import Draft
from tallystick.records.fact import Fact
from tallystick.records.rule import ConsolidationRule, Extracted
from tallystick.repair.check import check
from tallystick.repair.secrets import secrets_in
from tests.memory.conftest import in_threads
from tests.memory.paged import page_at
from tests.refusals import refuses
from tests.text.secrets.leaks import card, drawn

TOKEN = "ghp" + "_" + drawn(36)
PASSWORD = "hunt" + "er2"
CARD = card("4", 16)
SAID = f"the key is {TOKEN}, the password is {PASSWORD}, the card is {CARD}"
MASKED = "the key is [secret: GitHub token], the password is [secret: password], the card is [secret: card number]"


def leaks_in(folder: Path) -> list[str]:
    """The files of a folder in which one of the secrets stands."""
    plain = [secret.encode() for secret in (TOKEN, PASSWORD, CARD)]
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if any(secret in path.read_bytes() for secret in plain)]


def fact(payload):
    then = datetime(2026, 5, 3, tzinfo=UTC)
    return Fact(id="f", user="me", payload=payload, lineage=[], confidence=1.0, pinned_at=then)


@pytest.fixture
def told():
    return []


@pytest.fixture
def memory(home, told):
    with Memory(home / "m", notify=told.append) as memory:
        yield memory


# -- every door --------------------------------------------------------------------------------------------------------


def test_what_is_remembered_is_masked_and_its_teller_is_told_and_no_other_thread(memory, told):
    belief, heard = memory.remember(SAID), []

    assert belief.text == MASKED
    in_threads(lambda: heard.append(memory.masked))
    assert (heard, memory.masked) == ([()], ("GitHub token", "password", "card number"))
    assert told == ["masked 1 GitHub token, 1 password, 1 card number; `--keep-secrets` keeps it"]
    memory.remember("Ana drinks tea")
    assert memory.masked == ()
    assert leaks_in(memory.folder) == []


def test_no_door_lets_a_secret_in(memory, home):
    belief = memory.remember(
        SAID, tags=[TOKEN], evidence=[SAID], triple=("Ana", "uses", TOKEN), about="person-ana",
        data={"password": "sunflower9", "n": [SAID]},
    )  # fmt: skip
    assert belief.data == {"password": "[secret: password]", "n": [MASKED]}
    memory.revise(belief.id, f"again {SAID}", reason=SAID, evidence=[SAID])
    memory.observe(SAID, metadata={"token": TOKEN, "note": SAID}, session="s", id="e1")
    memory.facts.pin(fact({"subject": "Ana", "predicate": "uses", "object": TOKEN}))
    memory.outcome([belief.id], 1.0, reason=SAID)
    memory.pages.append("person-ana", SAID)
    memory.pages.create("person-bob", description=SAID, title=f"Bob {TOKEN}")
    memory.recall(SAID, receipt=True, keep_question=True)
    assert memory.receipts.all()[0].question == MASKED
    memory.receipts.flush()
    memory.episodes.retract("e1", reason=SAID)
    memory.invalidate(memory.remember("Ana is here").id, SAID)
    memory.forget(memory.remember("Bob is here").id, reason=SAID)
    with memory.batch():
        memory.remember(SAID, key="in-a-batch")
    memory.close()
    assert leaks_in(home / "m") == []
    assert check(home / "m") == []


def test_what_consolidation_reads_or_a_model_makes_up_or_comes_by_another_way_is_masked_as_it_is_recorded(memory):
    class Reader:
        name = "one that makes things up"

        def extract(self, episode):
            said = f"the password is {PASSWORD}"
            return [Extracted(subject="Ana", predicate="said", object=said, confidence=0.9, start=0, end=3)]

    memory._folder.ledger.append([Draft("config.set/1", {"key": "note", "value": SAID})])
    memory.observe(
        "a setting", metadata={"intent": "state", "subject": "Ana", "predicate": "uses", "object": TOKEN}, id="e"
    )
    memory.consolidate(ConsolidationRule(id="all", when_filter="true"))
    memory.observe("Ana spoke of many things", id="f")
    done = memory.consolidate(ConsolidationRule(id="all", when_filter="true"), extractor=Reader())
    assert [each.payload["object"] for each in done.facts] == ["the password is [secret: password]"]
    assert leaks_in(memory.folder) == []


def test_questions_and_answers_of_reviews_are_masked(memory, home):
    memory.remember("Ana drinks tea", key="tea")
    with Memory(home / "m", trust="agent", by="mcp:x") as agent, pytest.raises(NeedsApproval):
        agent.revise("tea", SAID, reason=SAID)
    review = memory.reviews.waiting()[0]
    assert (review.action.changes["text"], review.action.reason) == (MASKED, MASKED)
    memory.reviews.approve(review.id, digest=review.digest, reason=SAID)
    assert memory.show("tea").text == MASKED
    assert leaks_in(memory.folder) == []


@pytest.mark.parametrize("durability", ["full", "group"])
def test_the_same_thing_said_again_is_no_event_though_it_was_masked(home, durability):
    with Memory(home / "m", durability=durability) as memory:
        memory.remember(SAID, key="k")
        memory.observe(SAID, id="e", at="2026-05-03")
        before = memory.status().events
        memory.remember(SAID, key="k")
        memory.observe(SAID, id="e", at="2026-05-03")
        assert memory.status().events == before


# -- names -------------------------------------------------------------------------------------------------------------


def test_a_name_that_holds_a_secret_is_refused_and_nothing_is_written(memory):
    for name in ("key", "about", "session", "agent", "idempotency_key"):
        with refuses("secret", name, "GitHub token"):
            memory.remember("Ana drinks tea", **{name: TOKEN})
    with refuses("secret", "id ", "GitHub token"):
        memory.observe("Ana drinks tea", id=TOKEN)
    assert memory.status().events == 1


# -- who may keep them -------------------------------------------------------------------------------------------------


def test_a_person_may_keep_them(memory, told):
    assert memory.remember(SAID, keep_secrets=True).text == SAID
    assert memory.observe(SAID, keep_secrets=True).content == SAID
    assert memory.revise(memory.remember("x y").id, SAID, keep_secrets=True).text == SAID
    assert memory.facts.pin(fact({"text": SAID}), keep_secrets=True).payload["text"] == SAID
    assert (memory.masked, told) == ((), [])


@pytest.mark.parametrize("trust", ["agent", "tool", "web", "import"])
def test_nobody_else_may_whatever_they_say(home, trust):
    with Memory(home / "m", trust=trust) as memory:
        assert memory.remember(SAID, keep_secrets=True).text == MASKED
        assert memory.observe(SAID, keep_secrets=True).content == MASKED
    with Memory(home / "n") as memory:
        assert memory.remember(SAID, keep_secrets=True, trust=trust).text == MASKED
        assert memory.observe(SAID, keep_secrets=True, trust=trust).content == MASKED
    assert leaks_in(home / "m") == leaks_in(home / "n") == []


def test_tallystick_toml_may_keep_all_or_some_kinds_of_what_a_person_says(home):
    Memory(home / "m").close()
    (home / "m" / "tallystick.toml").write_text('[policy]\nkeep_secrets = ["card number", "password"]\n')
    (home / "m" / "tallystick.toml").chmod(0o600)
    with Memory(home / "m") as memory:
        assert memory.remember(SAID).text == SAID.replace(TOKEN, "[secret: GitHub token]")
    assert check(home / "m") == []
    (home / "m" / "tallystick.toml").write_text("[policy]\nkeep_secrets = true\n")
    with Memory(home / "m") as memory:
        assert memory.remember(SAID).text == SAID
    with Memory(home / "m", trust="agent") as memory:
        assert memory.remember(SAID).text == MASKED
    assert check(home / "m") == []


# -- pages -------------------------------------------------------------------------------------------------------------


def test_a_secret_written_on_a_page_is_masked_in_the_file_too_and_the_sync_says_so(memory):
    memory.remember("Ana drinks tea", about="person-ana")
    page = page_at(memory, "person-ana.md")
    page.write_text(
        page.read_text().replace("drinks tea", f"drinks tea, {SAID}")
        + f"\n## [2026-05-05T10:00:00]\nA note: {SAID}\n"
        + f"\n## [2026-05-05T10:01:00] {{id: 20260505-1001-abcdef}}\n{TOKEN}\n"
    )
    done = memory.pages.sync()

    assert [told.what for told in done.adopted if "masked" in told.what] == [
        "masked 1 GitHub token, 1 password, 1 card number", "masked 1 GitHub token, 1 password, 1 card number",
        "masked 1 GitHub token",
    ]  # fmt: skip
    assert f"Ana drinks tea, {MASKED}" in page.read_text()
    assert f"A note: {MASKED}" in page.read_text()
    assert leaks_in(memory.folder) == []
    assert memory.pages.sync().written == ()


def test_a_secret_that_a_person_kept_stays_when_its_page_is_edited_or_what_says_it_twice_is_merged(memory):
    memory.remember(f"the key is {TOKEN}", about="person-ana", keep_secrets=True)
    page = page_at(memory, "person-ana.md")
    page.write_text(page.read_text().replace("the key", f"Bob's password is {PASSWORD}, the key"))
    memory.pages.sync()
    edited = f"Bob's password is [secret: password], the key is {TOKEN}"
    assert [each.text for each in memory.beliefs] == [edited]

    said = f"the key is '{TOKEN}' \\n and \"so on\""
    first, second = (memory.remember(said, key=key, keep_secrets=True).id for key in "ab")
    proposal = next(each for each in memory.tidy.proposals() if {first, second} == set(each.ids))
    memory.tidy.apply(proposal)
    assert [each.text for each in memory.beliefs if each.status == "active"] == [edited, said]


# -- older ones --------------------------------------------------------------------------------------------------------


def test_check_finds_older_secrets_and_erase_removes_them_everywhere_also_from_backups(memory, home):
    kept = memory.remember(SAID, keep_secrets=True, about="person-ana", key="k")
    memory.revise("k", "nothing to see")
    episode = memory.observe("x", metadata={"api_key": TOKEN}, keep_secrets=True)
    memory.backup()
    found = {finding.place: finding for finding in check(home / "m")}

    first = found[f"event {kept.seq}"]
    assert (first.code, first.severity, first.remedy) == ("secret-found", "warning", f"tallystick erase {kept.id}")
    assert first.text == "1 GitHub token, 1 password, 1 card number in belief.text"
    assert found[f"event {episode.seq}"].text == "1 GitHub token in episode.metadata.api_key"
    assert not any(secret in str(finding) for finding in found.values() for secret in (TOKEN, PASSWORD, CARD))
    memory.erase(kept.id)
    memory.erase(episode.id)
    memory.close()
    assert check(home / "m") == []
    assert leaks_in(home / "m") == []


def test_a_finding_names_the_event_the_id_the_field_and_the_kind_and_never_the_secret(memory):
    kept = memory.remember("x", evidence=["a", SAID], data={"deep": [{"password": 1234}]}, keep_secrets=True)
    found = list(secrets_in(memory.log()))
    assert {(each.seq, each.id) for each in found} == {(kept.seq, kept.id)}
    assert [(each.field, each.kind) for each in found] == [
        ("belief.evidence[1]", "GitHub token"), ("belief.evidence[1]", "password"),
        ("belief.evidence[1]", "card number"), ("belief.data.deep[0].password", "password"),
    ]  # fmt: skip
