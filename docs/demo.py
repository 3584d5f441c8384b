"""The first minute with tallystick: remember, recall, change one's mind, and see that nothing can be changed in secret.

Works in a temporary folder, needs no network, and leaves the folder there to be looked at.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tallystick import Memory


def say(text: str = "") -> None:
    print(text)


def main() -> None:
    home = Path(tempfile.mkdtemp(prefix="tallystick-demo-"))
    folder = home / "memory"
    with Memory(folder) as m:
        say("Remembering three things")
        m.remember("Ana prefers tea over coffee", about="person-ana", tags=["taste"], key="ana-drinks")
        m.remember("The release ships on Friday", about="project-apollo", evidence=["standup, 3 May"])
        m.remember("The staging port is 5432", about="project-apollo", key="staging-port")
        show(m)

        for question in ("What does Ana prefer?", "Which port is staging on, and when is the release?"):
            say(f"\n{question}")
            ask(m, question)

        say("\nThe same for an agent's prompt, in at most 80 tokens")
        for line in m.frame("task", question, budget=80).text.splitlines():
            say(f"  {line}".rstrip())

        say("\nSomething was wrong: revising it, and keeping what was believed before")
        m.revise("staging-port", "The staging port is 6543", reason="it was moved behind the pooler")
        for version in m.history("staging-port"):
            say(f"  event {version.seq}: {version.belief.text}")
        say("\nWhich port is staging on?  Now, and as it would have been answered after event 3:")
        ask(m, "staging port")
        ask(m, "staging port", believed_at=3)

        report = m.ledger.verify()
        say(f"\nDoes the chain hold?  {answer(report.ok)}: {report.events} events, each linked to the one before")

    copy = home / "tampered copy"
    shutil.copytree(folder, copy)
    wal = copy / "events.wal"
    wal.write_bytes(wal.read_bytes().replace(b"prefers tea", b"prefers rum"))
    with Memory(copy, read_only=True) as m:
        report = m.ledger.verify()
        say(f"And a copy in which Ana's taste was edited?  {answer(report.ok)}: {report.bad}")

    say(f"\nThe memory is one folder: {folder}")
    say("Every change is one line of events.wal in it; what recall searches, state.db and vectors/, is made from that.")
    say("Look:  head -c 600 " + str(folder / "events.wal"))


def show(m: Memory) -> None:
    for belief in m.beliefs:
        say(f"  {belief.id}  {belief.text}")


def ask(m: Memory, question: str, believed_at: int | None = None) -> None:
    for hit in m.recall(question, believed_at=believed_at):
        say(f"  {hit.text}  ({hit.why})")


def answer(ok: bool) -> str:
    return "yes" if ok else "no"


if __name__ == "__main__":
    main()
