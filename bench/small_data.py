"""What a small memory holds, what is asked of it in other words, and what it cannot know. Written for this bench.

A row: a statement, a question in its words, a question in other words. `NOT_KNOWN` asks of someone who is known what is
known of nobody; `OTHERS` asks of the wrong person what is known of another; `OFF` has to do with nothing.
"""

Row = tuple[str, str, str]

LEARNED: list[Row] = [
    ("Ana prefers tea over coffee", "Does Ana prefer tea?", "What does Ana drink?"),
    ("Bob works as a carpenter", "Who works as a carpenter?", "What is Bob's job?"),
    ("Carla moved to Lisbon in March", "Who moved to Lisbon?", "Where does Carla live now?"),
    ("The staging database listens on port 5432", "Which port does the staging database listen on?",
     "How do I connect to the staging db?"),
    ("David is allergic to peanuts", "What is David allergic to?", "Which food must David avoid?"),
    ("Emma's daughter is called Lucy", "What is Emma's daughter called?", "What is the name of Emma's child?"),
    ("Deployments happen every Friday at 14:00", "When do deployments happen?", "At what time do we release?"),
    ("Frank drives an old blue Volvo", "What does Frank drive?", "Which car does Frank own?"),
    ("Greta speaks Swedish and Finnish", "Which languages does Greta speak?",
     "Can Greta talk with people from Helsinki?"),
    ("Hugo plays the cello in an orchestra", "What does Hugo play?", "Which musical instrument is Hugo good at?"),
    ("The invoices are stored in the finance bucket", "Where are the invoices stored?",
     "In which place do we keep bills?"),
    ("Ines is a vegetarian", "Is Ines a vegetarian?", "Does Ines eat meat?"),
    ("Jonas broke his left arm while skiing", "Who broke an arm?", "How did Jonas get injured?"),
    ("Karl's birthday is on 9 June", "When is Karl's birthday?", "When was Karl born?"),
    ("Lena runs a marathon every spring", "What does Lena run?", "Which sport does Lena do?"),
    ("The team writes its backend in Rust", "In what is the backend written?",
     "Which programming language does the team use?"),
    ("Mia adopted two kittens from the shelter", "Who adopted kittens?", "Which pets does Mia have?"),
    ("Nico studied physics in Vienna", "What did Nico study?", "Where did Nico go to university?"),
    ("Olga is married to Peter", "To whom is Olga married?", "Who is Olga's husband?"),
    ("The office closes at six in the evening", "When does the office close?",
     "Until when can I get into the building?"),
    ("Paul earns his money by selling antique clocks", "What does Paul sell?", "How does Paul make a living?"),
    ("Rita wants answers in short bullet points", "How does Rita want answers?", "Which writing style does Rita like?"),
    ("Backups are kept for thirty days", "How long are backups kept?", "What is the retention of our snapshots?"),
    ("Sven is afraid of flying", "What is Sven afraid of?", "Does Sven like to travel by plane?"),
    ("The wifi password hangs beside the printer", "Where does the wifi password hang?",
     "How do guests get on the internet?"),
    ("Tina grew up on a farm in Wales", "Where did Tina grow up?", "Where did Tina spend her childhood?"),
]  # fmt: skip

HELD_OUT: list[Row] = [
    ("Uwe takes his coffee without sugar", "How does Uwe take his coffee?", "What does Uwe like for a hot beverage?"),
    ("Vera is employed at a hospital as a nurse", "Where is Vera employed?", "What is Vera's profession?"),
    ("Walt has settled in Toronto", "Where has Walt settled?", "Which city does Walt live in?"),
    ("The payment service times out after 30 seconds", "When does the payment service time out?",
     "How long until a payment request is aborted?"),
    ("Xenia cannot eat shellfish", "What can Xenia not eat?", "Does Xenia have a food allergy?"),
    ("Yara has three brothers", "How many brothers does Yara have?", "Does Yara have any siblings?"),
    ("The weekly planning meeting is on Monday morning", "When is the weekly planning meeting?",
     "On which day do we get together to plan?"),
    ("Zack rides a bicycle to the office", "What does Zack ride?", "How does Zack get to work?"),
    ("Amir learned Portuguese last year", "What did Amir learn?", "Does Amir speak a foreign language?"),
    ("Bella paints landscapes in oil", "What does Bella paint?", "What is Bella's hobby?"),
    ("Logs are deleted after ninety days", "When are logs deleted?", "For how long can I look at old log files?"),
    ("Cyril hates loud music", "What does Cyril hate?", "Would Cyril enjoy a rock concert?"),
    ("Dora sprained her ankle in October", "What did Dora sprain?", "Which injury did Dora have?"),
    ("Elias turns forty on 2 August", "When does Elias turn forty?", "What is the date of Elias's birthday?"),
    ("Fiona swims in the lake each morning", "Where does Fiona swim?", "How does Fiona keep fit?"),
    ("The website is built with Django", "With what is the website built?", "Which web framework do we use?"),
    ("Gus keeps bees behind his house", "What does Gus keep?", "Does Gus have any animals?"),
    ("Hanna has a degree in chemistry from Oslo", "In what does Hanna have a degree?", "What did Hanna study?"),
    ("Igor's wife is a judge", "What is Igor's wife?", "What job does the spouse of Igor have?"),
    ("The shop opens at nine", "When does the shop open?", "From what time can customers come in?"),
    ("Jana trades stocks for a bank", "What does Jana trade?", "How does Jana earn her money?"),
    ("Kim wants every reply in German", "What does Kim want replies in?", "Which language should I use with Kim?"),
    ("The certificates are renewed every ninety days", "How often are the certificates renewed?",
     "When does our TLS cert expire?"),
    ("Lars gets sick on boats", "Where does Lars get sick?", "Should we take Lars on a cruise ship?"),
    ("The spare key lies under the flower pot", "Where does the spare key lie?",
     "How do I get into the house without mine?"),
    ("Mona was raised by her grandparents in Naples", "By whom was Mona raised?", "Where was Mona as a child?"),
]  # fmt: skip

