"""Word lists of the English extractor, in lowercase. Lists and no rules."""

from tallystick.text.words import Phrases, set_of as set_of

# --- sentences that are not read

# A supposition, a wish, a dream or fiction.
UNREAL = set_of(
    "if unless whether wish wishes wished suppose supposing imagine imagining pretend pretending hypothetically"
    " dreamt dreamed assuming otherwise hopefully lest fictional hypothetical joke joking kidding sarcasm"
)
# The words of another.
SAID = set_of(
    "said says saying told tells claims claimed mentioned mentions thinks thought believes believed reckons asked"
    " asks replied according quoted insists insisted swears announced admitted wonders wondered wonder reportedly"
    " allegedly supposedly rumour rumor lyrics"
)
EXAMPLES = ("for example", "for instance", "e.g.", "an example", "example:", "sample", "such a thing as")
# A sentence with this beginning is an order.
ORDERS = set_of(
    "write draft compose create generate make tell give show explain translate rewrite summarise summarize act"
    " list describe answer please correct fix complete continue repeat say play let let's find help check add"
    " remove convert design build draw invent consider note remember read look try take use don't do be keep think"
    " compare rephrase"
)
# … and of these, a request for fiction: nothing after it is read.
MAKES_UP = set_of(
    "write draft compose generate translate rewrite invent roleplay rephrase proofread summarise summarize"
)
ASKS = set_of(
    "who what when where why how which whose whom do does did is are am was were can could would should will"
    " shall may might have has had isn't aren't don't doesn't didn't won't wouldn't couldn't shouldn't haven't"
    " hasn't"
)

# --- before a statement: what adds nothing, or only how sure it is

OPENERS = set_of(
    "yes yeah yep yup ok okay well so oh hey hi hello btw fyi anyway honestly actually also and but plus wow"
    " thanks ah sorry right sure luckily fortunately sadly unfortunately currently now nowadays today recently"
    " finally still basically correction update note again hmm um uh no nope because since then cool great"
    " personally both"
)
LEADS = Phrases(  # several words
    "as i said", "like i said", "as you know", "to be honest", "by the way", "in fact", "of course", "you know",
    "i mean", "i must say", "i have to say", "i just wanted to say that", "just so you know", "for the record",
    "these days", "at the moment", "right now", "please remember that", "please remember", "please note that",
    "keep in mind that", "please keep in mind that", "don't forget that", "for future reference", "in the meantime",
    "fun fact", "thank you", "remember that", "note that", "i told you that", "i changed my mind",
    "i've changed my mind", "turns out",
)  # fmt: skip
HEDGES = Phrases(
    "i think that", "i think", "i believe that", "i believe", "i guess that", "i guess", "i suppose that", "maybe",
    "perhaps", "probably", "possibly", "presumably", "apparently", "as far as i know", "afaik", "i'm not sure but",
    "if i remember correctly", "i heard that", "i heard", "i've heard that", "i've heard", "it seems that",
    "it seems", "i assume that", "i assume", "i'm pretty sure that", "i'm pretty sure", "i'm fairly sure", "seemingly",
    "i reckon", "i suspect", "it looks like", "most likely", "not sure but", "i'm guessing",
)  # fmt: skip
MAYBE = set_of("maybe perhaps probably possibly presumably apparently likely seemingly arguably")
TAILS = Phrases(  # a hedge that comes after
    "i think", "i believe", "i guess", "maybe", "probably", "as far as i know", "afaik", "or so", "if i remember",
    "or something", "i suppose", "perhaps", "i'm not sure", "not sure",
)  # fmt: skip

# --- words around a verb

ADVERBS = set_of(
    "really also still currently now just always actually already both usually mostly absolutely totally"
    " definitely truly simply recently finally even generally typically especially particularly certainly honestly"
    " officially personally genuinely normally mainly primarily happily presently so kinda all only ever often"
    " strongly much greatly deeply very quite pretty literally seriously secretly sometimes temporarily"
    " permanently eventually"
)
MODALS = set_of("will would could might may should shall must can 'll 'd gonna wanna")
TRAILERS = set_of(
    "now anymore too again currently already today nowadays though although lately together right really myself"
    " here there either anyway actually still full-time part-time remotely instead yet well btw lol haha please"
    " always recently finally so"
)
TRAILING = Phrases(
    "any more", "any longer", "as well", "right now", "these days", "at the moment", "a lot", "very much", "so much",
    "at present", "for now", "the most", "of course", "in general", "by the way", "at all", "too much", "from now on",
    "more than anything", "as usual", "for a living", "full time", "part time", "from home", "in my free time",
    "every day", "all the time", "in my spare time", "best of all", "the best", "for years", "for a while", "for ages",
)  # fmt: skip
PREPOSITIONS = set_of(
    "at for in as to from with on by near since until till over about into under against through during without"
    " around before after between than instead rather because like via per outside inside within across while"
)
STOPS = set_of(
    "because so which who that where when while but though although as after before if unless then whereas plus"
    " or even since until till than instead except unlike where's whose whom why how what once despite yet however"
    " thanks"
)
NOT_A_THING = set_of(
    "it this that these those you me him her them us i we he she they what how when where why who whom everything"
    " something anything nothing everyone someone anyone one ones your yours his hers their theirs its yourself"
    " himself herself themselves ourselves itself is are was were am be been being has had have do does did will"
    " would can could should might may must not n't 's 'm 're 've 'll 'd here there such so much more most less"
    " such both each either neither all any whatever whoever wherever enough same other others mine ours ever"
    " never no got get gets let"
)

