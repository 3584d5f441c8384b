"""Which other names a statement gives, and which it does not."""

from __future__ import annotations

import pytest

from tallystick.text.aliases import aliases_in


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("Wilhelmina Post goes by Mina", ("wilhelmina post", "mina")),
        ("The kiln is called Etna.", ("kiln", "etna")),
        ("Harriet, also known as Hatty, starts on Monday", ("harriet", "hatty")),
        ("The apprentices named the old tractor Gustav", ("old tractor", "gustav")),
        ("We call the archive 'the Cellar'", ("archive", "cellar")),
        ("Most people say “the Barn” when they mean depot.", ("depot", "barn")),
        ("By HQ I mean the Lisbon office", ("lisbon office", "hq")),
        ("OPS is short for Operations", ("operations", "ops")),
        ("The night bus, everybody says Owl, leaves at one", ("night bus", "owl")),
        ("ledgerd counts all tickets; we all just say LD.", ("ledgerd", "ld")),
        ("Nobody says Rosalind here, it's just the raft.", ("rosalind", "raft")),
        ("Ferdinand wants to be called Ferdi", ("ferdinand", "ferdi")),
        ("Agnes's chat handle: moth", ("agnes", "moth")),
        ("everyone here calls Rudy Pelkey Old Rudy", ("rudy pelkey", "old rudy")),
        ("lads call Brennan Big Mike", ("brennan", "big mike")),
        ("Oluwaseun Abiola, whom we all call Seun, brings two grills", ("oluwaseun abiola", "seun")),
        ("prof dahl (pd) reads the abstract", ("dahl", "pd")),
        ("staging = heron, and nobody deploys on Fridays", ("staging", "heron")),
        ("Anne-Marie Vos (AMV in the minutes) chairs it", ("anne marie vos", "amv")),
        ("My sister Tabea lives in Bern", ("my sister", "tabea")),
        ("Tabea is our new neighbour", ("my neighbor", "tabea")),
        ("Lorenz Abt leads the choir", ("abt", "lorenz")),
        ("our kiln supplier is Ove Dahl, in Bergen", ("my kiln supplier", "ove dahl")),
        ("Ove Dahl is my dentist since May", ("my dentist", "ove dahl")),
        ("Signe (signe marie), second violin", ("signe", "signe marie")),
        ("fab = fabienne rocher, sound", ("fab", "fabienne rocher")),
        ("nest = upper gallery, hold = the cinema", ("nest", "upper gallery")),
        ("The lathe in our shed is named Hector", ("lathe", "hector")),
        ("Ingeborg does the books and the whole village calls her the Abacus", ("ingeborg", "abacus")),
        ("The dredger is older than me, we've always called her Olga", ("dredger", "olga")),
        ("Wilhelmina bakes. Nobody calls her Wilhelmina, she is Mina.", ("wilhelmina", "mina")),
        ("Ove's aunt is Kirstine but nobody calls her that, she's Titi", ("kirstine", "titi")),
        ("I share a desk with Wilhelmina Post. She goes by Mina.", ("wilhelmina post", "mina")),
    ],
)
def test_a_name_that_is_given_outright(text, pair):
    assert pair in aliases_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "The port is 5432", "I called Ana on Friday", "We use the oven on Mondays", "Ana says the rent is due",
        "My sister sings on Saturdays", "What is the kiln called?", "it is called off", "x = 5", "",
        "Sorry Ana, we call it a day", "The meeting is moved to Monday", "long " * 200 + "is called Etna",
        "My favourite colour is Blue", "My shift is Monday", "Our rent is due, for Ana too", "art is artful",
    ],
)  # fmt: skip
def test_what_gives_nobody_a_name(text):
    assert aliases_in(text) == []


def test_one_statement_gives_a_few_names_at_most():
    assert len(aliases_in(", ".join(f"N{letter} = M{letter}" for letter in "abcdefghijklmnop"))) == 8
