"""Tool conversations from a verb x object grammar with random names, argument types and wordings."""
import json

import curated
import fillers as F
from common import call, check
from fillers import pick

# --- argument kinds --------------------------------------------------------------------------------------------
# kind: (names, words used when asking, descriptions, fragments; {v} = spoken value, {w} = the argument's words)
A = {}


def arg(kind, names, descs, frags, ask=None):
    A[kind] = dict(names=names.split(), descs=descs.split("|"), frags=frags.split("|"), ask=ask)


arg("city", "city location place town where destination area", "Name of the city|City to use|Town or city name|Where, as a city name|The place",
    "in {v}|for {v}|at {v}|near {v}|around {v}", "Which city")
arg("country", "country nation region country_name land", "Country name|The country|Which country", "in {v}|for {v}|of {v}", "Which country")
arg("person", "person name contact recipient who user member guest assignee customer owner", "Name of the person|Who it is for|Person's name|Full name|The contact",
    "for {v}|with {v}|to {v}|on behalf of {v}", "Which person")
arg("date", "date day when on_date start_date due due_date day_of", "The date|Day, e.g. 2025-03-01|Date or weekday|When it takes place|Calendar day",
    "on {v}|for {v}|dated {v}|- {v}", "Which date")
arg("time", "time at start start_time hour clock_time at_time", "Time of day|Start time|Clock time, e.g. 18:30|At what time", "at {v}|starting at {v}|from {v}", "What time")
arg("minutes", "minutes duration length duration_minutes mins timeout_min", "Length in minutes|Duration (minutes)|How many minutes", "for {v} minutes|lasting {v} minutes|of {v} min", "How many minutes")
arg("count", "count n amount quantity number limit max_results how_many size top total", "How many|Number of items|Quantity|Maximum number of results|Amount wanted",
    "{v} of them|limit {v}|with a count of {v}|at most {v}|{w} {v}", "How many")
arg("int", "level id_number index row page position rank floor score offset priority step seed port slot line", "Whole number|An integer|Numeric value|The position",
    "{w} {v}|with {w} {v}|{w} set to {v}|at {w} {v}", None)
arg("float", "value rate price weight temperature ratio factor threshold speed distance radius amount_eur height", "A number|Decimal value|Numeric amount|The value",
    "{w} {v}|with {w} {v}|at {w} {v}|and a {w} of {v}", None)
arg("bool", "urgent dry_run verbose recursive public notify loud force silent archived express gift private cached strict", "Whether to do so|On or off|true or false|Flag|Optional switch", "", None)
arg("enum", "mode kind type category style format unit status color size level_name plan quality direction method", "One of the listed values|Choose one|Allowed values only|The variant",
    "{w} {v}|in {v} {w}|with {w} {v}|as {v}|using {v} {w}", None)
arg("item", "item product thing object what subject article goods device part", "Name of the item|What it is about|The thing to use|Product name", "for {v}|called {v}|about {v}|named {v}", "Which item")
arg("title", "title subject label heading summary topic caption task", "Short title|Title text|What to call it|Headline|Subject line", "titled {q}|called {q}|with the title {q}|named {q}|about {q}", "What title")
arg("text", "text message body content note comment reason description", "The text|Message text|Free text|What to say|Body of the message", "saying {q}|with the text {q}|that says {q}|: {q}|with message {q}|reading {q}", "What text")
arg("path", "path file filename file_path source target document input_file", "Path of the file|File name|File to use|Where the file is", "{v}|in {v}|at {v}|the file {v}|for {v}", "Which file")
arg("id", "id order_id ticket reference code key account number_plate tracking_number token invoice", "The identifier|Reference code|ID of the record|Tracking code", "{v}|with id {v}|number {v}|{w} {v}|for {v}", "Which id")
arg("email", "email address to mail recipient_email contact_email", "E-mail address|Where to send it|Mail address", "to {v}|for {v}|at {v}|using {v}", "Which e-mail address")
arg("url", "url link page website address_url endpoint", "Web address|URL to open|The link", "{v}|at {v}|from {v}|for {v}", "Which address")
arg("currency", "currency currency_code money target_currency", "Currency code|Three-letter currency|Code such as EUR", "in {v}|to {v}|into {v}", "Which currency")
arg("language", "language lang target_language locale to_language", "Language|Target language|Name of the language", "in {v}|into {v}|to {v}", "Which language")
arg("strings", "tags items names labels words people files keywords options values list", "List of strings|Several names|The list of entries|All items", "with {w} {v}|{w}: {v}|for {v}|containing {v}", None)
arg("ints", "numbers values ids rows scores points readings measurements", "List of whole numbers|The numbers|Integer values", "{w} {v}|for {v}|of {v}|with {w} {v}", None)
arg("dict", "options settings filters attributes metadata extra params headers", "Extra settings as key and value|An object|Key-value pairs", "with {w} {v}|and {w} {v}|{w}: {v}", None)
arg("query", "query search q phrase term search_text pattern keyword", "What to search for|Search text|The query|Words to look for", "for {q}|about {q}|matching {q}|on {q}", "What should I search for")
arg("command", "command cmd shell line script run", "Shell command|The command line|Command to execute", "{q}|the command {q}|: {q}", "Which command")
arg("code", "content new_text text body code snippet source data", "The full text|Text to write|New content|Source text", "with this content:\n{v}|containing:\n{v}|with the text:\n{v}|:\n{v}", "What text")

ENUMS = [s.split() for s in (
    "low medium high", "small medium large", "red green blue yellow", "celsius fahrenheit kelvin", "json csv xml yaml", "fast slow",
    "daily weekly monthly yearly", "draft final", "north south east west", "asc desc", "morning noon evening night", "economy business first",
    "open closed pending", "mp3 wav flac", "metric imperial", "beginner advanced expert", "light dark auto", "pdf html markdown", "soft hard",
    "car train bus bike", "single double suite", "in_progress done blocked", "public private internal", "up down left right", "vegan vegetarian none",
    "on off auto", "cash card transfer", "visa mastercard", "indoor outdoor", "hot cold warm", "read write append", "debug info warning error",
    "mono stereo", "oak pine steel", "gold silver bronze", "S M L XL", "A4 A5 letter", "GET POST PUT DELETE", "km miles", "min max avg sum")]
