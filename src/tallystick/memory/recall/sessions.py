"""`m.work`: working sessions and their hours; `m.frames`: how to recall for a purpose; `m.config`: thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tallystick.decide import sessions as decide
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.trust.filtered_calls import answering
from tallystick.projections.index.schema import CONFIG, FRAMES
from tallystick.records import ids
from tallystick.records.errors import NotFound
from tallystick.records.recall import Frame
from tallystick.stores.open_ledger import OpenLedger


@answering
class SessionService:
    """The clock of active hours, by which memory ages. It is the memory's, whoever works."""

    def __init__(self, folder: OpenLedger, gate: WriteGate) -> None:
        self._folder, self._gate = folder, gate

    @property
    def hours(self) -> float:
        """How many hours were worked, up to the last event."""
        with self._folder.ledger.reading():
            return self._folder.state.work.clock.hours

    @property
    def session(self) -> str:
        """The working session that is open; empty if none is."""
        with self._folder.ledger.reading():
            return self._folder.state.work.clock.session

    def start(self, task_type: str = "general") -> str:
        """Begin a working session and return its id. One that was open ends where it was last heard."""
        self._gate.must("work", "start")
        session = ids.event_id(self._folder.ledger.now())
        self._folder.ledger.write(lambda: decide.start(session, task_type))
        return session

    def end(self, session: str) -> None:
        """End a working session. One that is over already stays as it is."""
        self._gate.must("work", "end")
        self._folder.ledger.write(lambda: decide.end(self._folder.state.work, session))

    @contextmanager
    def on(self, task_type: str = "general") -> Iterator[str]:
        """Work for the length of a block."""
        session = self.start(task_type)
        try:
            yield session
        finally:
            self.end(session)


@answering
class FrameStore:
    """The built-in frames and the user's own."""

    def __init__(self, folder: OpenLedger, gate: WriteGate) -> None:
        self._folder, self._gate = folder, gate

    def all(self) -> list[Frame]:
        """Every frame, by name. One of the user's own stands in for the built-in of that name."""
        with self._folder.ledger.reading():
            found = {frame["name"]: frame for frame in FRAMES} | self._folder.state.work.frames
        return [Frame.from_body(found[name]) for name in sorted(found)]

    def get(self, name: str) -> Frame:
        for frame in self.all():
            if frame.name == name:
                return frame
        raise NotFound(f"no frame named {name!r}; use one of {', '.join(frame.name for frame in self.all())}")

    def put(self, /, name: str, weights: dict[str, float], **more: Any) -> Frame:
        """Define a frame of one's own: weights, filters, guarantees, template, token_budget, cache."""
        self._gate.must("frame", "set")
        from tallystick.recall.render import check_template

        frame = Frame(name, dict(weights), **more)
        check_template(frame.name, frame.template)
        self._folder.ledger.write(lambda: decide.put_frame(self._folder.state.work, frame))
        return frame

    def drop(self, name: str) -> None:
        """Give up a frame of one's own."""
        self._gate.must("frame", "drop")
        self._folder.ledger.write(lambda: decide.drop_frame(self._folder.state.work, name))

    def __iter__(self) -> Iterator[Frame]:
        return iter(self.all())


@answering
class ConfigStore:
    """The memory's own thresholds (`prune_threshold`, `top_k`). No secret belongs here."""

    def __init__(self, folder: OpenLedger, gate: WriteGate) -> None:
        self._folder, self._gate = folder, gate

    def all(self) -> dict[str, str]:
        with self._folder.ledger.reading():
            known = self._folder.state.work
            return {**CONFIG, decide.CLOCK: repr(known.clock.hours), **known.config}

    def get(self, key: str) -> str | None:
        return self.all().get(key)

    def set(self, key: str, value: str) -> None:
        self._gate.must("config", "set")
        self._folder.ledger.write(lambda: decide.set_config(self._folder.state.work, key, value))
