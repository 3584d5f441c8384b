"""Where something belongs and how it is said: what an agent that writes pages is given to read."""

SCHEMA = """\
# Where memory goes

## 1. Is it worth a line?
Say nothing if it is small talk, a guess, something that holds only for this task, a secret, or already on the page.
Write it if somebody would want to know it in a month.

## 2. Which page?
Ask in this order, and take the first yes:

| it is about | page | for example |
|---|---|---|
| who the user is | `user-profile` | name, home, work, family |
| what the user likes or wants done | `user-preferences` | tea over coffee, short answers |
| the user otherwise | `user-…` | `user-health` |
| another person | `person-…` | `person-ana` |
| a company, a team, an institution | `org-…` | `org-acme` |
| a piece of work with an end | `project-…` | `project-launch` |
| a program, a service, a command | `tool-…` | `tool-postgres` |
| what happened on one day | `event-YYYY-MM-DD` | `event-2026-04-22` |
| a field of knowledge, anything else | `topic-…` | `topic-rust-async` |

One page for one thing. Look at the list of pages first: `person-ana` and `person-ana-maria` may be one person. Names
are lowercase letters and dashes. A page is made when its first entry is written.

## 3. Append, supersede, or say nothing?
Read the page, and search it, before you write.
- Nothing there speaks of it: **append**.
- An entry says the same: say **nothing**.
- An entry says what was true and is true no longer, or was wrong: **supersede** that entry, by its id, with the whole
  statement as it holds now, and say why in `reason`.
- An entry is true, and you know more: **append** only what is new; supersede only if one sentence can say both.
- You are not sure which of two holds: append the new one, and say who said it and when.
- A page has become long or repeats itself: **flag_compact**. Do not rewrite it yourself.
Nothing is deleted. What was superseded stays on the page, struck.

## 4. How is it said?
- One to three sentences that are understood without the rest of the page. One fact for one entry.
- Name the subject: "Ana prefers tea", not "She prefers it". The user is "User".
- The present tense for what holds, the past tense with its date for what happened: "User lives in Berlin." "Ana moved
  to Berlin on 2026-03-01." Never "today", "recently", "now": write the date.
- Keep names, numbers, amounts, versions, paths and links exactly as they were said, and a "not" where there was one.
- Say who told it, if it was not the user: "Bob says that …".
- One to three tags, lowercase: what it would be looked for by. Use a tag that is there before you make a new one.
"""
