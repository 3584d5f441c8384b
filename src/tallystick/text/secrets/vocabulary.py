"""The words by which a stated secret is known, and those that show that none is stated. Lists and no rules."""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# What may stand for a secret and is none: placeholders, names of types, and the words of whoever hid it.
NONE = _set(
    "none null nil n/a na undefined true false yes no empty blank redacted hidden masked removed unknown tbd todo"
    " placeholder example changeme change_me change-me password passwd passphrase pass pwd secret token string str"
    " text bytes int integer float number bool boolean any object optional required varchar char env environ default"
    " secretstr securestring nullable self none. null, xxx xxxx ... … *** ****** sample dummy test testing foo bar baz"
    " foobar value key api_key apikey your my the a an it user username admin@ prompt stdin input ask file -"
)
# After "the password is": what says something about it instead of saying it.
ABOUT = _set(
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
UNITS = _set(
    "characters character chars char digits digit letters letter days day hours hour minutes minute months month weeks"
    " week years year times long words word bytes bits attempts tries symbols or to and of seconds more"
)
FUNCTION = _set(
    "the a an of to in is are was be been and or not no for with by it its at on that this these those has have had"
    " must should can will would your my our his her their too so very than as if when where we you i they he she do"
    " does use used from into about"
)
OWN_NAMES = (  # where a program keeps a secret, so that naming it says nothing
    "self", "this", "config", "cfg", "conf", "settings", "os", "process", "env", "args", "opts", "options", "request",
    "req", "user", "data", "params", "ctx", "app", "props", "state", "secrets", "vault", "db", "row", "form", "body",
    "input", "event", "context", "creds", "credentials", "var", "local", "module", "steps", "inputs", "keyring",
)  # fmt: skip