# --- kinds of people and things

RELATIONS = {
    word: predicate
    for predicate, words in {
        "sibling": "sister brother sibling twin",
        "parent": "mother father mum mom dad mama papa mommy daddy mummy stepmother stepfather",
        "child": "son daughter child kid stepson stepdaughter baby",
        "married_to": "wife husband spouse",
        "partner": "partner girlfriend boyfriend fiancé fiancée fiance fiancee",
        "reports_to": "boss manager supervisor",
        "friend": "friend buddy pal bestie",
        "colleague": "colleague coworker co-worker teammate",
        "relative": "cousin aunt uncle niece nephew grandmother grandfather grandma grandpa granny grandson"
                    " granddaughter",
    }.items()
    for word in words.split()
}  # fmt: skip
WOMEN = set_of(
    "sister mother mum mom mama mommy mummy daughter wife girlfriend fiancée aunt niece grandmother grandma granny"
)
MEN = set_of("brother father dad papa daddy son husband boyfriend fiancé uncle nephew grandfather grandpa")
KIN_ADJECTIVES = set_of(
    "older younger little big best good close eldest oldest youngest dear lovely new old twin only baby"
)
PETS = set_of(
    "dog cat puppy kitten parrot rabbit hamster horse pony turtle tortoise snake lizard budgie canary ferret pup"
)
PETS_MANY = set_of("dogs cats puppies kittens parrots rabbits hamsters horses turtles snakes lizards chickens pups")
LANGUAGES = set_of(
    "english german french spanish portuguese italian dutch swedish norwegian danish finnish polish czech russian"
    " ukrainian turkish greek arabic hebrew hindi urdu bengali tamil mandarin cantonese chinese japanese korean"
    " vietnamese thai indonesian malay swahili romanian hungarian bulgarian serbian croatian catalan basque"
    " galician persian farsi irish welsh latin esperanto afrikaans albanian armenian georgian icelandic latvian"
    " lithuanian estonian slovak slovenian tagalog zulu"
)
JOBS = set_of(
    "accountant actor actress analyst architect artist assistant astronaut author baker banker barber barista"
    " bartender biologist blogger bookkeeper bricklayer builder butcher carer carpenter cashier ceo cfo chef"
    " chemist cleaner clerk coach composer consultant contractor cook coder cto curator dancer dentist designer"
    " detective developer dietitian director doctor driver economist editor electrician engineer entrepreneur"
    " farmer firefighter fisherman florist freelancer gardener geologist guard hairdresser historian illustrator"
    " inspector instructor interpreter janitor jeweller journalist judge lawyer lecturer librarian lifeguard"
    " linguist locksmith magician manager mathematician mechanic midwife model musician neurologist novelist nurse"
    " nutritionist optician painter paramedic pastor pharmacist philosopher photographer physician physicist"
    " physiotherapist pianist pilot plumber poet policeman politician postman principal producer professor"
    " programmer psychiatrist psychologist radiologist realtor receptionist recruiter reporter researcher sailor"
    " salesman scientist screenwriter sculptor secretary singer soldier solicitor statistician streamer surgeon"
    " surveyor tailor teacher technician therapist trainer translator tutor veterinarian vet violinist waiter"
    " waitress welder writer sysadmin cofounder co-founder founder"
)
NOT_A_JOB = set_of(  # before a job, these make it something else
    "former retired best worst good great bad terrible awful better aspiring future real true big huge fast slow"
    " lousy decent amazing ex wannabe born natural careful safe nervous hopeless passionate keen avid early heavy"
    " light poor fellow only first last another"
)
CITIES = set_of(  # one leaves them, and not as one leaves a firm
    "amsterdam athens atlanta austin barcelona beijing berlin bogota boston brussels budapest cairo chicago"
    " copenhagen dallas delhi denver dubai dublin edinburgh florence geneva hamburg helsinki houston istanbul"
    " jakarta johannesburg lagos lima lisbon london madrid manchester manila melbourne miami milan montreal moscow"
    " mumbai munich nairobi naples oslo paris philadelphia porto portland prague rome seattle seoul shanghai"
    " singapore stockholm sydney taipei tokyo toronto vancouver venice vienna warsaw zurich argentina australia"
    " austria belgium brazil canada chile china colombia denmark egypt england europe finland france germany"
    " greece india ireland israel italy japan kenya mexico nigeria norway peru poland portugal russia scotland"
    " spain sweden switzerland turkey ukraine wales texas california"
)
DIETS = set_of("vegan vegetarian pescatarian pescetarian flexitarian")
GROUPS = set_of(
    "club choir band team group society union party church association gym orchestra league board committee"
    " community guild crew troupe squad network class"
)
THINGS = set_of(
    "car bike bicycle motorbike motorcycle house flat apartment boat van truck scooter cottage farm piano guitar"
    " violin keyboard camera telescope laptop shop store café cafe restaurant bakery business"
)
PLAYED = set_of(
    "guitar piano violin drums cello flute clarinet saxophone trumpet bass ukulele harp banjo viola oboe organ"
    " keyboard accordion football soccer tennis basketball volleyball badminton chess golf hockey rugby cricket"
    " baseball squash handball go poker bridge padel"
)
TOOLS = set_of(
    "python rust go golang java kotlin scala typescript javascript ruby php perl swift haskell elixir erlang"
    " clojure julia matlab c c++ c# f# fortran cobol lua dart sql nosql bash zsh fish powershell vim neovim nvim"
    " emacs vscode pycharm intellij sublime atom eclipse xcode helix zed cursor git svn mercurial github gitlab"
    " bitbucket jira trello asana linear notion obsidian evernote confluence slack teams discord zoom docker"
    " podman kubernetes k8s nomad terraform pulumi ansible puppet chef jenkins circleci postgres postgresql mysql"
    " mariadb sqlite oracle mssql mongodb mongo redis memcached cassandra dynamodb elasticsearch opensearch"
    " clickhouse duckdb snowflake bigquery kafka rabbitmq nats celery airflow dagster spark flink dbt pandas"
    " polars numpy pytorch tensorflow jax keras sklearn scikit-learn django flask fastapi rails laravel spring"
    " react vue angular svelte next.js nextjs nuxt remix node node.js nodejs deno bun npm yarn pnpm pip uv poetry"
    " conda mamba ruff black flake8 pylint mypy pyright pytest unittest tox nox webpack vite rollup esbuild babel"
    " eslint prettier jest mocha vitest playwright cypress selenium aws gcp azure heroku vercel netlify cloudflare"
    " linux ubuntu debian fedora arch nixos windows macos ios android iphone firefox chrome safari edge brave"
    " gmail outlook thunderbird protonmail photoshop gimp blender figma sketch excel word powerpoint latex tmux"
    " screen kitty alacritty iterm make cmake bazel gradle maven ninja nginx apache caddy traefik grafana"
    " prometheus datadog sentry splunk whatsapp telegram signal duolingo strava spotify"
)
KNOWN_AS = set_of(
    "german italian american british french spanish portuguese dutch swiss austrian polish greek turkish indian"
    " chinese japanese korean mexican brazilian canadian australian irish scottish welsh english catholic muslim"
    " jewish christian buddhist hindu asian european african latino"
)
NOT_NAMES = set_of(
    "i i'm the a an this that these those my your his her its our their he she it we you they who what when where"
    " why how everyone everybody someone somebody nobody no nothing everything people monday tuesday wednesday"
    " thursday friday saturday sunday january february march april may june july august september october november"
    " december yes yeah hey hi hello thanks thank wow oh ok okay well so and but or if because while since after"
    " before also just now then there here maybe perhaps god lol omg mine yours work life love school home sounds"
    " looks glad great good nice cool awesome sorry please today yesterday tomorrow tonight some many most all"
    " both one two three neither either each every another any few several not never always still even once only"
    " more much such on in at by for from with to of as up out about into over under let don't can't won't it's"
    " that's there's what's music art dance dancing nature family mom mum dad mother father congrats"
    " congratulations absolutely definitely totally really actually honestly anyway sure right exactly agreed true"
    " same me us them him whatever whenever"
)
SETTINGS = set_of(
    "database db host hostname server branch region editor language framework version environment port url"
    " endpoint timezone theme currency encoding licence license repository repo bucket queue runtime interpreter"
    " os platform codename"
)
SECRETS = set_of("password passwd passphrase passcode secret token key pin code login cvv iban credential credentials")
UNITS = set_of(
    "second minute hour day week month year ms mb gb tb kb percent euro dollar pound euros kg km m cm mm px retry"
    " worker thread core replica connection attempt step item user row byte request token"
)