DICT_KEYS = "color size level name owner unit mode depth width height retries delay lang zone theme depth rate tag".split()


def sample(rng, kind, split, spec):
    """(value, spoken form) for an argument of the given kind."""
    if kind == "city": v = F.city(rng, split); return v, v
    if kind == "country": v = pick(rng, "countries", split); return v, v
    if kind == "person": v = F.person(rng, split); return v, v
    if kind == "date": return F.date(rng)
    if kind == "time": return F.clock(rng)
    if kind == "minutes": v = rng.choice([5, 10, 15, 20, 25, 30, 40, 45, 50, 60, 75, 90, 120, rng.randint(1, 200)]); return v, F.number_text(rng, v)
    if kind == "count": v = rng.choice([rng.randint(1, 12), rng.randint(1, 12), rng.randint(13, 99), rng.randint(100, 5000)]); return v, F.number_text(rng, v)
    if kind == "int":
        v = rng.choice([rng.randint(0, 12), rng.randint(-20, -1), rng.randint(13, 100), rng.randint(100, 99999)]); return v, F.number_text(rng, v)
    if kind == "float":
        v = rng.choice([round(rng.uniform(0, 10), 1), round(rng.uniform(0, 100), 2), round(rng.uniform(-50, 0), 1), rng.randint(1, 500), rng.randint(1, 9) + .5])
        return v, str(v) if v >= 0 or rng.random() < .7 else f"minus {-v}"
    if kind == "bool": return rng.random() < .62, ""
    if kind == "enum":
        v = rng.choice(spec["enum"]); t = v.replace("_", " ")
        return v, rng.choice([v, t, t, t.lower()])
    if kind == "item":
        v = pick(rng, rng.choice(["household_objects", "fruits", "vegetables", "clothes", "appliances", "breads", "animals", "instruments", "pastries", "flowers"]), split)
        return v, v
    if split == "train" and kind in ("title", "text", "query") and rng.random() < .4: return F.phrase(rng, *((2, 10) if kind == "text" else (1, 4))), None
    if split == "train" and kind == "command" and rng.random() < .4:
        return rng.choice([f"grep -n {F.nonsense(rng)} {F.path(rng)}", f"cat {F.path(rng)}", f"python {F.path(rng)} --{F.nonsense(rng)} {rng.randint(0, 99)}", f"cp {F.path(rng)} {F.path(rng)}", f"{F.nonsense(rng)} -{rng.choice('abcxyz')} '{F.phrase(rng).replace(chr(39), '')}'"]), None
    if kind == "title":
        r = rng.random()
        v = rng.choice(F.pool(F.TOPICS, split)) if r < .5 else rng.choice(F.pool(F.NASTY, split)) if r < .72 else \
            f"{pick(rng, 'adjectives', split)} {pick(rng, 'nouns', split)}" if r < .88 else F.sentence(rng, split).rstrip(".!")
        return (v.title() if rng.random() < .2 and v.isalpha() else v), None
    if kind == "text":
        r = rng.random()
        v = F.sentence(rng, split) if r < .68 else rng.choice(F.pool(F.NASTY, split)) if r < .84 else \
            f"{F.sentence(rng, split)}{rng.choice([chr(10), ' '])}{F.sentence(rng, split)}"
        return v, None
    if kind == "path": v = F.path(rng); return v, v
    if kind == "id": v = F.ident(rng); return v, v
    if kind == "email":
        v = f"{pick(rng, 'first_names', split).lower()}{rng.choice(['', '.', '_'])}{rng.choice([F.nonsense(rng, 1, 2), str(rng.randint(1, 99))])}@{rng.choice(['example.com', 'example.org', 'mail.example.net'])}"
        return v, v
    if kind == "url":
        v = f"https://{rng.choice(['', 'www.', 'api.'])}{F.nonsense(rng)}.example{rng.choice(['.com', '.org', ''])}{rng.choice(['', '/', '/' + rng.choice(F.STEMS), '/' + F.path(rng).strip('./~')])}"
        return v, v
    if kind == "currency": v = rng.choice(F.CURRENCY); return v, v
    if kind == "language": v = rng.choice(F.LANGS); return v, v
    if kind == "strings":
        src = rng.choice(["fruits", "first_names", "nouns", "colors", "vegetables", "adjectives", "animals", "herbs"])
        v = list(dict.fromkeys(pick(rng, src, split) for _ in range(rng.randint(1, 4))))
        return v, F.join_list(rng, v)
    if kind == "ints":
        v = [rng.randint(-9, 99) if rng.random() < .8 else rng.randint(100, 9999) for _ in range(rng.randint(2, 5))]
        return v, rng.choice([F.join_list(rng, v), str(v)])
    if kind == "dict":
        keys = rng.sample(sorted(set(DICT_KEYS)), rng.randint(1, 3))
        v = {k: rng.choice([rng.randint(0, 99), pick(rng, "adjectives", split), rng.random() < .5, pick(rng, "nouns", split), round(rng.uniform(0, 5), 1)]) for k in keys}
        if rng.random() < .12: v[rng.choice(["inner", "more"])] = {rng.choice(DICT_KEYS): rng.randint(0, 9), "list": [rng.randint(0, 9), rng.randint(0, 9)]}
        if rng.random() < .4 or "list" in str(v): return v, json.dumps(v)
        return v, F.join_list(rng, [f"{k} {str(x).lower() if isinstance(x, bool) else x}" for k, x in v.items()])
    if kind == "query":
        v = rng.choice([f"{pick(rng, 'adjectives', split)} {pick(rng, 'nouns', split)}", pick(rng, "nouns", split), pick(rng, "occupations", split),
                        pick(rng, "music_genres", split), rng.choice(F.pool(F.NASTY, split)), f"{pick(rng, 'nouns', split)} in {F.city(rng, split)}", rng.choice(F.pool(F.TOPICS, split))])
        return v, None
    if kind == "command": v = rng.choice(F.pool(F.CMDS, split)); return v, None
    if kind == "code": v = rng.choice(F.pool(F.CODE, split)); return v, v
    raise KeyError(kind)


