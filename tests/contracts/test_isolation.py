"""No read, consolidation, update or delete of one user ever touches another's, whatever they are called."""

import tempfile
from pathlib import Path

from hypothesis import assume, given, settings, strategies as st

from tallystick.records.delta import DeleteDelta, DeltaScope, UpdateDelta
from tallystick.records.errors import Refused
from tallystick.records.fact import FactPattern
from tests.conftest import at_most
from tests.contracts.providers import ALL, NOON, promote, put, told

PIECES = [
    "/", "%", "_", "'", '"', "\\", "*", "?", "[", "a", "A", "ä", "a\u0308", "😀", "\u200b", "\u202e", "\x00", " ", "me",
    "/session/", "/agent/", "%2F", "%25", "/user/a/session/b/agent/c/", "session/x", "ana", "Ana", "ANA", "ß", "SS",
]  # fmt: skip
ids = st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join)
scopes = st.tuples(ids, ids, ids)


def everything(number, scope):
    return told(
        f"e{number}", f"said to {number}", after=number, subject="I", predicate="live_in", object=f"{scope[0]}!"
    )


@given(everyone=st.lists(scopes, min_size=2, max_size=6, unique=True))
@settings(max_examples=at_most(25))
def test_each_scope_reads_its_own_and_nothing_else(provider, everyone):
    async def scene(stores):
        for number, (user, session, agent) in enumerate(everyone):
            await put(stores, everything(number, (user,)), user=user, session=session, agent=agent)
        for user, session, agent in everyone:
            for width in ((user,), (user, session), (user, None, agent), (user, session, agent)):
                found = {each.id for each in await stores.episodes.recent(*width, limit=50)}
                levels = [at for at, level in enumerate(width) if level is not None]
                assert found == {
                    f"e{number}"
                    for number, scope in enumerate(everyone)
                    if all(scope[at] == width[at] for at in levels)
                }

    in_a_fresh_folder(provider, scene)


@given(everyone=st.lists(scopes, min_size=2, max_size=6, unique_by=lambda scope: scope[0]))
@settings(max_examples=at_most(25))
def test_consolidation_and_what_comes_of_it_stay_with_their_user(provider, everyone):
    async def scene(stores):
        for number, (user, session, agent) in enumerate(everyone):
            await put(stores, everything(number, (user,)), user=user, session=session, agent=agent)
        deltas = await promote(stores)
        assert [delta.kind for delta in deltas] == ["add"] * len(everyone)
        for number, (user, _, _) in enumerate(everyone):
            [found] = await stores.facts.query(FactPattern(user=user))
            assert (found.user, found.payload["object"], found.episodes) == (user, f"{user}!", [f"e{number}"])
        assert await stores.episodes.consolidate(ALL) is not None

    in_a_fresh_folder(provider, scene)


@given(ana=ids, bob=ids, wrong=st.sampled_from(["update", "delete", "unpin"]), by=st.sampled_from(["fact", "episode"]))
@settings(max_examples=at_most(40))
def test_no_update_delete_or_unpin_reaches_across(provider, ana, bob, wrong, by):
    assume(ana != bob)

    async def scene(stores):
        await put(stores, everything(1, (ana,)), user=ana)
        await put(stores, told("b1", "I rest"), user=bob)
        await promote(stores)
        [anas] = await stores.facts.query(FactPattern(user=ana))
        bobs = await stores.facts.query(FactPattern(user=bob))
        name = anas.id if by == "fact" else "e1"
        try:
            if wrong == "unpin":
                await stores.facts.unpin(name, user=bob)
            else:
                await stores.facts.apply_delta(a_delta(wrong, name, bob))
        except Refused:
            assert await stores.facts.query(FactPattern(user=bob)) == bobs
        assert await stores.facts.query(FactPattern(user=ana)) == [anas]

    in_a_fresh_folder(provider, scene)


def a_delta(kind, name, user):
    said = {
        "source_episode_ids": ["b1"], "promotion_ts": NOON, "rule_id": "r", "confidence": 0.5,
        "scope": DeltaScope(user=user, agent="rag"), "replaces": [name],
    }  # fmt: skip
    return DeleteDelta(**said) if kind == "delete" else UpdateDelta(**said, fact_payload={"content": "mine"})


def in_a_fresh_folder(provider, scene):
    with tempfile.TemporaryDirectory() as folder:
        provider.play(Path(folder), scene)
