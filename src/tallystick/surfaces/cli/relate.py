"""`tallystick relate`."""

from __future__ import annotations

import click

from tallystick.surfaces.cli.command import Call, command
from tallystick.surfaces.cli.completion import complete
from tallystick.surfaces.cli.options import on_path, speaker, whose
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.text import shown


@command(
    "relate",
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
def relate(
    call: Call, one: str, other: str, relation: str, path: str | None, trust: str | None, user: str | None
) -> None:
    """Record how two memories are related

    ONE and OTHER are beliefs or episodes, by key or id. RELATION is in words, read from ONE to OTHER. Given again, it
    replaces the words, in whichever order the two are named; an empty one removes the relation. Prints the relation,
    and whether it is new.

    Recall serves one of them after the other, where only that one answers. `tallystick show ONE` lists its relations.
    """
    with call.memory(user=user, trust=trust) as memory:
        is_new = memory.relate(one, other, relation, path=path or "")
    words = " ".join(relation.split())
    value = {"one": one, "other": other, "relation": words, "is_new": is_new}
    first, second = bold(shown(one)), bold(shown(other))
    if words:
        line = f"{first} {shown(words)} {second}" + ("" if is_new else dim(" (already known)"))
    else:
        line = f"{first} and {second} {'are no longer related' if is_new else 'were not related'}"
    call.answer(value, lambda: [line])