TYPES = dict(minutes="integer", count="integer", int="integer", float="number", bool="boolean", strings="array", ints="array", dict="object")

# --- domains: verbs (name | said), objects, argument kinds ----------------------------------------------------
D = [
    ("create|make;schedule|schedule;book|book;add|add;plan|plan;set_up|set up", "meeting;appointment;event;call;calendar_entry;session;interview;lesson", "title date time person minutes city strings bool"),
    ("set|set;create|create;add|add;start|start", "alarm;timer;reminder;countdown;wake_up_call", "time date title minutes bool text"),
    ("get|get;fetch|get;check|check;look_up|look up;show|show me", "weather;forecast;air_quality;temperature;pollen_report;tide_table;snow_report;wind_speed", "city country date enum count"),
    ("send|send;write|write;post|post;deliver|send", "message;email;text_message;letter;reply;notification;memo;postcard", "person text title email bool time"),
    ("search|search;find|find;look_up|look up;query|search", "web;library;archive;products;recipes;articles;songs;flights;hotels;books;papers", "query count enum bool date"),
    ("convert|convert;exchange|exchange;change|convert", "currency;money;amount;funds", "float currency date"),
    ("convert|convert;transform|transform;calculate|work out", "temperature;length;weight_value;area;volume", "float enum"),
    ("translate|translate;render|translate;localize|translate", "text;sentence;phrase;document;subtitle", "text language enum path"),
    ("read|read;open|open;show|show;load|load;print|print", "file;document;log;page;config;report", "path int count bool"),
    ("write|write;save|save;create|create;overwrite|overwrite", "file;document;script;note_file;page", "path code bool"),
    ("edit|edit;replace|replace text in;patch|patch;change|change", "file;document;source_file;script", "path title text bool"),
    ("run|run;execute|execute;launch|launch;exec|run", "command;shell_command;job;task_line", "command minutes path bool"),
    ("delete|delete;remove|remove;erase|erase;drop|drop", "file;record;entry;ticket;user;photo;branch;backup;row", "path id bool"),
    ("list|list;show|show;enumerate|list", "files;orders;users;tickets;rooms;invoices;branches;sensors;devices;books", "path enum count bool date person"),
    ("play|play;queue|queue;stream|stream;start|start", "song;album;playlist;podcast;radio_station;video;audiobook", "title person enum int bool"),
    ("turn_on|turn on;switch|switch;set|set;dim|dim;adjust|adjust", "light;lamp;heater;fan;thermostat;blinds;oven;sprinkler;radio", "enum float int item minutes bool"),
    ("order|order;buy|buy;purchase|buy;reserve|reserve", "food;item;groceries;ticket;pizza;supplies;flowers;spare_part", "item count enum person date text bool"),
    ("book|book;reserve|reserve;find|find;cancel|cancel", "hotel;flight;table;train;room;taxi;car;ferry;cabin", "city date time count person enum id"),
    ("track|track;check|check;locate|locate;get_status|check the status of", "order;package;parcel;shipment;delivery;flight_status;refund;ticket", "id person email bool"),
    ("compute|compute;calculate|calculate;evaluate|work out;get|get", "sum;average;median;maximum;variance;total;statistics;product", "ints enum int bool"),
    ("calculate|calculate;estimate|estimate;compute|compute", "loan;tip;tax;interest;distance;bmi;route;area;discount;fuel_cost", "float int city enum minutes"),
    ("create|create;open|open;file|file;report|report", "ticket;issue;bug;case;incident;complaint;request", "title text enum person strings int"),
    ("update|update;change|change;modify|modify;set|set", "record;profile;order;price;status;address;account;stock_level;setting", "id enum float text person dict"),
    ("add|add;put|put;insert|insert;append|add", "item_to_list;contact;task;tag;row;bookmark;ingredient;member;expense", "item person strings float email title"),
    ("get|get;fetch|fetch;download|download;open|open", "page;url;feed;dataset;image;document;archive", "url path minutes dict enum"),
    ("assign|assign;give|give;delegate|delegate;move|move", "task;ticket;shift;desk;locker;case;role", "person id date enum title"),
    ("roll|roll;draw|draw;generate|generate;pick|pick", "dice;cards;random_numbers;password;colors;names;uuid", "count int enum bool"),
    ("measure|measure;read|read;sample|sample;monitor|monitor", "sensor;pressure;humidity;voltage;water_level;cpu_load;heart_rate", "id minutes enum int city"),
    ("plant|plant;water|water;harvest|harvest;trim|trim", "tomatoes;roses;tree;lawn;herbs;garden_bed;hedge", "int minutes date enum float item"),
    ("move|move;rotate|rotate;drive|drive;steer|steer", "robot;drone;arm;camera;boat;rover;turtle", "enum float int float bool"),
    ("resize|resize;crop|crop;rotate|rotate;compress|compress", "image;photo;picture;video_clip;icon;scan", "path int float enum"),
    ("merge|merge;split|split;sort|sort;filter|filter", "table;list;pdf;spreadsheet;log_file;csv_file", "path strings enum int bool"),
    ("deploy|deploy;restart|restart;stop|stop;scale|scale", "service;server;container;app;database;cluster;website", "item count enum bool minutes"),
    ("grade|grade;review|review;rate|rate;score|rate", "essay;film;restaurant;recipe;exam;book;driver", "title float text person enum"),
    ("lock|lock;unlock|unlock;open|open;close|close", "door;gate;garage;safe;window;car;locker", "id enum time bool item"),
    ("brew|brew;cook|cook;bake|bake;mix|mix", "coffee;tea;bread;soup;cake;smoothie;sauce", "enum minutes float count strings bool"),
    ("subscribe|subscribe to;join|join;register|register for;enroll|sign up for", "newsletter;course;club;webinar;contest;gym;workshop", "email person date enum title"),
    ("define|define;explain|explain;look_up|look up;describe|describe", "word;term;acronym;symbol;error_code;plant_name", "query language bool enum"),
    ("transfer|transfer;pay|pay;refund|refund;withdraw|withdraw", "money;invoice;deposit;bill;payment;salary", "float currency person id text date"),
    ("analyze|analyze;summarize|summarize;classify|classify;extract|extract data from", "text;document;review;image;recording;logs;survey", "path text count enum language"),
]
HELD_DOMAINS = [
    ("hire|hire;rent|rent;borrow|borrow;lend|lend", "bicycle;tent;projector;kayak;drill;costume", "item date count person float bool"),
    ("paint|paint;repair|repair;inspect|inspect;polish|polish", "fence;bridge;wall;engine;roof;statue", "enum date int person text float"),
    ("vote|vote on;propose|propose;approve|approve;reject|reject", "motion;budget;amendment;candidate;logo_draft", "id text person bool enum"),
    ("launch|launch;dock|dock;refuel|refuel;scan|scan", "satellite;probe;ship;asteroid;shuttle", "id float time enum strings"),
    ("tune|tune;record|record;transpose|transpose;mute|mute", "guitar;track;choir;microphone;melody", "enum float title minutes int bool"),
]

