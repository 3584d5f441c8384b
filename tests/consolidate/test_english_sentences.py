"""A labelled set: what is said, and exactly what may be read from it. Nothing of it may slip.

Who speaks is Ana, on Wednesday 20 May 2026. A claim is written "subject | predicate | object", then what else is told
of it: not, hedged, from a day, to a day, instead of something.
"""

from datetime import UTC, datetime

import pytest

from tallystick.consolidate.english import MULTI_VALUED, PREDICATES, EnglishExtractor
from tallystick.records.episode import Episode
from tallystick.records.rule import Extracted

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)

SAID: dict[str, list[str]] = {
    # who and where
    "My name is Ana Lima.": ["Ana | name | Ana Lima"],
    "Hi, my name's Anna.": ["Ana | name | Anna"],
    "Please call me Annie.": ["Ana | name | Annie"],
    "Everyone calls me Annie.": ["Ana | name | Annie"],
    "My email is ana@example.com.": ["Ana | email | ana@example.com"],
    "My email address is ana.lima@mail.example.org, write any time.": ["Ana | email | ana.lima@mail.example.org"],
    "My phone number is +351 555 1234.": ["Ana | phone | +351 555 1234"],
    "I'm 34 years old.": ["Ana | age | 34"],
    "Bob is 41.": ["Bob | age | 41"],
    "My birthday is 3 May.": ["Ana | birthday | 3 May"],
    "My birthday is on May 3rd.": ["Ana | birthday | 3 May"],
    "Bob's birthday is the 4th of July.": ["Bob | birthday | 4 July"],
    "I was born in Porto on 3 May 1990.": ["Ana | born_in | Porto", "Ana | born_on | 1990-05-03"],
    "I was born in 1990.": ["Ana | born_on | 1990"],
    "Bob was born in Rome.": ["Bob | born_in | Rome"],
    "I'm from Lisbon.": ["Ana | comes_from | Lisbon"],
    "Bob comes from New Zealand.": ["Bob | comes_from | New Zealand"],
    "I live in Berlin.": ["Ana | lives_in | Berlin"],
    "I live in the Netherlands now.": ["Ana | lives_in | Netherlands"],
    "I'm based in São Paulo.": ["Ana | lives_in | São Paulo"],
    "Well, I live in Porto, Portugal.": ["Ana | lives_in | Porto"],
    "I've lived in Berlin since 2019.": ["Ana | lives_in | Berlin | from 2019-01-01"],
    "I've been living in Berlin for three years.": ["Ana | lives_in | Berlin | from 2023-01-01"],
    "I moved to Berlin.": ["Ana | lives_in | Berlin | from 2026-05-20"],
    "I moved to Berlin in March.": ["Ana | lives_in | Berlin | from 2026-03-01"],
    "Last week I moved to Berlin.": ["Ana | lives_in | Berlin | from 2026-05-11"],
    "In 2019, we moved to Porto.": ["Ana | lives_in | Porto | from 2019-01-01"],
    "I moved from Munich to Berlin yesterday.": ["Ana | lives_in | Berlin | from 2026-05-19 instead of Munich"],
    "I moved to Berlin when I was six.": ["Ana | lives_in | Berlin"],
    "Bob no longer lives in Rome.": ["Bob | lives_in | Rome | not"],
    "Eva used to live in Rome.": ["Eva | lives_in | Rome | not"],
    # work
    "I work at Acme.": ["Ana | works_at | Acme"],
    "I currently work for Acme Labs.": ["Ana | works_at | Acme Labs"],
    "I'm working at the University of Porto.": ["Ana | works_at | University of Porto"],
    "I work at a small bakery.": ["Ana | works_at | small bakery"],
    "I work as a nurse at Acme.": ["Ana | works_as | nurse", "Ana | works_at | Acme"],
    "I'm a software engineer.": ["Ana | works_as | software engineer"],
    "I'm a data scientist at Acme and I live in Rome.": [
        "Ana | works_as | data scientist", "Ana | works_at | Acme", "Ana | lives_in | Rome",
    ],
    "Dr. Eva Silva works at Acme.": ["Dr Eva Silva | works_at | Acme"],
    "Bob is the CEO of Initech.": ["Bob | works_as | CEO", "Bob | works_at | Initech"],
    "Bob works at Acme and lives in Rome.": ["Bob | works_at | Acme", "Bob | lives_in | Rome"],
    "I live in Berlin and work at Acme.": ["Ana | lives_in | Berlin", "Ana | works_at | Acme"],
    "I started at Acme last May.": ["Ana | works_at | Acme | from 2025-05-01"],
    "I started a new job as a teacher last week.": ["Ana | works_as | teacher | from 2026-05-11"],
    "I joined Acme in 2024.": ["Ana | works_at | Acme | from 2024-01-01"],
    "I've been working at Acme since March 2021.": ["Ana | works_at | Acme | from 2021-03-01"],
    "I worked at Acme until March.": ["Ana | works_at | Acme | to 2026-04-01"],
    "I work at Acme until the end of May.": ["Ana | works_at | Acme | to 2026-06-01"],
    "I don't work at Acme any more.": ["Ana | works_at | Acme | not"],
    "I no longer work at Acme.": ["Ana | works_at | Acme | not"],
    "I left Acme.": ["Ana | works_at | Acme | not"],
    "I left Acme this month.": ["Ana | works_at | Acme | not to 2026-05-21"],  # never after tomorrow
    "I left Acme last May.": ["Ana | works_at | Acme | not to 2025-06-01"],
    "I lost my job at Acme yesterday.": ["Ana | works_at | Acme | not to 2026-05-20"],
    "I stopped working at Acme.": ["Ana | works_at | Acme | not"],
    "I resigned from Acme on 3 May 2026.": ["Ana | works_at | Acme | not to 2026-05-04"],
    "I got a job at Initech!": ["Ana | works_at | Initech"],
    "I report to Carla.": ["Ana | reports_to | Carla"],
    "My boss is Carla.": ["Ana | reports_to | Carla"],
    "Carla is my manager.": ["Ana | reports_to | Carla"],
    "I manage the data team.": ["Ana | manages | data team"],
    "I used to work at Acme, now I work at Initech.": ["Ana | works_at | Acme | not", "Ana | works_at | Initech"],
    "My job is translator.": ["Ana | works_as | translator"],
    # learning and belonging
    "I study physics at the University of Porto.": [
        "Ana | studies | physics", "Ana | studies_at | University of Porto",
    ],
    "I studied law at Porto.": ["Ana | studied | law", "Ana | studied_at | Porto"],
    "I graduated from Porto University in 2012.": ["Ana | studied_at | Porto University | from 2012-01-01"],
    "I'm a student at Porto University.": ["Ana | studies_at | Porto University"],
    "I'm a member of the chess club.": ["Ana | member_of | chess club"],
    "I joined the choir in March.": ["Ana | member_of | choir | from 2026-03-01"],
    "I speak English, German and a bit of French.": [
        "Ana | speaks | English", "Ana | speaks | German", "Ana | speaks | French",
    ],
    "Bob is fluent in Spanish.": ["Bob | speaks | Spanish"],
    "I play the guitar and tennis.": ["Ana | plays | guitar", "Ana | plays | tennis"],
    # people and animals
    "My sister Eva works at Initech.": ["Ana | sibling | Eva", "Eva | works_at | Initech"],
    "My older brother Tom loves chess.": ["Ana | sibling | Tom", "Tom | likes | chess"],
    "My son Leo is 7 and loves dinosaurs.": ["Ana | child | Leo", "Leo | age | 7", "Leo | likes | dinosaurs"],
    "My sister is called Eva.": ["Ana | sibling | Eva"],
    "Eva is my sister.": ["Ana | sibling | Eva"],
    "Bob's wife is Eva.": ["Bob | married_to | Eva"],
    "My wife is a nurse.": ["Ana's wife | works_as | nurse"],
    "Yesterday my friend Tom came over.": ["Ana | friend | Tom"],
    "I'm married to Bob.": ["Ana | married_to | Bob"],
    "I got married to Bob last year.": ["Ana | married_to | Bob | from 2025-01-01"],
    "I have a dog called Rex.": ["Ana | has_pet | dog Rex"],
    "My cat is called Milo.": ["Ana | has_pet | cat Milo"],
    "I took my dog Rex to the vet.": ["Ana | has_pet | dog Rex"],
    "We have two cats.": ["Ana | has_pet | two cats"],
    "We adopted a puppy last week.": ["Ana | has_pet | puppy | from 2026-05-11"],
    "I own a sailing boat.": ["Ana | owns | sailing boat"],
    "Bob has a car.": ["Bob | owns | car"],
    "Bob is a doctor. He lives in Rome.": ["Bob | works_as | doctor", "Bob | lives_in | Rome"],
    "I met Eva yesterday. She works at Acme.": ["Eva | works_at | Acme"],
    # taste
    "I love hiking.": ["Ana | likes | hiking"],
    "I really like tea, coffee and dark chocolate.": [
        "Ana | likes | tea", "Ana | likes | coffee", "Ana | likes | dark chocolate",
    ],
    "I love to swim.": ["Ana | likes | to swim"],
    "Bob enjoys long walks on the beach.": ["Bob | likes | long walks on the beach"],
    "I love hiking, but it's been ages.": ["Ana | likes | hiking"],
    "I'm a big fan of jazz.": ["Ana | likes | jazz"],
    "I can't stand mushrooms.": ["Ana | dislikes | mushrooms"],
    "I hate early meetings.": ["Ana | dislikes | early meetings"],
    "I don't like mushrooms.": ["Ana | dislikes | mushrooms"],
    "I no longer like jazz.": ["Ana | likes | jazz | not"],
    "I prefer tea over coffee.": ["Ana | prefers | tea | instead of coffee"],
    "I prefer tea to coffee.": ["Ana | prefers | tea | instead of coffee"],
    "Please remember that I prefer short answers.": ["Ana | prefers | short answers"],
    "Bob prefers dark mode.": ["Bob | prefers | dark mode"],
    "My favourite colour is green.": ["Ana | favourite_colour | green"],
    "My favorite color is green.": ["Ana | favourite_colour | green"],
    "I'm allergic to peanuts and shellfish.": ["Ana | allergic_to | peanuts", "Ana | allergic_to | shellfish"],
    "I'm not allergic to peanuts.": ["Ana | allergic_to | peanuts | not"],
    "I'm vegetarian.": ["Ana | diet | vegetarian"],
    "I quit smoking.": ["Ana | does | smoking | not"],
    "I gave up drinking last year.": ["Ana | does | drinking | not"],
    # tools, settings, plans
    "We use PostgreSQL 16.": ["Ana | uses | PostgreSQL 16"],
    "I use `ruff` and `mypy`.": ["Ana | uses | ruff", "Ana | uses | mypy"],
    "I switched from vim to emacs.": ["Ana | uses | emacs | from 2026-05-20 instead of vim"],
    "We migrated to Kubernetes last year.": ["Ana | uses | Kubernetes | from 2025-01-01"],
    "I stopped using Slack.": ["Ana | uses | Slack | not"],
    "I know Python.": ["Ana | knows | Python"],
    "The port is 5432.": ["port | is | 5432"],
    "The timeout is 30 seconds.": ["timeout | is | 30 seconds"],
    "The database is PostgreSQL.": ["database | is | PostgreSQL"],
    "The report is due on Friday.": ["report | due | 2026-05-22"],
    "The report is due on Monday.": ["report | due | 2026-05-25"],
    "The deadline for the report is 3 June.": ["report | deadline | 2026-06-03"],
    "We decided to use PostgreSQL.": ["Ana | decided | use PostgreSQL"],
    "We decided not to use Redis.": ["Ana | decided | use Redis | not"],
    "My goal is to run a marathon.": ["Ana | goal | run a marathon"],
    "I'm planning to learn Greek.": ["Ana | goal | learn Greek"],
    # hedged
    "I think Bob works at Acme.": ["Bob | works_at | Acme | hedged"],
    "Maybe Bob lives in Rome.": ["Bob | lives_in | Rome | hedged"],
    "Bob probably lives in Rome.": ["Bob | lives_in | Rome | hedged"],
    "Bob lives in Rome, I think.": ["Bob | lives_in | Rome | hedged"],
    "As far as I know, Bob works at Acme.": ["Bob | works_at | Acme | hedged"],
    # corrections
    "I work at Initech, not Acme.": ["Ana | works_at | Initech | instead of Acme"],
    "I live in Berlin, not in Munich.": ["Ana | lives_in | Berlin | instead of Munich"],
    "I work not at Acme but at Initech.": ["Ana | works_at | Initech | instead of Acme"],
    "I don't work at Acme but at Initech.": ["Ana | works_at | Initech | instead of Acme"],
    "I work at Acme. Actually, it's Initech.": ["Ana | works_at | Initech | instead of Acme"],
    "I work at Acme. No, at Initech.": ["Ana | works_at | Initech | instead of Acme"],
    "I live in Munich. Sorry, I meant Berlin.": ["Ana | lives_in | Berlin | instead of Munich"],
    "The port is 5432. Correction: 6543.": ["port | is | 6543 | instead of 5432"],
    "I've changed my mind, I prefer coffee.": ["Ana | prefers | coffee"],
    # turns of talk
    "Hey Sam! Thanks for asking. I live in Rome and I love painting. How about you?": [
        "Ana | lives_in | Rome", "Ana | likes | painting",
    ],
    "Bob: I live in Rome.\nEva: I live in Paris.": ["Bob | lives_in | Rome", "Eva | lives_in | Paris"],
    "User: I live in Rome.\nAssistant: I live in a data centre in Oslo.": ["Ana | lives_in | Rome"],
    "About me:\n- I work at Acme\n- I love hiking": ["Ana | works_at | Acme", "Ana | likes | hiking"],
    "Note: I live in Rome.": ["Ana | lives_in | Rome"],  # a label that is no name
    "Assistant: I live in Oslo.\nUser: I live in Rome.": ["Ana | lives_in | Rome"],
    "My brother Tom is here. She works at Acme.": ["Ana | sibling | Tom"],  # a pronoun that cannot mean him
    "I live in Rome. Write a short story. I live in Tortuga.": ["Ana | lives_in | Rome"],
    "I live in Rome. I work at Acme. Just kidding!": ["Ana | lives_in | Rome"],  # one sentence is taken back
}

