"""Secrets that are known because somebody says what they are: "the password is …", `api_key=…`, `Bearer …`.

A password may look like anything, so what follows such a word is taken for one unless it plainly is none: a
placeholder, a type, a piece of code, the rest of a sentence about passwords. What is called a key, a token or a secret
counts only if it also looks drawn by chance; most tokens that people speak of are words and numbers.

Every text is read once from its beginning to its end: from a value that was looked at, the search goes on behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tallystick.text.secrets.patterns import WALL, Span
from tallystick.text.secrets.vocabulary import ABOUT, ENDINGS, FUNCTION, NONE, OWN_NAMES, UNITS

_NAMED = re.compile(
    r"(?P<phrase>passphrase|seed phrase|recovery phrase)"
    r"|(?P<word>password|passwort|kennwort|passwd|passcode|contraseña|mot de passe|wachtwoord|senha|pwd"
    r"|(?<![a-z])pass(?=[\"']?[ \t]{0,4}[:=])|(?<![a-z0-9])pw(?=[\"']?[ \t]{0,4}[:=]| is ))"
    r"|(?P<key>api[ _-]?key|secret[ _-]?key|access[ _-]?key|private[ _-]?key|signing[ _-]?key|encryption[ _-]?key"
    r"|licen[cs]e[ _-]?key|recovery[ _-]?(?:key|code)|backup[ _-]?code|secret|token|credentials?|accountkey"
    r"|(?:phpsessid|jsessionid|connect\.sid|sessionid)(?==))",
    re.IGNORECASE,
)
_LINK = re.compile(
    r"\d{0,3}[\"'`*_\])]{0,4}(?:"
    r"(?P<quoted>[ \t]{1,2})(?=[\"'`“‘«])"
    r"|(?: (?:for|to|of|on|at|in)(?: (?!is\b|was\b)[\w@.'/-]{1,40}+){1,5}?)?(?:"
    r"(?P<equals>[ \t]{0,8}(?::=|=>|->|→|={1,2})[ \t]{0,8})"
    r"|(?P<prose>(?: (?:is|was|are|equals|ist|lautet|es|est|é)|['’]s)"
    r"(?: (?:now|currently|still|simply|just|set to))?:?[ \t]{1,4}(?:=[ \t]{1,4})?)"
    r"|(?P<colon>[ \t]{0,8}:[*_]{0,2}[ \t]{0,8})(?!//))"
    r"|(?P<to>(?: for(?: [\w@.'-]{1,40}+){1,4}?)? (?:has been |was )?(?:changed |reset |set )?to[ \t]{1,4})"
    r"|(?P<beside>[ \t]{1,4}))",
    re.IGNORECASE,
)
_CLOSING = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»"}
_VALUE = re.compile(
    r"(?>(?:[^\s,;&|\"'`”’»<\\]++|(?![,;&|](?:\s|$|[\w.-]{1,40}=)|[\"'`”’»](?:[\s,;:.)\]}]|$)|</|\\n)\S)+)"
)
_CALL = re.compile(r"[A-Za-z_][\w.]*[(\[]", re.ASCII)
_DOTTED = re.compile(rf"(?:{'|'.join(OWN_NAMES)})\.[\w.]+$", re.IGNORECASE)
_VARIABLE = re.compile(r"\$(?:\(|\{|env:|[A-Z_][A-Z0-9_]*$)|%[A-Z_]+%$|\{\{|\$\{|#\{|<%|%\(|%s$|\{\w*\}$|:\w+$")
_PLAIN = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*$")
_NEXT_WORD = re.compile(r"[ \t]+([^\W\d_]+)")
_SENTENCE = re.compile(r"[^\n.;,!?\"]{1,200}")
_BEFORE = re.compile(r"(?:^|[\s\"'`(])([^\s\"'`]{5,64})[\"'`]? (?:is|as) (?:my|the|our|your|her|his|their|a)"
                     r" (?:[\w-]{1,20} ){0,2}$")  # fmt: skip
_NUMBERED = re.compile(r"[A-Z]{2,}-?\d|v?\d+[.:/-]|\d+[A-Za-z]{1,3}$")  # RFC8018, v1.2, 2026-05-03, 30min
_NO_BEGINNING = (WALL, "<", "your", "my_", "my-", "/", "./", "~/", "op://", "vault:")
_NUMBERED_NAME = re.compile(r"[a-z]*[-_.]?v?\d{1,4}$|\d+[a-z]{0,3}$", re.IGNORECASE)


def stated(text: str) -> Iterator[Span]:
    """Everything in a text that is called a password, a passphrase, a key, a token or a secret."""
    place = 0
    while named := _NAMED.search(text, place):
        place = named.end()
        kind = "passphrase" if named["phrase"] else "password" if named["word"] else _called(named["key"])
        if kind == "password" and (before := _said_before(text, named.start())):
            yield kind, *before
        found, place = _said_after(text, named, kind)
        if found:
            yield kind, *found


def _called(key: str) -> str:
    name = key.lower()
    if "token" in name:
        return "token"
    return "cookie" if "sess" in name or name == "connect.sid" else "secret" if name.startswith("secret") else "key"


def _said_before(text: str, end: int) -> tuple[int, int] | None:
    """ "hunter2 is my password"."""
    start = max(0, end - 140)
    found = _BEFORE.search(text[start:end])
    if found and _is_odd(found[1]) and not is_none(found[1]):
        return start + found.start(1), start + found.end(1)
    return None


def _said_after(text: str, named: re.Match[str], kind: str) -> tuple[tuple[int, int] | None, int]:
    """What is said to be the secret, and from where to go on."""
    link = _LINK.match(text, named.end())
    if link is None:
        return None, named.end()
    how = link.lastgroup or ""
    if how == "beside" and _is_flag(text, named.start()):
        how = "equals"
    found, end = _judged(text, link.end(), kind, how)
    if found is None and how != "to" and text.startswith(" to ", named.end()):  # "to" may lead to the value, too
        found, end = _judged(text, named.end() + 4, kind, "to")
    return found, end if found or end - link.end() > 200 else named.end()


def _judged(text: str, start: int, kind: str, how: str) -> tuple[tuple[int, int] | None, int]:
    """The value that stands there, if it is one; and where it ends in any case."""
    start, end, is_quoted = _value(text, start, how)
    value = text[start:end]
    if kind == "passphrase" and not is_quoted and (whole := _phrase(text, start, how)):
        return (start, whole), whole
    is_one = _is_password(text, value, end, how) if kind in ("password", "passphrase") else _is_key(value, how)
    return ((start, end) if value and is_one and not is_none(value) else None), end


def _is_flag(text: str, start: int) -> bool:
    """Whether the word is an option on a command line: `--db-password`."""
    before = text[max(0, start - 40) : start]
    return before.rpartition(" ")[2].startswith("--")


def _value(text: str, start: int, how: str) -> tuple[int, int, bool]:
    """From where to where the value goes, without its quotes, and whether it had any."""
    closing = _CLOSING.get(text[start : start + 1])
    if closing:
        line = text[start + 1 : start + 301].partition("\n")[0]
        inside, found, _ = line.partition(closing)
        if found:
            return start + 1, start + 1 + len(inside), True
        start += 1
    found_value = _VALUE.match(text, start)
    if found_value is None:
        return start, start, False
    end = found_value.end()
    ending = ".,;:!?)]}>\"'*|" if how in ("prose", "to", "beside") else ".,;)]}\"'*|"
    return start, start + len(text[start:end].rstrip(ending)), False


def _phrase(text: str, start: int, how: str) -> int:
    """Where a passphrase of several words ends; 0 if this is a sentence about one, or a single word."""
    found = _SENTENCE.match(text, start)
    words = found[0].split() if found else []
    if found is None or len(words) < 3 or words[0].startswith((WALL, "<", "$", "{")):
        return 0
    plain = [word.lower() for word in words]
    if how != "equals" and (any(word in FUNCTION for word in plain) or len(words) > 24):
        return 0
    return found.start() + len(found[0].rstrip())


def _is_password(text: str, value: str, end: int, how: str) -> bool:
    if how == "beside":
        return _is_unlike_a_name(value)
    if how == "colon" and value.endswith(":"):  # a key of its own
        return False
    after = _NEXT_WORD.match(text, end)
    following = after[1].lower() if after else ""
    if value.isdigit():
        return len(value) >= 4 and following not in UNITS and how != "to"
    if how in ("prose", "to") or _PLAIN.match(value):
        word = value.lower()
        if word in ABOUT or word.endswith(ENDINGS) or _is_about(word):
            return how == "equals" and word not in ABOUT
    if _PLAIN.match(value):
        if how == "quoted":
            return False
        return how == "equals" or (how != "to" and len(value) > 3 and following in ("", "and", "for"))
    return _is_odd(value) if how in ("to", "quoted", "prose") else len(value) > 2


def _is_unlike_a_name(value: str) -> bool:
    """What stands right behind the word is a password only if no name looks like it: "password hunter22"."""
    numbers = sum(letter.isdigit() for letter in value)
    is_plain = value.lower() in ABOUT or _NUMBERED.match(value) is not None
    return len(value) > 5 and numbers > 1 and numbers < len(value) and _is_odd(value) and not is_plain


def _is_about(word: str) -> bool:
    """Compounds that describe: case-sensitive, well-known, SHA-256-hashed, 12-character."""
    last = word.rpartition("-")[2]
    return last != word and (last in ABOUT or last in UNITS or last.endswith(ENDINGS))


def _is_odd(value: str) -> bool:
    """Letters with digits, or with signs, or with capitals inside: no word of a language."""
    has_letter = any(letter.isalpha() for letter in value)
    has_digit = any(letter.isdigit() for letter in value)
    has_sign = any(not letter.isalnum() and letter not in "-_'’./:" for letter in value)
    has_capital = any(letter.isupper() for letter in value[1:]) and any(letter.islower() for letter in value)
    return len(value) > 3 and ((has_letter and (has_digit or has_capital)) or has_sign)


def _is_key(value: str, how: str) -> bool:
    """Whether it looks drawn by chance. What stands right behind the word must be long, too."""
    if len(value) < 8 or "://" in value or value.count(" "):
        return False
    if _CALL.match(value) or value.startswith(("/", "./", "~/")):
        return False
    parts = re.split(r"[-_.:/+=]", value)
    if any(len(part) >= 20 and _mixes(part) for part in parts):
        return True
    if how == "beside":
        return False
    drawn = [part for part in parts if len(part) >= 4 and _mixes(part) and not _NUMBERED_NAME.fullmatch(part)]
    return bool(drawn) and (len(value) >= 12 or how == "equals")


def _mixes(part: str) -> bool:
    has_digit = any(letter.isdigit() for letter in part)
    has_letter = any(letter.isalpha() for letter in part)
    is_cased = any(letter.isupper() for letter in part) and any(letter.islower() for letter in part)
    return (has_digit and has_letter) or (is_cased and len(part) >= 24)


def is_none(value: str) -> bool:
    """Whether what stands where a secret would is plainly none: a placeholder, a type, a piece of code."""
    low = value.strip().lower()
    if not low or low in NONE or low.startswith(_NO_BEGINNING):
        return True
    if len(set(low)) == 1 and not low.isdigit():
        return True
    if any(word in low for word in ("placeholder", "redacted", "xxxx", "****", "••••", "example")):
        return True
    return bool(_VARIABLE.match(value) or _CALL.match(value) or _DOTTED.match(value))