ASK_WRAP = ["{}", "{}", "{}", "Please {}", "Can you {}?", "Could you {}?", "I need you to {}", "I want to {}", "I'd like to {}", "Hey, {}", "Would you {}, please?",
            "please {}", "can you {}", "{} please", "{} for me", "Go ahead and {}", "Let's {}", "We need to {}", "Now {}", "Help me {}", "Hi! Please {}",
            "My boss wants me to {}", "Quick one: {}", "{}, thanks", "Next, {}", "Try to {}", "I have to {}", "It would be great if you could {}",
            "Mind if I ask you to {}?", "Okay, {}", "So, {}", "Time to {}", "You should {}", "First {}", "Just {}", "Would you mind helping me {}?",
            "If you can, {}", "As a next step, {}", "{} when you have a moment", "{} right away", "{}, it's urgent", "This is important: {}", "One more thing: {}", "I wonder if you could {}",
            "Is it possible to {}?", "Kindly {}", "{}, will you?", "For me, {}", "{} and tell me what happens", "{} if possible", "We should {}", "I'm asking you to {}", "Task: {}", "Your job: {}",
            "Here is what I need: {}", "My request is to {}", "{} at once", "Before lunch, {}", "Somebody asked me to {}", "{}, please and thank you", "Do this: {}", "Listen, {}", "Do it now: {}"]
FRAG_EVAL = ["{w} should be {v}", "take {v} for {w}"]
ASK_WRAP_EVAL = ["Be so kind and {}", "{} as soon as you can", "Do me a favour and {}", "I was hoping you could {}", "For today: {}"]
# training only: free combinations of an opening, a frame and an ending
LEADS = ["Hey, ", "Hi, ", "Hello! ", "Ok so ", "Alright: ", "Right, ", "Good morning! ", "Dear assistant, ", "Since I'm busy, ", "While I'm out, ", "On my behalf, ", "Quickly: ", "Note this: ", "New job: ",
         "Okay then, ", "As discussed, ", "As promised, ", "Once more: ", "To begin with, ", "For the team: ", "For our project: ", "By the way, ", "Sorry to bother you, but ", "Last thing: ", "Item one: ", "Well, ", "Actually, "]
FRAMES = ["{}", "{}", "please {}", "can you {}", "could you {}", "I need to {}", "would you kindly {}", "I'd like you to {}", "the plan is to {}", "it's time to {}", "you may {}", "be a dear and {}", "make sure to {}", "don't forget to {}",
          "remember to {}", "help us {}", "we want to {}", "I hope you can {}", "would it be okay to {}", "do us a service and {}", "my task for you is to {}", "your next step: {}", "what I want is to {}", "someone must {}", "feel free to {}",
          "it would help me if you {}", "are you able to {}", "I'd be glad if you {}", "I was told to {}", "I was thinking we {}", "could we {}", "you can {}", "I expect you to {}", "try and {}", "how about you {}"]
TAILS = ["", "", "", " if you don't mind", " without delay", " asap", " and report back", ", cheers", ", thank you", " when you get the chance", " for us", ", okay", ", that's all", " - it matters", " quickly", " as we agreed"]
ART = ["a", "the", "the", "my", "", "a new", "our", "this"]

SYS = ["", "", "", "", "You are a helpful assistant.", "You are Spark, a small demo model inside Molten.", "Use the tools when they help.", "Be brief.",
       "You can call functions. If none fits, say so.", "You are an assistant with access to tools.", "Answer in one sentence when no tool is needed.",
       "You are a coding agent. Use the tools to work on files.", "Ask if something required is missing.", "Call functions when needed.", "Help the user with the functions below."]


def camel(s):
    p = s.split("_")
    return p[0] + "".join(x.title() for x in p[1:])


def words(s):
    return s.replace("_", " ").replace(".", " ")


