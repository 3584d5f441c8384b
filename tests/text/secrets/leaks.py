"""Texts with a secret in them, and texts without.

The secrets are put together when the tests run, so that no scanner takes this file for a leak. Each text with a secret
is (what it should be masked as, the text, what must not be left of it).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits, hexdigits

Case = tuple[str, str, str]

_HEX = hexdigits[:16]
_WORD = ascii_letters + digits
_CAPITALS = ascii_uppercase + digits


def drawn(length: int, letters: str = _WORD, seed: int = 7) -> str:
    """Letters drawn by chance, at least one of each sort that `letters` has."""
    chance = random.Random(f"{length}{letters}{seed}")
    sorts = [sort for sort in (ascii_lowercase, ascii_uppercase, digits) if set(sort) & set(letters)]
    sure = [chance.choice(sorted(set(sort) & set(letters))) for sort in sorts]
    rest = [chance.choice(letters) for _ in range(length - len(sure))]
    chance.shuffle(rest)
    return "".join(rest[:3] + sure + rest[3:])


def card(start: str, length: int, seed: int = 7) -> str:
    """A number with that beginning whose last digit is right."""
    body = start + drawn(length - 1 - len(start), digits, seed)
    for last in digits:
        number = body + last
        doubled = [sum(divmod(2 * int(digit), 10)) for digit in number[-2::-2]]
        if (sum(doubled) + sum(int(digit) for digit in number[-1::-2])) % 10 == 0:
            return number
    raise AssertionError


# Kind, how such a token begins (without the +), how many letters follow, and of which sort.
_TOKENS = (
    ("AWS access key", "AKI+A", 16, _CAPITALS), ("AWS access key", "ASI+A", 16, _CAPITALS),
    *(("GitHub token", f"gh{letter}_", 36, _WORD) for letter in "pousr"),
    ("GitLab token", "glp+at-", 20, _WORD), ("GitLab token", "gld+t-", 24, _WORD),
    ("Stripe key", "sk_+live_", 24, _WORD), ("Stripe key", "rk_+live_", 24, _WORD),
    ("Stripe key", "whs+ec_", 32, _WORD), ("Google API key", "AIz+a", 35, _WORD),
    ("Google token", "ya2+9.", 60, _WORD), ("API key", "sk+-", 48, _WORD), ("API key", "sk+-proj-", 60, _WORD),
    ("API key", "sk+-or-v1-", 64, _HEX), ("API key", "gsk+_", 52, _WORD), ("API key", "xai+-", 80, _WORD),
    ("npm token", "npm+_", 36, _WORD), ("PyPI token", "pypi+-AgE", 80, _WORD), ("Twilio key", "S+K", 32, _HEX),
    ("Hugging Face token", "hf+_", 34, _WORD), ("DigitalOcean token", "dop+_v1_", 64, _HEX),
    ("Shopify token", "shp+at_", 32, _HEX), ("Databricks token", "dap+i", 32, _HEX),
    ("Mailgun key", "key+-", 32, _HEX), ("Vault token", "hvs+.", 30, _WORD), ("Docker token", "dckr+_pat_", 27, _WORD),
    ("Linear key", "lin+_api_", 40, _WORD), ("Notion token", "ntn+_", 46, _WORD), ("Figma token", "fig+d_", 40, _WORD),
    ("Grafana token", "gls+a_", 40, _WORD), ("Supabase token", "sbp+_", 40, _HEX),
    ("RubyGems key", "rubygems+_", 48, _HEX), ("age key", "AGE-SECRET+-KEY-1", 58, _CAPITALS),
)  # fmt: skip


def _tokens() -> Iterator[tuple[str, str]]:
    yield from ((kind, start.replace("+", "") + drawn(length, sort)) for kind, start, length, sort in _TOKENS)
    yield "GitHub token", "github" + "_pat_" + drawn(22) + "_" + drawn(59)
    yield "Slack token", "xox" + "b-" + drawn(12, digits) + "-" + drawn(24)
    yield "Slack token", "xox" + "p-" + drawn(12, digits) + "-" + drawn(24)
    yield "Slack webhook", "hooks.slack" + ".com/services/T" + drawn(9) + "/B" + drawn(9) + "/" + drawn(24)
    yield "Discord webhook", "discord" + ".com/api/webhooks/" + drawn(18, digits) + "/" + drawn(60)
    yield "API key", "sk" + "-ant-api03-" + drawn(80) + "AA"
    yield "SendGrid key", "SG" + "." + drawn(22) + "." + drawn(43)
    yield "Telegram bot token", drawn(9, digits) + ":" + "A" + drawn(34)
    yield "JWT", "ey" + "J" + drawn(30) + ".ey" + "J" + drawn(60) + "." + drawn(43)


def _shaped() -> Iterator[Case]:
    frames = ("the key is {}", "{}", 'export X="{}"', "Ana said: use {} for now, please.", "see `{}`.")
    for number, (kind, token) in enumerate(_tokens()):
        yield kind, frames[number % len(frames)].format(token), token
    for name in ("RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", ""):
        body = "\n".join(drawn(64, seed=line) for line in range(4))
        block = f"-----BEGIN {name}PRIVATE" + f" KEY-----\n{body}\n-----END {name}PRIVATE" + " KEY-----"
        yield "private key", f"here:\n{block}\nthanks", body
    body = drawn(200)
    pgp = "PGP PRIVATE" + " KEY BLOCK"
    yield "private key", f"-----BEGIN {pgp}-----\n\n{body}\n-----END {pgp}-----", body
    yield "private key", "cut off -----BEGIN PRIVATE" + f" KEY-----\n{drawn(64)}\n{drawn(64)}", drawn(64)
    half = drawn(38) + "/+"
    yield "AWS secret key", "AKI" + f"A{drawn(16, ascii_uppercase + digits)} and {half}", half
    yield "Azure storage key", "AccountName=a;Account" + f"Key={drawn(86)}==;EndpointSuffix=core", drawn(86)


def _stated() -> Iterator[Case]:
    pw = "hunt" + "er2"
    for text in (
        "my password is {}", "The password is {}.", "the wifi password is: {}", "password: {}", "Password={}", "pwd={}",
        "DB_PASSWORD={}", "export PGPASSWORD={}", '"password": "{}"', "password = '{}'", "passwd: {}", "pass: {}",
        "the password for the router is {}", "the password to staging is {}, ask Ana", "password for ana: {}",
        "I changed my password to {}", "she reset the password for the NAS to {} yesterday", "{} is my password",
        "use `{}` as the database password", "mysql --password={} -u root", "tool --db-password {} run",
        "user: ana, password: {}", "login ana password {}", "**Password:** {}", 'password is "{}"',
        "the passcode is {}", "password was {} until May", "password := {}", "Das Passwort ist {}", "Passwort: {}",
        "postgres://ana:{}@db.local:5432/app", "https://ana:{}@git.local/repo.git", "redis://:{}@cache:6379/0",
        "amqp://ana:{}@mq/vhost", "Server=db;User Id=ana;Password={};Database=app", "curl -u ana:{} https://x.local",
        "sshpass -p {} ssh host", "https://x.local/login?user=ana&password={}&next=/", "password={}&user=ana",
    ):  # fmt: skip
        yield "password", text.format(pw), pw
    for word in ("Tr0ub4dor&3", "S3cure!Pass", "p@ssw0rd!", "Winter2024", "correct-horse-9", "ünïcode9"):
        yield "password", f"the password is {word}", word
    yield "password", "the password is sword" + "fish.", "sword" + "fish"
    yield "password", "password: sword" + "fish", "sword" + "fish"
    yield "password", "admin password is 48" + "2913", "48" + "2913"
    words = "correct horse battery " + "staple"
    for text in ("passphrase: {}", "the passphrase is {}.", "passphrase = {}", 'passphrase is "{}"'):
        yield "passphrase", text.format(words), words
    yield "PIN", "the PIN is 48" + "21", "48" + "21"
    yield "PIN", "PIN for the phone: 90" + "17", "90" + "17"


def _called() -> Iterator[Case]:
    key = drawn(24, ascii_lowercase + digits)
    for kind, text in (
        ("key", "api key: {}"), ("key", "API_KEY={}"), ("key", "the API key is {}"), ("key", "x-api-key: {}"),
        ("key", '"apiKey": "{}"'), ("secret", "client_secret={}"), ("secret", "secret: {}"), ("token", "token={}"),
        ("token", "access_token: {}"), ("token", "the token is {}"), ("token", "https://x.local/cb?token={}&a=1"),
        ("token", "refresh-token = '{}'"), ("key", "encryption key: {}"), ("bearer token", "Authorization: Bearer {}"),
        ("bearer token", "curl -H 'authorization: bearer {}'"), ("authorization", "Authorization: Basic {}"),
        ("authorization", "Authorization: Token {}"), ("cookie", "Cookie: session={}; theme=dark"),
        ("cookie", "Set-Cookie: sid={}; Path=/; HttpOnly"), ("cookie", "JSESSIONID={}"), ("key", "license key: {}"),
        ("secret", "WEBHOOK_SECRET={}"), ("key", "secret_access_key is {}"), ("key", "recovery code: {}"),
    ):  # fmt: skip
        yield kind, text.format(key), key


def _cards() -> Iterator[Case]:
    for start, length in (("4", 16), ("51", 16), ("55", 16), ("2221", 16), ("6011", 16), ("65", 16), ("3530", 16)):
        number = card(start, length)
        yield "card number", f"card {number}", number
        for between in (" ", "-"):
            grouped = between.join(number[at : at + 4] for at in range(0, 16, 4))
            yield "card number", f"paid with {grouped}, expires 12/27", grouped
    amex = card("37", 15)
    yield "card number", f"amex {amex[:4]} {amex[4:10]} {amex[10:]}", amex[4:10]
    yield "card number", f"card {card('4', 16)} 2027", card("4", 16)
    yield "card number", f"diners {card('36', 14)}", card("36", 14)
    yield "card code", "cvv: 12" + "3", "12" + "3"
    yield "card code", "the CVC is 98" + "76", "98" + "76"


def secrets() -> list[Case]:
    return [*_shaped(), *_stated(), *_called(), *_cards()]


_PROSE = """
the password policy is strict
I forgot my password
the password is required
your password must be at least 12 characters long
the password is too short
password is 12 characters long
the password is stored as a bcrypt hash
the password is hashed with argon2id
Password: required
Password: must contain a digit and a symbol
password reset emails go out at night
the password field is empty
Ana changed her password yesterday
we rotate the password every 90 days
the password is wrong
the password is case-sensitive
passwords are never logged
the password is in 1Password
the password is in the vault
the password is known only to Bob
the password was changed on Monday
the password was rejected three times
ask Ana for the password to the server room
password manager: Bitwarden
the password is SHA-256 hashed
he said the password is secure enough
the passphrase is too long
a passphrase is better than a password
the passphrase is stored in the keychain
what is the password for the router?
the wifi password is on the fridge
no password is needed
the password is optional
password protected files are skipped
a token is a piece of text
the token limit is 4096
max_tokens=4096
the model returned 1500 tokens
token count: 1200
token: 15
tokens per second: 42
token = tokens[i]
the token is expired
token budget 2000
unexpected token < in JSON at position 0
the secret is out
the secret to good tea is fresh water
it is no secret that Ana likes tea
secret: none
the secret ingredient is cardamom
Victoria's Secret opened a shop
the key is under the mat
the key to success is patience
primary key: user_id
foreign key: order_id references orders
key: value
press the escape key
the API key is missing
API key rotation happens monthly
api_key: null
api_key=YOUR_API_KEY
api_key="<your key here>"
api_key: ${API_KEY}
password: ${DB_PASSWORD}
password: {{ vault_password }}
password=$PASSWORD
password = os.environ["DB_PASSWORD"]
password = getpass.getpass()
password = config.database.password
password = self.password
password: str
password: string
password: Optional[str] = None
def login(user, password):
password=None
password=***
password: ********
password: <password>
PASSWORD=changeme
token = get_token()
token: str = ""
secret_key = settings.SECRET_KEY
access key: Alt+S
the access key opens the menu
bearer of bad news
the bearer must be present
Bearer authentication is required
Authorization: required
authorization is handled by the proxy
cookie: chocolate chip
the cookie jar is empty
accept cookies: yes
session cookies expire after a day
the PIN is wrong
the PIN is four digits
GPIO pin: 17
pin 13 is the LED
pins the dependency to 2.4.1
in my opinion 2024 was better
shipping takes 1234 days
http://localhost:8080/path
https://example.com/a:b/c@2x.png
ssh://git@github.com:22/ana/repo.git
git@github.com:ana/repo.git
postgres://user:password@localhost/db
postgres://localhost:5432/app
https://user@host/path
mailto:ana@example.com
the deadline is 2026-05-03T14:00:00Z
docker run -u 1000:1000 image
pip install scikit-learn
class="sk-toggleable__content-estimator"
sk-learn-contrib-extensions-project
see hf_hub_download in the docs
call npm_package_name from the script
the file is called ghp_notes.txt
eyJ is how a token begins
SG.1 and SG.2 are rooms
AKIA is a prefix
xoxo, Ana
glpat is GitLab's prefix
the task is at https://hooks.example.com/services/list
order 1234567890123456 was shipped
invoice 4000123412341235 is paid
call +49 170 1234567890
phone 0049 170 123 456 789
tracking number 1Z999AA10123456784
ISBN 978-3-16-148410-0
IBAN DE89 3704 0044 0532 0130 00
IBAN GB29NWBK60161331926819
build 20261115174022123456
timestamp 1700000000000000
0.4111111111111111 is a float
1111 1111 1111 1111
0000000000000000
version 4.11.11.1111
latitude 52.5200066, longitude 13.4049540
the cvv field is required
CVC stands for card verification code
credentials are in the vault
the credentials: see the wiki
credential rotation is due
backup code review is on Friday
recovery key is kept offline
license key: ask Bob
private key permissions are 0600
-----BEGIN PUBLIC KEY-----
-----BEGIN CERTIFICATE-----
the private key is stored in the HSM
encryption key management is hard
Ana's email is ana@example.com
meeting with Bob at 14:30 in room 12
the port is 6543
Ana prefers green tea
we deploy on Fridays, never on Mondays
the build took 3m42s on runner-17
fix: handle empty list (#4821)
merge pull request 1234 from ana/fix-login
the user id is 100234
SELECT password_hash FROM users
ALTER TABLE users ADD COLUMN password_hash text
the login form has a password input
type="password" name="password"
<input type="password">
"type": "password"
password_hash: bcrypt
passwordless login is on
the compass points north, pass: it on
bypass=true
passport number is asked for at the border
pass the salt
please pass on the message: Bob is late
tests pass: 284
pass rate: 98.5%
pwd
cd $(pwd)
the current pwd is /home/ana
tokenizer: wordllama
tokenize the text first
secretary: Bob
the secretary is Ana
keyboard: ANSI
keynote at 9
key results: 3 of 4
API keys are rotated by Bob
""".strip().splitlines()


def _ids() -> Iterator[str]:
    for seed in range(4):
        yield f"commit {drawn(40, _HEX, seed)}"
        yield f"sha256:{drawn(64, _HEX, seed)}"
        yield f"md5 {drawn(32, _HEX, seed)}"
        uuid = drawn(32, _HEX, seed)
        yield f"request {uuid[:8]}-{uuid[8:12]}-{uuid[12:16]}-{uuid[16:20]}-{uuid[20:]}"
        yield f"belief 20260421-0915-{drawn(6, _HEX, seed)}"
        yield f"event 01M7G4Y4{drawn(18, ascii_uppercase + digits, seed)}"
        yield f"review r-20260421-0915-{drawn(6, _HEX, seed)}"
        yield f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{drawn(43, seed=seed)} ana@laptop"
        yield f"data:image/png;base64,iVBORw0KGgo{drawn(300, seed=seed)}="
        yield f"etag W/\"{drawn(27, seed=seed)}\""
        yield f"https://example.com/share/{drawn(22, seed=seed)}"


def others() -> list[str]:
    return [*_PROSE, *_ids()]


def unseen_secrets() -> list[tuple[str, str]]:
    """Texts that were written before the rules were tried on them, and what must not be left of each."""
    pw, key, number = "hunt" + "er22", drawn(32), card("4", 16)
    said = [
        "btw my netflix password is {}", "password for ana's account = {}", "His password: {}", "PASSWORD: {}",
        "the new password is now {}", "Login: ana / Password: {}", "pw: {}", "my pw is {}", "user=ana&pwd={}",
        "{{'user': 'ana', 'password': '{}'}}", '{{"db":{{"password":"{}","port":5432}}}}', "redis-cli -a {}",
        "spring.datasource.password={}", "password   {}", "The root password on web-1 is {}", "wifi password {}",
        "The password's {}", "Passwort lautet {}", "password -> {}", "password is {} and the user is ana",
        "set password {} for ana", "psql 'postgresql://ana:{}@h/db'", "mongodb+srv://ana:{}@cluster0.example",
        "no: the root password is {}", "the hint is dog, the password is {}", "Your temporary password is: {}",
        "pass={}", "IMAP_PASS='{} x'", 'password: "{} horse"', "my passwords are {} and others",
        "the alarm code is {}", "the combination to the safe is {}",
    ]  # fmt: skip
    called = [
        "AWS_SECRET_ACCESS_KEY={}", "aws secret access key {}", "Use token {} to log in", "x-auth-token: {}",
        "session token: {}", "TOKEN: '{}'", "OTP secret: {}", "here is the secret: {}", "set API key {}",
    ]  # fmt: skip
    paid = ["visa {} cvc 1", "card number: {}, exp 12/30", "full: {}", "he typed {} into the form"]
    return (
        [(text.format(pw), pw) for text in said] + [(text.format(key), key) for text in called]
        + [(text.format(number), number) for text in paid]
    )  # fmt: skip


UNSEEN_OTHERS = """
The password to success is perseverance
Bob set a password on the zip file
password strength: weak
password length: 12
Passwords: use a manager
token type: bearer
token_type=bearer
grant_type=password
token endpoint: /oauth/token
the token is validated by the gateway
secret santa: Bob
open secret: everyone knows
api key: required
the api key is in .env
API key is read from the environment
The password is the same as before
the password is shared with Bob
password was not found
password has been set
password set to expire in 30 days
password expires in 90 days
the password is 'required' in the form
password is never sent in plain text
password is sent over TLS 1.3
password authentication is disabled
PasswordAuthentication no
--password-file /run/secrets/db
password_file: /run/secrets/db_password
password-stdin
docker login --password-stdin
secretName: db-credentials
secretKeyRef: name: app
credentials: ~/.aws/credentials
credentials=GoogleCredentials.getApplicationDefault()
tokens: 128k
the token window is 200k
token: eos
pad_token='[PAD]'
token=tok
secret = Secret.from_name('x')
key: ana-tea
key=lambda x: x[1]
api_version=2024-05-01
password complexity: 3 of 4 classes
the password is being reset
the password is probably in Slack
wrong password: try again
Password incorrect. 3 attempts left
password is stored in GCP Secret Manager
the secret is stored as base64
secret level: 5
The token is a JWT signed with RS256
Bearer tokens expire after 3600 seconds
Set-Cookie is blocked
Cookie: see docs
the card is 1234
order 5500000000000000
my favourite number is 4242
room PIN: see email
the pin code is required
key-value store
private key: see vault
signing key rotation: 2026-01-01
license key: MIT
access token lifetime: 15m
refresh token rotation is on
access key id and secret access key are both needed
encryption key size: 256
secret sauce: soy2 and honey
the passcode is changed daily
password to be decided
password in the letter
password or PIN
recovery code was printed
api-key header
token revoked on 2026-05-03
the token was issued at 14:30:22
password=password
password: admin? no idea
the old password is no longer valid
his password is longer than mine
The password is Ana's dog's name
Secret: the cake is a lie
my password is the name of my cat
token = jwt.encode(payload)
api_key = request.headers['X']
secret=os.getenv('SECRET')
password:   minLength: 12
passphrase: see vault
password is managed by Ansible2
access key: 1
passphrase generation is done with diceware words of six
""".strip().splitlines()
