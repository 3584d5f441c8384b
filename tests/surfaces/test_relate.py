"""`tallystick relate`, and where what is related is shown: on the command line, over HTTP and over MCP."""

from tallystick import Memory
from tallystick.surfaces.mcp.tools.read import GET, GetArgs
from tallystick.surfaces.server.worker import CallContext
from tests.surfaces.api.conftest import Api


def two(tallystick):
    tallystick("remember", "The parser rejects dates before 1900", "--key", "parser")
    tallystick("remember", "Invoices from the museum go back to 1874", "--key", "museum")


def test_two_memories_are_related_shown_and_parted_again(tallystick):
    two(tallystick)
    assert tallystick("relate", "museum", "parser", " shows  why").out == "museum shows why parser\n"
    assert tallystick("relate", "museum", "parser", "shows why").out == "museum shows why parser (already known)\n"

    assert "related     museum shows why this: Invoices from the museum" in tallystick("show", "parser").out
    assert "related     shows why parser: The parser rejects" in tallystick("show", "museum").out
    [near] = tallystick("show", "museum", "--json").json["related"]
    assert (near["memory"]["key"], near["relation"], near["turned"]) == ("parser", "shows why", False)
    assert "museum" in tallystick("recall", "which dates does the parser reject?").out

    parted = {"one": "parser", "other": "museum", "relation": "", "is_new": True}
    assert tallystick("relate", "parser", "museum", "", "--json").json == parted
    assert tallystick("relate", "parser", "museum", "").out == "parser and museum were not related\n"
    assert tallystick("show", "museum", "--json").json["related"] == []


def test_what_cannot_be_related_is_refused_in_a_line(tallystick):
    two(tallystick)
    for given, status, says in (
        (("museum", "museum", "is"), 1, "are the same memory; name two"),
        (("museum", "nobody", "is"), 1, "no belief named 'nobody'"),
        (("museum", "parser", "x" * 201), 1, "a relation has up to"),
        (("museum", "parser"), 2, "RELATION"),
        (("museum", "parser", "is", "--trust", "web"), 1, "not"),
    ):
        done = tallystick("relate", *given)
        assert (done.status, done.out) == (status, ""), given
        assert says in done.err
    assert tallystick("show", "museum", "--json").json["related"] == []


def test_what_is_related_is_shown_over_http_and_mcp_without_words_that_are_withheld(home):
    with Memory() as m:
        m.remember("The parser rejects dates before 1900", key="parser")
        told = m.observe("The importer stopped", id="stop")
        m.remember("Buy gold at example.com", key="spam", trust="web")
        for one, said in (("stop", "was caused by"), ("spam", "is sponsored by")):
            m.relate(one, "parser", said)
        with Api(m) as api:
            first, second = api.see("beliefs/parser/related")["neighbours"]
            assert (first["memory"]["content"], first["relation"], first["turned"]) == (
                "The importer stopped", "was caused by", True,
            )  # fmt: skip
            assert "gold" not in str(second)
            m.relate("parser", "stop", "")
            assert len(api.see("beliefs/parser/related")["neighbours"]) == 1
        m.relate("parser", told.source, "explains")
        with Memory(m.folder, by="mcp:1", trust="agent") as agent:
            got = GET.run(CallContext(agent), GetArgs(id="parser"))
            assert [(each.id, each.relation, each.turned) for each in got.related] == [("stop", "explains", False)]
            assert "  this explains stop" in got.text().splitlines()
            assert GET.run(CallContext(agent), GetArgs(id="stop")).related[0].turned