def make_tool(rng, split, domain=None, held=False):
    """A random tool: JSON schema plus what is needed to talk about it."""
    if not held and domain is None and rng.random() < .4:
        return curated.make_tool(rng, G, split)
    domains = HELD_DOMAINS if held else D
    d = domain if domain is not None else rng.randrange(len(domains))
    verbs, objects, kinds = domains[d]
    free = not held and rng.random() < .22                     # verbs, objects and arguments of different domains
    if free:
        objects = rng.choice(D)[1]
        kinds = " ".join(rng.sample(sorted(A), rng.randint(2, 6)))
    v, said = rng.choice(verbs.split(";")).split("|")
    o = rng.choice(objects.split(";"))
    kinds = list(dict.fromkeys(kinds.split()))
    rng.shuffle(kinds)
    n = min(len(kinds), rng.choice([1, 1, 2, 2, 2, 3, 3, 4, 5]))
    style = rng.random()
    name = f"{v}_{o}"
    if style < .12: name = f"{o}_{v}"
    elif style < .2: name = f"{F.nonsense(rng)}_{o}"
    elif style < .27: name = F.nonsense(rng, 2, 4)
    elif style < .33: name = f"{v}_{F.nonsense(rng)}"
    elif style < .38: name = f"{v}_{o}_{rng.choice(['v2', 'now', 'by_id', 'tool', 'api', 'info', 'x'])}"
    elif style < .44: name = o
    elif style < .49 and len(v) > 3: name = v
    if rng.random() < .16: name = camel(name)
    elif rng.random() < .05: name = name.replace("_", ".", 1)
    params, used = {}, set()
    for k in kinds[:n]:
        names = [x for x in A[k]["names"] if x not in used]
        an = rng.choice(names) if names and rng.random() < .88 else F.nonsense(rng)
        if rng.random() < .07: an = camel(an + "_" + rng.choice(["name", "value", "arg", "input"]))
        elif rng.random() < .08: an = f"{an}_{rng.choice(['value', 'arg', 'x', 'in', 'field', 'param'])}"
        if an in used: continue
        used.add(an)
        s = {"type": TYPES.get(k, "string")}
        if s["type"] == "array": s["items"] = {"type": "integer" if k == "ints" else "string"}
        if k == "enum":
            s["enum"] = list(rng.choice(ENUMS)); rng.shuffle(s["enum"])
        if rng.random() < .8: s["description"] = rng.choice(A[k]["descs"])
        if k in ("count", "minutes") and rng.random() < .15: s["default"] = rng.choice([1, 5, 10, 20])
        params[an] = dict(kind=k, schema=s)
    required = [a for a, p in params.items() if p["kind"] != "bool" and rng.random() < .75]
    if rng.random() < .7: rng.shuffle(required)
    obj, vs = words(o), words(said)
    desc = rng.choice([f"{vs.capitalize()} {obj}", f"{vs.capitalize()} a {obj}.", f"{words(v).capitalize()} the {obj}", f"Use this to {vs} a {obj}",
                       f"{vs.capitalize()} {obj} and return the result.", f"Can {vs} {obj}", f"{obj.capitalize()}: {vs}", f"Function to {vs} the {obj}"])
    params_schema = {"type": "object", "properties": {a: p["schema"] for a, p in params.items()}}
    if required or rng.random() < .8: params_schema["required"] = required
    f = {"name": name, "description": desc, "parameters": params_schema}
    return dict(schema=f, name=name, domain=(held, -1 if free else d), verb=said, v=v, obj=o, params=params, required=required)


def wrap_tools(rng, tools):
    return [{"type": "function", "function": t["schema"]} for t in tools] if rng.random() < .4 else [t["schema"] for t in tools]


def fragment(rng, a, p, value, spoken, split):
    k, w = p["kind"], words(a)
    if k not in A: return rng.choice([f"{w} {spoken}", f"with {w} {spoken}", f"{w}: {spoken}"])
    if k == "bool":
        return rng.choice([f"with {w} on", f"{w}: yes", f"and make it {w}", f"with {w} set to true", f"{w} enabled", f"turn {w} on"] if value else
                          [f"with {w} off", f"{w}: no", f"not {w}", f"with {w} set to false", f"without {w}", f"{w} disabled"])
    quoted = F.q(rng, value) if spoken is None else F.q(rng, str(spoken)) if isinstance(value, str) else str(spoken)
    plain = value if spoken is None else spoken
    if isinstance(value, str) and any(x in value for x in " ,'\"[(") and spoken is None:
        plain = quoted
    frags = A[k]["frags"]
    r = rng.random()
    if r < .62: f = rng.choice(frags)
    elif split == "eval" and r < .85: f = rng.choice(FRAG_EVAL)
    elif split == "eval" or r < .8: f = rng.choice(["{w} {v}", "{w}: {v}", "{w} = {v}", "with {w} {v}", "set {w} to {v}", "use {v} as the {w}", "and {v} as {w}", "the {w} is {v}"])
    else: f = rng.choice(["let {w} be {v}", "{w} must be {v}", "choose {v} as {w}", "put {v} as {w}", "{v} as the {w}", "having {w} {v}", "where {w} is {v}", "{w} equals {v}", "{w} of {v}", "make {w} {v}", "go with {v} for {w}",
                          "pick {v} as the {w}", "for {w} I want {v}", "{w} -> {v}", "({w} {v})", "{w} being {v}", "my {w} is {v}", "enter {v} under {w}", "{w} needs to be {v}", "{v} for {w}", "{w} has to be {v}", "whose {w} is {v}"])
    if k == "code" and "\n" in str(plain) and "\n{v}" not in f: f = rng.choice(A["code"]["frags"])
    return f.replace("{w}", w).replace("{v}", str(plain)).replace("{q}", quoted)