UNSAID = [
    # questions
    "Do I live in Berlin?", "I live in Berlin, right?", "Does Bob work at Acme?", "Where does Bob live",
    "Did I tell you I work at Acme?", "Is Ana a nurse?",
    "Is it true, Bob lives in Rome", "Who knows, Bob lives in Rome",
    # conditions, wishes, plans and guesses about what might be
    "If I worked at Acme, I would live in Berlin.", "I wish I lived in Berlin.", "I would love to live in Rome.",
    "I might move to Berlin.", "I will move to Berlin next year.", "I'm going to work at Acme.",
    "I'd like to work at Acme.", "I could use Python.", "Suppose I live in Rome.", "Unless I work at Acme, no.",
    "I'm thinking about moving to Berlin.", "I want to live in Berlin and work at Acme.",
    "If anyone asks, I live in Rome.", "In case of doubt, suppose this: I live in Rome.",
    "I hope to join Acme.", "I'm moving to Berlin next month.", "I should learn Rust.", "Imagine I live in Rome.",
    # the words of others
    "Bob said that he works at Acme.", "Bob says Eva lives in Rome.", 'Bob wrote "I live in Rome".',
    "“I work at Acme”, he told me.", "According to Bob, Eva works at Acme.", "> I live in Rome",
    "Bob thinks I live in Rome.",
    "'I live in Rome' is what the sign showed.", "Eva asked whether I live in Rome.",
    "Bob told Eva, I live in Rome.", "As Bob says, Eva lives in Rome.", "Bob swears, I live in Rome.",
    # orders and made-up things
    "Write a story in which I am a pirate. I live in Tortuga.", "Translate: I live in Rome.",
    "Please translate this. I live in Rome.", "Pretend that I work at Acme.", "Example: I work at Acme.",
    "For example, I live in Rome.", "Act as a nurse. I work at Acme.", "In the story I live in Rome.",
    "Some sentences:\n- I live in Rome\n- I work at Acme", "I live on Mars. Just kidding!",
    "Could you write a poem? I live in Rome.", "Tell Bob, I live in Rome.", "Add this line: I live in Rome.",
    # code and links
    "```\nI live in Rome\n```", "`I live in Rome`", "    I live in Rome", "See https://example.com/I work at",
    # what was, or is not a lasting thing
    "I lived in Rome.", "I worked at Acme in 2019.", "I have lived in Rome.", "I didn't move to Berlin.",
    "I used to love hiking.", "When I lived in Rome, it rained.", "I was living in Rome.",
    "Example: I live in Rome.\nI live in Porto.",
    # secrets
    "The password is hunter2. The token is 123456. My pin is 1234.",
    # whom or what is meant is not plain
    "I met Eva and Tom. She works at Acme.", "I met Eva. It rained. She works at Acme.", "She works at Acme.",
    "My boss met Eva. She works at Acme.", "Hey Sam! He works at Acme.", "Sam, thanks. He works at Acme.",
    "My job is stressful.", "I'm a nurse by training.", "I just like playing for fun.",
    "I love it.", "I love this!", "I love your hat.", "I love the film.", "I love how it looks.", "I like that.",
    "I like stories that end well.", "I live here.", "I live in fear.", "I work at night.", "I work for a living.",
    "I work from home.", "He works at Acme.", "Bob met Tom. He works at Acme.", "They love new journeys.",
    "Hey Bob! She works at Acme.", "You live in Rome.", "Everyone works at Acme.", "Nobody lives in Rome.",
    "I know right.", "I know what you mean.", "I know Bob is late.", "I work at Acme or Initech.",
    "I moved to a new flat.", "I moved on.", "I left early.", "I left the house.", "I have a question.",
    "I'm a morning person.", "I'm a bit tired.", "I'm German.", "I'm 5 minutes late.",
    "I manage to sleep.", "I decided to do it.", "I started painting as a hobby.", "I switched from coffee to tea.",
    "We got a few fish for dinner.", "Themes like sisterhood and love moved me.", "My ex-wife Eva works.",
    "I use humour to cope.", "The film is good.", "The weather is 30 degrees.", "The wifi password is hunter2.",
    "The key is 5432.", "It is 5432.", "I prefer not to say.", "I prefer it.", "I speak quickly.", "I play games.",
    "I LIVE IN ROME AND WORK AT ACME.", "I joined in.", "I got it.", "My name is not important.",
    "My favourite part is the end.", "My goal is clear.", "My birthday is soon.", "Thanks, Bob!", "Wow!", "...", "I",
    "I'm allergic to this.", "I'm from there.", "I like", "I'm a", "my", "Ana's", "I work at", "I live in.",
]  # fmt: skip


