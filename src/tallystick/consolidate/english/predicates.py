"""The predicates that are read from English, and which of them may hold several objects at once. The list is closed.

Beside these there is only `favourite_…`, one for each thing that may be a favourite: `favourite_colour`.
"""

from __future__ import annotations

from tallystick.text.word_lists import set_of

PREDICATES = {
    "name": "what the subject is called: a name",
    "email": "an address for mail",
    "phone": "a number to call, as written",
    "age": "in years, a number",
    "birthday": "a day of the year, like 3 May",
    "born_on": "a date, a month or a year",
    "born_in": "a place",
    "comes_from": "a place: “I'm from Porto”",
    "lives_in": "a place",
    "works_at": "an employer",
    "works_as": "a job or role",
    "reports_to": "a manager",
    "manages": "a team, a group or a person",
    "studies": "a subject, now",
    "studied": "a subject, then",
    "studies_at": "a school, now",
    "studied_at": "a school, then",
    "member_of": "a club, a team or a group",
    "married_to": "a person",
    "partner": "a person, not married to the subject as far as was said",
    "child": "a person",
    "parent": "a person",
    "sibling": "a person",
    "relative": "a person: cousin, aunt, grandmother …",
    "friend": "a person",
    "colleague": "a person",
    "has_pet": "an animal, with its name where it was said: “dog Rex”",
    "owns": "a thing",
    "likes": "a thing, or something one does",
    "dislikes": "the same; “I don't like X” is read as this",
    "prefers": "a thing; `instead_of` is what it is preferred to",
    "allergic_to": "a thing",
    "diet": "vegan, vegetarian and the like",
    "speaks": "a language",
    "knows": "a person, a tool or a language of programming",
    "uses": "a tool",
    "plays": "an instrument, a sport or a game",
    "does": "a habit; only read where it was given up: “I quit smoking”",
    "decided": "what is to be done: “use PostgreSQL”",
    "goal": "what is wished or planned: “run a marathon”",
    "deadline": "of a project: a date",
    "due": "of a thing: a date",
    "is": "the value of a setting, or the day of an event: “the port is 5432”",
}
MULTI_VALUED = set_of(
    "studied studied_at member_of child parent sibling relative friend colleague has_pet owns likes dislikes"
    " prefers allergic_to speaks knows uses plays does decided goal manages"
)