def make_query(rng, tool, split, skip=()):
    """(sentence without wrapper, arguments): what is said decides what must be called."""
    if "says" in tool and not skip:
        return curated.make_query(rng, tool, split, G)
    said, arguments, frags = [], {}, []
    for a, p in tool["params"].items():
        if a in skip: continue
        if a not in tool["required"] and rng.random() < .45: continue
        value, spoken = any_sample(rng, p, split)
        arguments[a] = value
        frags.append(fragment(rng, a, p, value, spoken, split))
    # the longest text last, otherwise any order
    order = list(range(len(frags)))
    rng.shuffle(order)
    order.sort(key=lambda i: "\n" in frags[i])
    obj = words(tool["obj"])
    art = rng.choice(ART) if not obj.endswith("s") else rng.choice(["the", "", "my", "some"])
    head = f"{tool['verb']} {art} {obj}".replace("  ", " ")
    r = rng.random()
    fs = [frags[i] for i in order]
    if r < .68: s = " ".join([head] + fs)
    elif r < .8: s = head + rng.choice([", ", ": ", " - "]) + ", ".join(fs) if fs else head
    elif r < .88 and fs and "\n" not in fs[0]: s = f"{head} {fs[0]}" + "".join(f", {x}" for x in fs[1:])
    else: s = f"{head}. " + ". ".join(x[:1].upper() + x[1:] for x in fs) if fs else head
    s = s.replace(" : ", ": ").replace(" :\n", ":\n").replace(" , ", ", ")
    return s, arguments


def any_sample(rng, p, split):
    if p["kind"] in A: return sample(rng, p["kind"], split, p["schema"])
    v, spoken = curated.value(rng, p["kind"], split, G)
    return (spoken if "enum" in p["schema"] else v), spoken


def said_by(rng, tool, s, split):
    """Grammar queries get a polite wrapper, natural wordings are left alone."""
    return s if "says" in tool else wrap(rng, s, split)


def wrap(rng, s, split):
    if split == "train" and rng.random() < .4:
        t = rng.choice(FRAMES).replace("{}", s) if "\n" not in s and ". " not in s else s
        if rng.random() < .4: t = rng.choice(LEADS + [F.sentence(rng, split) + " "] * 8) + t
        if "\n" not in s: t += rng.choice(TAILS)
        if rng.random() < .6: t = t[:1].upper() + t[1:]
        return t + (rng.choice([".", "?", "!"]) if t[-1].isalnum() and rng.random() < .4 else "")
    w = rng.choice(ASK_WRAP_EVAL if split == "eval" else ASK_WRAP)
    if "\n" in s or ". " in s:
        w = rng.choice(["{}", "{}", "Please {}", "please {}"])
    t = w.format(s) if "{}" in w else s
    if rng.random() < .6: t = t[:1].upper() + t[1:]
    if t[-1] not in "?.!\"'`" and "\n" not in t and rng.random() < .45: t += "."
    return t


def order_args(rng, tool, arguments):
    """Arguments follow the order of the schema."""
    return {a: arguments[a] for a in tool["params"] if a in arguments}


def distractors(rng, tool, split, n, held=False):
    out, names, doms = [], {tool["name"]}, {(tool["v"], tool["obj"])}
    while len(out) < n:
        # near misses: the same domain with another verb or object
        same = rng.random() < .35 and tool["domain"][1] >= 0
        t = make_tool(rng, split, domain=tool["domain"][1] if same else None, held=held if same else (held and rng.random() < .3))
        if t["name"] in names or (t["v"], t["obj"]) in doms or t["obj"] == tool["obj"] and t["verb"] == tool["verb"]: continue
        names.add(t["name"]); doms.add((t["v"], t["obj"])); out.append(t)
    return out


RES_KEYS = ["id", "status", "reference", "total", "price", "count", "temperature", "eta", "confirmation", "duration", "size", "score", "balance", "humidity",
            "room", "gate", "seat", "lines", "version", "winner", "owner", "distance_km", "created", "message", "result", "value", "rate", "next", "name", "summary"]


def result_value(rng, key, split):
    if key in ("status",): return rng.choice(["ok", "done", "confirmed", "pending", "created", "queued", "sent", "success", "delivered", "closed"])
    if key in ("id", "reference", "confirmation", "gate", "seat", "room"): return F.ident(rng)
    if key in ("owner", "winner", "name"): return F.person(rng, split)
    if key in ("message", "result", "summary"): return rng.choice([F.sentence(rng, split), pick(rng, "nouns", split), f"{pick(rng, 'adjectives', split)} {pick(rng, 'nouns', split)}", str(rng.randint(1, 999))])
    if key in ("created", "next", "eta"): return rng.choice([F.date(rng)[0], F.clock(rng)[0]])
    if key == "version": return f"{rng.randint(0, 9)}.{rng.randint(0, 20)}.{rng.randint(0, 9)}"
    return rng.choice([rng.randint(0, 200), round(rng.uniform(0, 100), 1), round(rng.uniform(0, 999), 2), rng.randint(100, 99999)])


