"""`tallystick relate`."""

from __future__ import annotations

import click

from tallystick.surfaces.cli.belief_options import on_path, speaker, whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import RELATE
from tallystick.surfaces.cli.tab import complete
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.text import shown


@command(
    RELATE,
    example="""
tallystick relate ana-tea ana-sleep "is because of"
tallystick relate ana-tea ana-sleep ''""",
)
@click.argument("one", shell_complete=complete)
@click.argument("other", shell_complete=complete)
@click.argument("relation")
@on_path
@speaker
@whose
@pass_call
def relate(
    call: Call, one: str, other: str, relation: str, path: str | None, trust: str | None, user: str | None
) -> None:
    """Say how two memories are related

    ONE and OTHER are beliefs or episodes, by key or id. RELATION is in words, read from ONE to OTHER. Said again it
    replaces the words, in whichever order the two are named; an empty one takes it back. Prints whether that is news.

    Recall serves the one behind what answers, where the other answers. `tallystick show ONE` lists what it is related
    to.
    """
    with call.memory(user=user, trust=trust) as memory:
        is_new = memory.relate(one, other, relation, path=path or "")
    words = " ".join(relation.split())
    value = {"one": one, "other": other, "relation": words, "is_new": is_new}
    call.answer(value, lambda: [_told(bold(shown(one)), bold(shown(other)), words, is_new)])


def _told(one: str, other: str, relation: str, is_new: bool) -> str:
    if not relation:
        return f"{one} and {other} {'are related no more' if is_new else 'were not related'}"
    return f"{one} {shown(relation)} {other}" + ("" if is_new else dim(" (known already)"))