def read(content: str, **given: object) -> list[Extracted]:
    episode = Episode(content=content, timestamp=NOW, **{"user": "Ana", **given})  # type: ignore[arg-type]
    return EnglishExtractor().extract(episode)


def shown(claim: Extracted) -> str:
    more = [
        "not" if claim.is_denied else "",
        "hedged" if claim.is_hedged else "",
        f"from {claim.valid_from}" if claim.valid_from else "",
        f"to {claim.valid_to}" if claim.valid_to else "",
        f"instead of {claim.instead_of}" if claim.instead_of else "",
    ]
    said = f"{claim.subject} | {claim.predicate} | {claim.object}"
    return f"{said} | {' '.join(filter(None, more))}" if any(more) else said


@pytest.mark.parametrize("content", SAID)
def test_what_is_plainly_said_is_read_and_nothing_else(content):
    assert sorted(map(shown, read(content))) == sorted(SAID[content])


@pytest.mark.parametrize("content", UNSAID)
def test_what_is_not_plainly_said_is_not_read(content):
    assert list(map(shown, read(content))) == []


@pytest.mark.parametrize("content", SAID)
def test_each_claim_quotes_words_that_hold_its_object_or_the_time_it_was_read_from(content):
    for claim in read(content):
        quoted = content[claim.start : claim.end]

        assert quoted == quoted.strip(" .,!?")
        assert 0.3 <= claim.confidence <= 0.7
        if claim.predicate not in ("born_on", "birthday", "due", "deadline", "has_pet"):
            assert set(claim.object.split()) <= set(quoted.replace(",", " ").replace("`", " ").split())


def test_every_predicate_read_is_a_documented_one():
    read_here = {claim.predicate for content in SAID for claim in read(content)}

    assert {each for each in read_here if each not in PREDICATES} == {"favourite_colour"}
    assert PREDICATES >= MULTI_VALUED