def tool_result(rng, tool, arguments, split):
    """(content of the tool turn, final sentence that names its facts)."""
    obj, r = words(tool["obj"]), rng.random()
    if "says" in tool and rng.random() < .8:
        made = curated.result(rng, tool, arguments, split, G)
        if made: return made
    if r < .14:
        e = rng.choice(["not found", "timeout", "permission denied", "service unavailable", "invalid date", "no match", "quota exceeded", "file is locked", "unknown user", "connection refused"])
        body = rng.choice([{"error": e}, {"status": "error", "message": e}, {"ok": False, "error": e}])
        return json.dumps(body), rng.choice([f"That did not work: {e}.", f"The {obj} call failed with \"{e}\".", f"Sorry, I got an error: {e}.", f"It failed: {e}. Shall I try again?"])
    if r < .3:
        names = [pick(rng, rng.choice(["nouns", "first_names", "fruits", "animals"]), split) for _ in range(rng.randint(2, 4))]
        names = list(dict.fromkeys(names))
        body = rng.choice([names, {"items": names}, {"results": names, "count": len(names)}, {"found": len(names), "list": names}])
        said = ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]
        return json.dumps(body), rng.choice([f"I found {len(names)}: {said}.", f"Here is what came back: {said}.", f"The results are {said}.", f"There {'are' if len(names) > 1 else 'is'} {len(names)}: {said}."])
    if r < .42:
        v = rng.choice([result_value(rng, rng.choice(RES_KEYS), split)])
        body = v if isinstance(v, str) else json.dumps(v)
        return body, rng.choice([f"The result is {v}.", f"The answer is {v}.", f"It says: {v}", f"I got {v}."]).replace("..", ".").replace("!.", "!").replace("?.", "?")
    keys = rng.sample(RES_KEYS, rng.randint(1, 4))
    if rng.random() < .25: keys[0] = F.nonsense(rng)
    vals = {k: result_value(rng, k, split) for k in keys}
    echo = [(a, x) for a, x in arguments.items() if isinstance(x, (str, int, float)) and not isinstance(x, bool) and len(str(x)) < 30]
    body = dict(vals)
    if echo and rng.random() < .4: body = {echo[0][0]: echo[0][1], **body}
    if rng.random() < .15: body = {"data": body}
    facts = [f"{words(k)} {vals[k]}" if rng.random() < .5 else f"the {words(k)} is {vals[k]}" for k in keys]
    said = facts[0] if len(facts) == 1 else ", ".join(facts[:-1]) + " and " + facts[-1]
    lead = rng.choice(["", "Done: ", f"Here is the {obj}: ", "Done. ", "All set: ", f"The {obj} is ready: ", "Ok, ", "Result: ", f"For {echo[0][1]}: " if echo else ""])
    s = lead + said + "."
    return json.dumps(body), (s[:1].upper() + s[1:]).replace("..", ".").replace("!.", "!").replace("?.", "?")


def no_tool(rng, tools):
    can = [f"{words(t['verb'])} {words(t['obj'])}" for t in tools]
    said = F.join_list(rng, rng.sample(can, min(len(can), 3))) if can else ""
    return rng.choice(["None of my tools can do that.", "I don't have a tool for that.", "Sorry, no tool here fits that request.", "I can't do that with the tools I have.",
                       f"I have no tool for that. I can {said}.", f"None of the tools fits. I can only {said}.", f"That is outside my tools; they let me {said}.",
                       "No available function fits, so I can't do that."])


def ask_back(rng, tool, a):
    p = tool["params"][a]
    w = words(a)
    ask = A.get(p["kind"], {}).get("ask")
    opts = [f"What {w} should I use?", f"Which {w} should I use?", f"What is the {w}?", f"I need the {w} first. What is it?", f"Please tell me the {w}.",
            f"Sure. What {w}?", f"Could you give me the {w}?", f"To {tool['verb']} the {words(tool['obj'])} I still need the {w}."]
    if ask: opts.append(f"{ask} should it be for the {words(tool['obj'])}?" if "should" not in ask else ask + "?")
    if "enum" in p["schema"]: opts.append(f"Which {w}: {F.join_list(rng, p['schema']['enum'])}?")
    return rng.choice(opts)


