"""Patterns of secrets: those with a shape of their own, those passed on by programs, and those that are named.

- Keys and tokens whose makers gave them a fixed beginning. What has no such shape (a UUID, a hash, forty characters)
  is no secret by itself.
- Card numbers: begun, long and grouped as an issuer's, with a right last digit (the Luhn check, which nine of ten other
  numbers fail). An IBAN is no secret. National identity numbers are not looked for: too many look like any number.
- Secrets in URLs, headers and command lines.
- What is called one: "the password is …", `api_key=…`. A password may look like anything, so what follows the word is
  taken for one unless it plainly is none: a placeholder, a type, code, the rest of a sentence about passwords. What is
  called a key, a token or a secret counts only if it also looks random.

No pattern goes back over what it has read: the time grows with the length of the text, whatever is in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, partial

from tallystick.text.words import set_of

Span = tuple[str, int, int]  # kind, from, to
Check = Callable[[str], bool]
WALL = "\ufdd0"  # no character of any language: it is put where a secret was masked already


def _lazy(form: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    return cache(partial(re.compile, form, flags))  # all of them at once would hold up a write


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _has_both_cases(text: str) -> bool:
    return any(map(str.isupper, text)) and any(map(str.islower, text))


# -- shapes ------------------------------------------------------------------------------------------------------------


def _is_random(token: str) -> bool:
    """Random: no name in lowercase, and not the same few characters over and over."""
    body = token.rpartition("-")[2] if token.count("-") < 5 else token
    return _has_digit(token) and len(set(body)) > 7 and (_has_both_cases(token) or len(body) >= 32)


def _is_varied(token: str) -> bool:
    """Not a row of the same character, as in examples."""
    return len(set(token[4:])) > 5


_ALONE, _END = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"

# Kind; texts of which one is in every text with such a secret; pattern (after no letter or digit); a further check.
_SHAPES: tuple[tuple[str, str, str, Check | None], ...] = (
    ("AWS access key", "AKIA ASIA", r"(?:AKIA|ASIA)[0-9A-Z]{16}" + _END, _is_varied),
    ("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,}+", _is_varied),
    ("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,}+", _is_varied),
    ("GitLab token", "glpat- gldt- glrt- glptt-", r"gl(?:pat|dt|rt|ptt)-[\w-]{20,}+", _is_varied),
    ("Slack token", "xox xapp-", r"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{16,}+", _is_varied),
    ("Slack webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/[\w/-]{20,}+", None),
    ("Discord webhook", "/api/webhooks/", r"(?:discord|discordapp)\.com/api/webhooks/\d{16,}+/[\w-]{40,}+", None),
    ("Stripe key", "_live_ _test_", r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}+", _is_varied),
    ("Stripe key", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}+", _is_varied),
    ("Google API key", "AIza", r"AIza[\w-]{35}(?![\w-])", _is_varied),
    ("Google token", "ya29. GOCSPX-", r"(?:ya29\.|GOCSPX-)[\w-]{20,}+", _is_varied),
    ("API key", "sk-", r"sk-[\w-]{20,}+", _is_random),
    ("API key", "gsk_ xai- pplx- r8_", r"(?:gsk_|xai-|pplx-|r8_)[A-Za-z0-9]{32,}+", _is_random),
    ("npm token", "npm_", r"npm_[A-Za-z0-9]{36}" + _END, _is_varied),
    ("PyPI token", "pypi-", r"pypi-[\w-]{40,}+", _is_varied),
    ("SendGrid key", "SG.", r"SG\.[\w-]{20,24}\.[\w-]{40,46}(?![\w-])", None),
    ("Twilio key", "SK", r"SK[0-9a-f]{32}" + _END, _is_varied),
    ("Telegram bot token", ":", r"\d{8,10}:[A-Za-z][\w-]{34}(?![\w-])", _is_random),
    ("Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{30,}+", _is_varied),
    ("DigitalOcean token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}" + _END, None),
    ("Shopify token", "shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}" + _END, None),
    ("Databricks token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?" + _END, None),
    ("Mailgun key", "key-", r"key-[0-9a-f]{32}" + _END, None),
    ("Vault token", "hvs.", r"hvs\.[\w-]{24,}+", _is_random),
    ("Docker token", "dckr_pat_", r"dckr_pat_[\w-]{20,}+", _is_varied),
    ("Atlassian token", "ATATT3", r"ATATT3[\w=-]{40,}+", None),
    ("Linear key", "lin_api_", r"lin_api_[A-Za-z0-9]{32,}+", _is_varied),
    ("Notion token", "ntn_", r"ntn_[A-Za-z0-9]{40,}+", _is_varied),
    ("Figma token", "figd_", r"figd_[\w-]{32,}+", _is_varied),
    ("Grafana token", "glsa_ glc_", r"gl(?:sa|c)_[\w=+/-]{32,}+", _is_varied),
    ("Supabase token", "sbp_", r"sbp_[0-9a-f]{40}" + _END, _is_varied),
    ("RubyGems key", "rubygems_", r"rubygems_[0-9a-f]{48}" + _END, _is_varied),
    ("Azure storage key", "AccountKey=", r"(?<=AccountKey=)[A-Za-z0-9+/]{80,}+={0,2}", None),
    ("age key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}+", None),
    ("JWT", "eyJ", r"(?<![\w-])eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+\.[\w-]{8,}+", None),
)
_COMPILED = [
    (kind, starts.split(), _lazy(form if form.startswith("(?<") else _ALONE + form, re.ASCII), check)
    for kind, starts, form, check in _SHAPES
]
_BEGIN = _lazy(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----", re.ASCII)
_STOP = _lazy(r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----", re.ASCII)
_REST = _lazy(r"[A-Za-z0-9+/=\s:,\\.-]*+", re.ASCII)
_FORTY = _lazy(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=])", re.ASCII)
_NEAR = 200  # characters between an AWS key's two halves


def shaped(text: str) -> Iterator[Span]:
    """Everything in a text that has the shape of a secret. Pieces may overlap."""
    for kind, starts, form, check in _COMPILED:
        for start in starts:  # plain loops: every text with a long word passes here
            if start in text:
                for found in form().finditer(text):
                    if check is None or check(found[0]):
                        yield kind, *found.span()
                        if kind == "AWS access key":  # forty random characters near it are the secret that goes with it
                            low = max(0, found.start() - _NEAR)
                            for half in _FORTY().finditer(text[low : found.end() + _NEAR]):
                                if _is_random(half[0]) and any(map(str.isupper, half[0])):
                                    yield "AWS secret key", low + half.start(), low + half.end()
                break
    place, has_end = 0, True
    while "PRIVATE KEY" in text and (begin := _BEGIN().search(text, place)):
        stop = _STOP().search(text, begin.end()) if has_end else None
        has_end = stop is not None
        rest = _REST().match(text, begin.end())  # without a last line, it goes on as far as it looks like a key
        place = stop.end() if stop else rest.end() if rest else begin.end()
        yield "private key", begin.start(), place


# -- cards -------------------------------------------------------------------------------------------------------------

_NUMBER = _lazy(
    r"(?<![\w.])(?<!\w-)(?:"
    r"(?:4\d{3}|5[1-5]\d\d|2[2-7]\d\d|6011|64[4-9]\d|65\d\d|35[2-8]\d|62\d\d)([ -]?)\d{4}\1\d{4}\1\d{4}"
    r"|3[47]\d\d([ -]?)\d{6}\2\d{5}"
    r"|3(?:0[0-5]|[689]\d)\d([ -]?)\d{6}\3\d{4}"
    r")(?![\w]|[.-]\d)",
    re.ASCII,
)
_CODE = _lazy(
    r"(?<![A-Za-z])(?:cvv2?|cvc2?|cid|card security code|card verification (?:code|number|value))"
    r"(?: (?:code|number))?(?: is| was)?[ \t]{0,4}[:=#]?[ \t]{0,4}(\d{3,4})(?![\d.])",
    re.ASCII | re.IGNORECASE,
)
_PIN = _lazy(
    r"(?<![A-Za-z])(?:PIN|[Pp]in (?:code|number))(?: (?:for|of)(?: [\w'-]{1,20}){1,4}?)?"
    r"(?: is| was|[ \t]{0,4}[:=])[ \t]{0,4}(\d{4,8})(?![\w.])",
    re.ASCII,
)


def cards(text: str) -> Iterator[Span]:
    for found in _NUMBER().finditer(text):
        digits = found[0].replace(" ", "").replace("-", "")
        doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
        if len(set(digits)) > 1 and (sum(doubled) + sum(map(int, digits[-1::-2]))) % 10 == 0:  # the Luhn check
            yield "card number", *found.span()


def codes(text: str) -> Iterator[Span]:
    """The codes of cards, and the PINs, that are named as such."""
    yield from (("card code", *found.span(1)) for found in _CODE().finditer(text))
    yield from (("PIN", *found.span(1)) for found in _PIN().finditer(text))


# -- URLs, headers, command lines --------------------------------------------------------------------------------------

_ADDRESS = _lazy(r"://[^\s:/@?#\"'<>]*+:([^\s/?#\"'<>]++)")
_BEARER = _lazy(r"(?<![A-Za-z])bearer[ \t]{1,4}([A-Za-z0-9._~+/=-]{16,}+)", re.IGNORECASE | re.ASCII)
_HEADER = _lazy(
    r"authorization[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?:(?:bearer|basic|token|apikey|digest|negotiate)[ \t]{1,4})?"
    r"([^\s\"',;]{8,}+)",
    re.IGNORECASE,
)
_COOKIE = _lazy(
    r"(?<![\w-])(set-)?cookie[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?"
    r"([\w.!#$%&*+^`|~-]{1,64}=[^\s;\"',]{6,}+)((?>(?:;[ \t]{0,4}[\w.!#$%&*+^`|~-]{1,64}=[^\s;\"',]*+)*))",
    re.IGNORECASE,
)
_CURL = _lazy(r"(?:curl|wget|http)\b[^\n]{0,120}?[ \t](?:-u|--user)[ =][\"']?[^\s:\"']{1,64}:([^\s\"']{1,256})")
_SSHPASS = _lazy(r"sshpass[ \t]{1,4}-p[ \t]{0,4}[\"']?([^\s\"']{1,256})")
_NETRC = _lazy(r"(?<!\w)login[ \t]{1,4}\S{1,64}[ \t]{1,4}password[ \t]{1,4}(\S{1,256})")


def passed_on(text: str, low: str) -> Iterator[Span]:
    """The secrets in URLs, headers and commands. `low` is the text in lowercase."""
    if "://" in text:
        for found in _ADDRESS().finditer(text):  # scheme://user:password@host, up to the last @ before the host
            end = found[1].rfind("@")
            if end > 0 and not is_none(found[1][:end]):
                yield "password", found.start(1), found.start(1) + end
    if "bearer" in low:
        yield from (("bearer token", *found.span(1)) for found in _BEARER().finditer(text) if _has_digit(found[1]))
    if "authorization" in low:
        yield from (("authorization", *found.span(1)) for found in _HEADER().finditer(text) if not is_none(found[1]))
    for found in _COOKIE().finditer(text) if "cookie" in low else ():
        name = found[2].partition("=")[0]
        start = found.start(2) + len(name) + 1 if found[1] else found.start(2)
        end = found.end(2) if found[1] else found.end(3)
        if not is_none(text[start:end]):
            yield "cookie", start, end
    for sign, pattern in (("-u", _CURL), ("--user", _CURL), ("sshpass", _SSHPASS), ("login", _NETRC)):
        if sign in low:
            yield from (("password", *found.span(1)) for found in pattern().finditer(text) if not is_none(found[1]))


# -- words -------------------------------------------------------------------------------------------------------------

# What may be in the place of a secret and is none: placeholders, names of types, and the words of whoever hid it.
NONE = set_of(
    "none null nil n/a na undefined true false yes no empty blank redacted hidden masked removed unknown tbd todo"
    " placeholder example changeme change_me change-me password passwd passphrase pass pwd secret token string str"
    " text bytes int integer float number bool boolean any object optional required varchar char env environ default"
    " secretstr securestring nullable self none. null, xxx xxxx ... … *** ****** sample dummy test testing foo bar baz"
    " foobar value key api_key apikey your my the a an it user username admin@ prompt stdin input ask file -"
)
# After "the password is": what says something about it instead of giving it.
ABOUT = set_of(
    "strong weak required wrong right correct incorrect invalid valid good bad long short too not no never always"
    " in on at by for from with without under inside behind of to as the a an my your our his her their its this that"
    " these those there here what where when why how who which whatever same different similar other another new old"
    " known unknown safe unsafe secure insecure empty missing mandatory optional case secret private public plain"
    " simple complex complicated easy hard difficult impossible possible only just still now also already currently"
    " really very quite so more less at-rest ok okay fine gone lost broken stale fresh unique common default due"
    " about all any both each every everywhere nowhere somewhere somehow up down out off over until unless if whether"
    " because since been being be become sure certain probably likely maybe perhaps available unavailable active"
    " inactive sensitive insensitive important irrelevant relevant enough ready nothing something everything anything"
    " one two three four five six seven eight nine ten none null must should can cannot may might will would could"
    " does do did has have had it he she they we you i and or but then than policy manager reset field prompt hash"
    " bcrypt argon2 argon2id scrypt pbkdf2 sha md5 sha1 sha-1 sha256 sha-256 sha512 sha-512 hmac base64 utf-8 utf8"
    " oauth oauth2 sso mfa 2fa totp ldap ascii hex plaintext cleartext 1password lastpass bitwarden keepass vault"
    " security obsolete blank tbd todo redacted hidden masked n/a true false pending rotten garbage theirs mine ours"
    " yours enabled disabled trivial authentication login ist sind nicht noch auch falsch richtig sicher unsicher"
)
ENDINGS = ("ed", "ing", "able", "ible", "ive", "ful", "less", "ly", "ous", "n't", "ent", "ory")
UNITS = set_of(
    "characters character chars char digits digit letters letter days day hours hour minutes minute months month weeks"
    " week years year times long words word bytes bits attempts tries symbols or to and of seconds more"
)
FUNCTION = set_of(
    "the a an of to in is are was be been and or not no for with by it its at on that this these those has have had"
    " must should can will would your my our his her their too so very than as if when where we you i they he she do"
    " does use used from into about"
)
OWN_NAMES = (  # where a program keeps a secret, so that naming it says nothing
    "self", "this", "config", "cfg", "conf", "settings", "os", "process", "env", "args", "opts", "options", "request",
    "req", "user", "data", "params", "ctx", "app", "props", "state", "secrets", "vault", "db", "row", "form", "body",
    "input", "event", "context", "creds", "credentials", "var", "local", "module", "steps", "inputs", "keyring",
)  # fmt: skip


# -- named secrets -----------------------------------------------------------------------------------------------------

_NAMED = _lazy(
    r"(?P<phrase>passphrase|seed phrase|recovery phrase)"
    r"|(?P<word>password|passwort|kennwort|passwd|passcode|contraseña|mot de passe|wachtwoord|senha|pwd"
    r"|(?<![a-z])pass(?=[\"']?[ \t]{0,4}[:=])|(?<![a-z0-9])pw(?=[\"']?[ \t]{0,4}[:=]| is ))"
    r"|(?P<key>api[ _-]?key|secret[ _-]?key|access[ _-]?key|private[ _-]?key|signing[ _-]?key|encryption[ _-]?key"
    r"|licen[cs]e[ _-]?key|recovery[ _-]?(?:key|code)|backup[ _-]?code|secret|token|credentials?|accountkey"
    r"|(?:phpsessid|jsessionid|connect\.sid|sessionid)(?==))",
    re.IGNORECASE,
)
_SIGNS = (  # one of these is in whatever it finds, so near its beginning, and its end and what must follow
    "phrase", "pass", "kennwort", "contrase", "wachtwoord", "senha", "pw", "key", "recovery", "backup", "secret",
    "token", "credential", "sess", "connect.sid",
)  # fmt: skip
_BEFORE_SIGN, _AFTER_SIGN = 16, 48
_LINK = _lazy(
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
_VALUE = _lazy(
    r"(?>(?:[^\s,;&|\"'`”’»<\\]++|(?![,;&|](?:\s|$|[\w.-]{1,40}=)|[\"'`”’»](?:[\s,;:.)\]}]|$)|</|\\n)\S)+)"
)
_CALL = _lazy(r"[A-Za-z_][\w.]*[(\[]", re.ASCII)
_DOTTED = _lazy(rf"(?:{'|'.join(OWN_NAMES)})\.[\w.]+$", re.IGNORECASE)
_VARIABLE = _lazy(r"\$(?:\(|\{|env:|[A-Z_][A-Z0-9_]*$)|%[A-Z_]+%$|\{\{|\$\{|#\{|<%|%\(|%s$|\{\w*\}$|:\w+$")
_PLAIN = _lazy(r"[^\W\d_]+(?:['’-][^\W\d_]+)*$")
_NEXT_WORD = _lazy(r"[ \t]+([^\W\d_]+)")
_SENTENCE = _lazy(r"[^\n.;,!?\"]{1,200}")
_BEFORE = _lazy(r"(?:^|[\s\"'`(])([^\s\"'`]{5,64})[\"'`]? (?:is|as) (?:my|the|our|your|her|his|their|a)"
                     r" (?:[\w-]{1,20} ){0,2}$")  # fmt: skip
_NUMBERED = _lazy(r"[A-Z]{2,}-?\d|v?\d+[.:/-]|\d+[A-Za-z]{1,3}$")  # RFC8018, v1.2, 2026-05-03, 30min
_NO_BEGINNING = (WALL, "<", "your", "my_", "my-", "/", "./", "~/", "op://", "vault:")
_NUMBERED_NAME = _lazy(r"[a-z]*[-_.]?v?\d{1,4}$|\d+[a-z]{0,3}$", re.IGNORECASE)


def stated(text: str) -> Iterator[Span]:
    """Everything in a text that is called a password, a passphrase, a key, a token or a secret."""
    place, low, ahead = 0, text.lower(), dict.fromkeys(_SIGNS, -1)
    if len(low) != len(text):  # a capital of two small letters: its places are not those of the text
        low = ""
    while named := _next_name(text, low, place, ahead):
        kind = "passphrase" if named["phrase"] else "password" if named["word"] else _kind_of(named["key"].lower())
        start = max(0, named.start() - 140)
        before = _BEFORE().search(text[start : named.start()]) if kind == "password" else None
        if before and _is_odd(before[1]) and not is_none(before[1]):  # "hunter2 is my password"
            yield kind, start + before.start(1), start + before.end(1)
        found, place = _value_after(text, named, kind)
        if found:
            yield kind, *found


def _next_name(text: str, low: str, place: int, ahead: dict[str, int]) -> re.Match[str] | None:
    """The next thing from `place` on that is called a secret. To look for the pattern everywhere takes long.

    `ahead` has where each sign comes next: none is looked for twice in the same part of the text.
    """
    while low:
        for sign in [sign for sign, at in ahead.items() if at < place]:
            ahead[sign] = low.find(sign, place)
            if ahead[sign] < 0:
                del ahead[sign]
        if not ahead:
            return None
        at = min(ahead.values())
        named = _NAMED().search(text, max(place, at - _BEFORE_SIGN), at + _AFTER_SIGN)
        if named and named.start() <= at:
            return named
        place = at + 1
    return _NAMED().search(text, place)


def _kind_of(name: str) -> str:
    if "token" in name:
        return "token"
    return "cookie" if "sess" in name or name == "connect.sid" else "secret" if name.startswith("secret") else "key"


def _value_after(text: str, named: re.Match[str], kind: str) -> tuple[tuple[int, int] | None, int]:
    """The value that is named, and from where to go on."""
    link = _LINK().match(text, named.end())
    if link is None:
        return None, named.end()
    how = link.lastgroup or ""
    if how == "beside" and text[max(0, named.start() - 40) : named.start()].rpartition(" ")[2].startswith("--"):
        how = "equals"  # an option on a command line: `--db-password`
    found, end = _judged(text, link.end(), kind, how)
    if found is None and how != "to" and text.startswith(" to ", named.end()):  # "to" may lead to the value, too
        found, end = _judged(text, named.end() + 4, kind, "to")
    return found, end if found or end - link.end() > 200 else named.end()


def _judged(text: str, start: int, kind: str, how: str) -> tuple[tuple[int, int] | None, int]:
    """The value at that place, if it is a secret; and where it ends in any case."""
    start, end, is_quoted = _value(text, start, how)
    value = text[start:end]
    if kind == "passphrase" and not is_quoted and (whole := _phrase(text, start, how)):
        return (start, whole), whole
    is_one = _is_password(text, value, end, how) if kind in ("password", "passphrase") else _is_key(value, how)
    return ((start, end) if value and is_one and not is_none(value) else None), end


def _value(text: str, start: int, how: str) -> tuple[int, int, bool]:
    """From where to where the value goes, without its quotes, and whether it had any."""
    closing = _CLOSING.get(text[start : start + 1])
    if closing:
        inside, found, _ = text[start + 1 : start + 301].partition("\n")[0].partition(closing)
        if found:
            return start + 1, start + 1 + len(inside), True
        start += 1
    value = _VALUE().match(text, start)
    if value is None:
        return start, start, False
    ending = ".,;:!?)]}>\"'*|" if how in ("prose", "to", "beside") else ".,;)]}\"'*|"
    return start, start + len(value[0].rstrip(ending)), False


def _phrase(text: str, start: int, how: str) -> int:
    """Where a passphrase of several words ends; 0 if this is a sentence about one, or a single word."""
    found = _SENTENCE().match(text, start)
    words = found[0].split() if found else []
    if found is None or len(words) < 3 or words[0].startswith((WALL, "<", "$", "{")):
        return 0
    if how != "equals" and (any(word.lower() in FUNCTION for word in words) or len(words) > 24):
        return 0
    return found.start() + len(found[0].rstrip())


def _is_password(text: str, value: str, end: int, how: str) -> bool:
    if how == "beside":  # right after the word, only what no name looks like: "password hunter22"
        digits = sum(map(str.isdigit, value))
        is_name = value.lower() in ABOUT or _NUMBERED().match(value) is not None
        return len(value) > 5 and 1 < digits < len(value) and _is_odd(value) and not is_name
    if how == "colon" and value.endswith(":"):  # a key of its own
        return False
    after = _NEXT_WORD().match(text, end)
    following = after[1].lower() if after else ""
    if value.isdigit():
        return len(value) >= 4 and following not in UNITS and how != "to"
    is_plain = _PLAIN().match(value) is not None
    if how in ("prose", "to") or is_plain:
        word = value.lower()
        last = word.rpartition("-")[2]  # of case-sensitive, SHA-256-hashed, 12-character
        is_about = last != word and (last in ABOUT or last in UNITS or last.endswith(ENDINGS))
        if word in ABOUT or word.endswith(ENDINGS) or is_about:
            return how == "equals" and word not in ABOUT
    if is_plain:
        if how == "quoted":
            return False
        return how == "equals" or (how != "to" and len(value) > 3 and following in ("", "and", "for"))
    return _is_odd(value) if how in ("to", "quoted", "prose") else len(value) > 2


def _is_odd(value: str) -> bool:
    """Letters with digits, or with punctuation, or with capitals inside: no word of a language."""
    has_sign = any(not each.isalnum() and each not in "-_'’./:" for each in value)
    has_capital = any(map(str.isupper, value[1:])) and any(map(str.islower, value))
    return len(value) > 3 and ((any(map(str.isalpha, value)) and (_has_digit(value) or has_capital)) or has_sign)


def _is_key(value: str, how: str) -> bool:
    """Whether it looks random. What is right after the word must be long, too."""
    if len(value) < 8 or "://" in value or value.count(" "):
        return False
    if _CALL().match(value) or value.startswith(("/", "./", "~/")):
        return False
    parts = re.split(r"[-_.:/+=]", value)
    if any(len(part) >= 20 and _is_mixed(part) for part in parts):
        return True
    if how == "beside":
        return False
    mixed = any(len(part) >= 4 and _is_mixed(part) and not _NUMBERED_NAME().fullmatch(part) for part in parts)
    return mixed and (len(value) >= 12 or how == "equals")


def _is_mixed(part: str) -> bool:
    return (_has_digit(part) and any(map(str.isalpha, part))) or (_has_both_cases(part) and len(part) >= 24)


def is_none(value: str) -> bool:
    """Plainly no secret: a placeholder, a type, code."""
    low = value.strip().lower()
    if not low or low in NONE or low.startswith(_NO_BEGINNING):
        return True
    if len(set(low)) == 1 and not low.isdigit():
        return True
    if any(word in low for word in ("placeholder", "redacted", "xxxx", "****", "••••", "example")):
        return True
    return bool(_VARIABLE().match(value) or _CALL().match(value) or _DOTTED().match(value))
