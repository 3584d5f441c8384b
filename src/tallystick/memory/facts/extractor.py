"""Who reads claims out of what was said: as a caller says, else as the settings say."""

from __future__ import annotations

from pathlib import Path

from tallystick.memory import settings
from tallystick.records.errors import Refused
from tallystick.records.extraction import Extractor

ENGLISH = "english"


def extractor_of(given: Extractor | str | None, folder: Path) -> Extractor | None:
    """The reader that is meant, or None: what is claimed stands in metadata alone."""
    if given is not None and not isinstance(given, str):
        if not isinstance(given, Extractor):
            raise Refused(f"an extractor has a name and extract(episode), which {type(given).__name__} has not")
        return given
    spec = settings.read_settings(folder).extractor if given is None else given
    if spec.strip() in ("", "none"):
        return None
    if spec.strip() == ENGLISH:
        from tallystick.consolidate.english import EnglishExtractor

        return EnglishExtractor()
    from tallystick.models.openai_extractor import extractor_named

    return extractor_named(spec, key=settings.extractor_key())