def conversation(rng, split="train", case=None, held=False, chat=None):
    """One tool conversation: (messages, tools, case, target tool names)."""
    case = case or rng.choices(["one", "result", "none", "ask", "two", "talk"], [28, 13, 16, 21, 18, 4])[0]
    tool = make_tool(rng, split, held=held)
    if case == "ask" and not any(tool["params"][a]["kind"] != "code" for a in tool["required"]):
        case = "one"
    n = rng.choice([0, 1, 1, 2, 2, 3, 4, 5])
    if case == "none": n = max(n, 1)
    others = distractors(rng, tool, split, n, held)
    sys = rng.choice(SYS)
    m = [{"role": "system", "content": sys}] if sys else []
    if case == "talk" and chat:
        tools = [tool] + others
        rng.shuffle(tools)
        if rng.random() < .25:
            names = [t["name"] for t in tools]
            m += [{"role": "user", "content": rng.choice(["What tools do you have?", "Which functions can you call?", "List your tools.", "what can you do with these tools"])},
                  {"role": "assistant", "content": rng.choice(["I can call {}.", "My tools are {}.", "I have {}."]).format(F.join_list(rng, names))}]
        else:
            m += chat(rng)
        return m, wrap_tools(rng, tools), case
    if case == "none":
        tools = others
        if split == "train": tools = [t for t in others if t["obj"] != tool["obj"]] or distractors(rng, tool, split, 1)
        s, _ = make_query(rng, tool, split)
        m += [{"role": "user", "content": said_by(rng, tool, s, split)}, {"role": "assistant", "content": no_tool(rng, tools)}]
        if rng.random() < .3:                                   # then something that does fit
            t = rng.choice(tools)
            s, args = make_query(rng, t, split)
            m += [{"role": "user", "content": said_by(rng, t, s, split)},
                  {"role": "assistant", "content": "", "tool_calls": [call(t["name"], **order_args(rng, t, args))]}]
        rng.shuffle(tools)
        return m, wrap_tools(rng, tools), case
    tools = [tool] + others
    rng.shuffle(tools)
    if case == "ask":
        a = rng.choice([x for x in tool["required"] if tool["params"][x]["kind"] != "code"])
        s, args = make_query(rng, tool, split, skip=(a,))
        m += [{"role": "user", "content": wrap(rng, s, split)}, {"role": "assistant", "content": ask_back(rng, tool, a)}]
        if rng.random() < .75:
            p = tool["params"][a]
            value, spoken = any_sample(rng, p, split)
            plain = F.q(rng, value) if spoken is None else str(spoken)
            args[a] = value
            m += [{"role": "user", "content": rng.choice(["{}", "{}", "{}.", "Use {}", "{} please", "It's {}", "Take {}"]).format(plain)},
                  {"role": "assistant", "content": "", "tool_calls": [call(tool["name"], **order_args(rng, tool, args))]}]
        return m, wrap_tools(rng, tools), case
    if case == "two":
        if others and rng.random() < .6:
            t2 = rng.choice(others)
        else:
            t2 = tool
        s1, a1 = make_query(rng, tool, split)
        s2, a2 = make_query(rng, t2, split)
        if "\n" in s1: s1, s2, a1, a2, first, second = s2, s1, a2, a1, t2, tool
        else: first, second = tool, t2
        if "says" in first:
            s1 = s1.rstrip("?.! ")
        if "says" in second and s2[0].isupper() and s2.split()[0] not in ("I", "I'd", "I'm"): s2 = s2[0].lower() + s2[1:]
        sep = rng.choice([" and ", ", then ", " and also ", ". Then ", ". Also ", " and then ", "; ", ", and ", ". After that "] + ([" followed by: "] if split == "eval" else []))
        m += [{"role": "user", "content": s1 + sep + s2 if "says" in first else wrap(rng, s1 + sep + s2, split)},
              {"role": "assistant", "content": "", "tool_calls": [call(first["name"], **order_args(rng, first, a1)), call(second["name"], **order_args(rng, second, a2))]}]
        if rng.random() < .25:
            r1, f1 = tool_result(rng, first, a1, split)
            r2, f2 = tool_result(rng, second, a2, split)
            m += [{"role": "tool", "content": r1}, {"role": "tool", "content": r2}, {"role": "assistant", "content": f1 + " " + f2}]
        return m, wrap_tools(rng, tools), case
    s, args = make_query(rng, tool, split)
    lead = "" if rng.random() < .93 else rng.choice(["Let me do that. ", "One moment. ", "Sure. "])
    m += [{"role": "user", "content": said_by(rng, tool, s, split)},
          {"role": "assistant", "content": lead, "tool_calls": [call(tool["name"], **order_args(rng, tool, args))]}]
    if case == "result":
        body, final = tool_result(rng, tool, args, split)
        m += [{"role": "tool", "content": body}, {"role": "assistant", "content": final}]
        r = rng.random()
        if r < .35:                                             # another request in the same chat
            t = rng.choice(tools)
            s, args = make_query(rng, t, split)
            m += [{"role": "user", "content": said_by(rng, t, s, split)},
                  {"role": "assistant", "content": "", "tool_calls": [call(t["name"], **order_args(rng, t, args))]}]
        elif r < .45:
            m += [{"role": "user", "content": rng.choice(["Thanks!", "thank you", "Great, thanks.", "Perfect."])},
                  {"role": "assistant", "content": rng.choice(["You're welcome!", "Happy to help.", "Any time!", "Glad that helped."])}]
    return m, wrap_tools(rng, tools), case


# --- public intent sets as tools -------------------------------------------------------------------------------
class Intents:
    """Utterances with slots become calls of per-intent tools (records are read from a file, train part only)."""

    def __init__(self, records):
        self.by, self.slots, self.oos = {}, {}, []
        for r in records:
            if r.get("intent") in ("oos", "out_of_scope"):
                self.oos.append(r); continue
            if any(isinstance(v, list) for v in r["slots"].values()): continue
            self.by.setdefault(r["intent"], []).append(r)
            for s, v in r["slots"].items():
                self.slots.setdefault(r["intent"], {}).setdefault(s, []).append(v)
        self.names = sorted(self.by)

    def tool(self, rng, intent):
        n = "".join("_" + c.lower() if c.isupper() else c for c in intent).strip("_").replace(" ", "_")
        name = n if rng.random() < .5 else rng.choice([camel(n), "do_" + n, n + "_tool", f"{F.nonsense(rng)}_{n.split('_')[-1]}"])
        slots = sorted(self.slots.get(intent, {}))
        rename = {s: s if rng.random() < .7 else rng.choice([camel(s), s + "_value", s.split("_")[-1], "the_" + s]) for s in slots}
        if len(set(rename.values())) != len(slots): rename = {s: s for s in slots}
        props = {rename[s]: {"type": "string", **({"description": words(s).capitalize()} if rng.random() < .7 else {})} for s in slots}
        f = {"name": name, "description": words(n).capitalize(), "parameters": {"type": "object", "properties": props, "required": []}}
        return dict(schema=f, name=name, rename=rename, slots=slots, intent=intent)

    def conversation(self, rng):
        if self.oos and rng.random() < .22:
            r, target = rng.choice(self.oos), None
        else:
            intent = rng.choice(self.names)
            r = rng.choice(self.by[intent])
            target = self.tool(rng, intent)
        tools = [target] if target else []
        for i in rng.sample(self.names, rng.randint(1, 4)):
            if target and (i == target["intent"] or i.split("_")[0] == target["intent"].split("_")[0]): continue
            if target is None or True: tools.append(self.tool(rng, i))
        if target and rng.random() < .3 and len(tools) > 1:
            tools.remove(target); target = None
        if len({t["name"] for t in tools}) != len(tools): return None
        rng.shuffle(tools)
        m = [{"role": "user", "content": r["text"]}]
        if target:
            args = {target["rename"][s]: r["slots"][s] for s in target["slots"] if s in r["slots"]}
            m.append({"role": "assistant", "content": "", "tool_calls": [call(target["name"], **args)]})
        else:
            m.append({"role": "assistant", "content": rng.choice(["None of my tools can do that.", "I don't have a tool for that.", "Sorry, no tool here fits that request.", "I can't do that with the tools I have."])})
        return m, wrap_tools(rng, tools), "intent"


def checked(rng, split="train", **kw):
    while True:
        m, tools, case = conversation(rng, split, **kw)
        try:
            check(m, tools)
        except ValueError:
            continue
        return m, tools, case


import sys

G = sys.modules[__name__]