BESIDE = [  # what is said of no one, asked with a name that it does not hold
    ("We ship on Friday", "When does Acme ship?"),
    ("The wifi password stands on the fridge", "What is the wifi password at Acme?"),
    ("The standup is at nine in the morning", "When is the standup of the Phoenix team?"),
    ("The database listens on port 5432", "Which port does Postgres listen on?"),
    ("The invoices go to the finance department", "Where do the invoices for Siemens go?"),
    ("All secrets are kept in the vault", "Where are the secrets of Apollo kept?"),
    ("Meetings are held in English", "In which language are meetings with Kyoto held?"),
    ("The build takes eleven minutes", "How long does the build take on Jenkins?"),
]
BESIDE_HELD_OUT = [
    ("The lunch break is at half past twelve", "When is the lunch break at Globex?"),
    ("The tests are run on every commit", "When are the tests run in Orion?"),
    ("The contract ends in December", "When does the contract with Initech end?"),
    ("The coordinates are stored as floats", "How are coordinates stored in Mapper?"),
    ("The bus leaves at seven", "When does the bus to Porto leave?"),
    ("The admin page needs two factors", "What does the admin page of Django need?"),
    ("The rent is paid on the first of the month", "When is the rent for Elm Street paid?"),
    ("The newsletter is written by the marketing team", "Who writes the newsletter of Hooli?"),
]  # fmt: skip

NOT_KNOWN = (
    "{}'s blood type?", "What is {}'s phone number?", "Which shoe size does {} wear?", "What is {}'s passport number?",
    "How tall is {}?", "What is {}'s favourite film?", "Which party did {} vote for?", "What is {}'s email address?",
    "Who is {}'s dentist?", "What colour is {}'s sofa?", "Did {} ever meet the queen?", "What is {}'s star sign?",
)  # fmt: skip
NOT_KNOWN_HELD_OUT = (
    "What is {}'s bank account?", "Which insurance does {} have?", "What is {}'s eye colour?", "Who taught {} to knit?",
    "What is {}'s middle name?", "How much does {} weigh?", "Which books has {} read lately?", "Is {} religious?",
    "What is {}'s postal code?", "Which phone does {} use?", "What did {} dream about?", "Who cuts {}'s hair?",
)  # fmt: skip
OFF = (
    "What is the capital of Mongolia?", "How do I boil an egg?", "Who won the world cup in 1998?",
    "Explain quantum entanglement", "What is the square root of 81?", "How far away is the moon?",
    "Which tax form is due for a company in Texas?", "How do I fix a dripping tap?",
)  # fmt: skip
OFF_HELD_OUT = (
    "Who wrote Hamlet?", "How do volcanoes form?", "What is the boiling point of ethanol?", "How does a zipper work?",
    "When did the Roman empire fall?", "Which planet has the most moons?", "How do I prune roses?",
    "What is the plot of Casablanca?",
)  # fmt: skip

FILLING = (
    "The heating in the meeting room was repaired on Tuesday", "Release notes are written by whoever merges last",
    "The coffee machine needs a new filter", "The lease of the warehouse ends next summer",
    "Incident reports go to the operations channel", "The printer on the second floor jams when it is humid",
    "Unit tests must run in less than ten minutes", "The design review was moved to Thursday",
    "Travel costs are refunded within two weeks", "The search service keeps its cache in memory",
    "New colleagues get a laptop on their first day", "The garden party is cancelled if it rains",
    "The mobile app supports dark mode since version 3", "Feature flags are removed after one quarter",
    "The load balancer sends traffic to three regions", "Parking is free after seven",
    "The customer survey had 412 answers", "The old importer is switched off at the end of the year",
    "Each pull request needs two reviews", "The library lends books for four weeks",
    "Staging is rebuilt every night", "The bakery on the corner sells rye bread",
    "The newsletter is sent to 8,000 readers", "The roof terrace is closed in winter",
    "Error budgets are reset each month", "The archive holds papers since 1970",
    "The lift is inspected twice a year", "The call with the lawyers took three hours",
    "The conference talks are recorded", "Passwords must have sixteen characters",
    "The train to the airport leaves every half hour", "The choir rehearses in the town hall",
    "The sensors report the temperature every minute", "The cafeteria serves soup on Wednesdays",
    "The translation into French is nearly done", "The museum shows maps of the coast",
    "A second monitor can be ordered by anyone", "The storage bill doubled in April",
    "The bridge will be painted green", "The river froze in January",
    "The prototype weighs less than a kilogram", "The chess club meets in the basement",
    "The grant covers two students", "The night shift starts at ten",
    "Tickets older than a year are closed", "The lawn is mown on Saturdays",
    "The server room has its own cooling", "The budget was approved without changes",
    "The festival attracts many tourists", "The glossary lists forty terms",
)  # fmt: skip
