"""Value makers: every argument kind yields (value, how a person would say it). Held-out fillers are split by hash."""
import gzip, json, os, string, zlib

LISTS = {}


def load_lists(path):
    with (gzip.open(path, "rt") if str(path).endswith(".gz") else open(path)) as f:
        LISTS.update(json.load(f))


def held_out(s):
    return zlib.crc32(str(s).encode()) % 10 == 0


def pool(items, split):
    """One tenth of every filler list is kept for evaluation."""
    out = [x for x in items if held_out(x) == (split == "eval")]
    return out or list(items)


_cache = {}


def pick(rng, name, split):
    k = (name, split)
    if k not in _cache:
        _cache[k] = pool(sorted({x for x in LISTS[name] if isinstance(x, str) and len(x) < 28 and x.isascii()}), split)
    v = rng.choice(_cache[k])
    if split == "train" and rng.random() < .28:                # a word nobody has seen: it can only be copied
        v = splice(rng, _cache[k], v)
    return v


def splice(rng, words, a):
    """A new word in the style of a list: the start of one entry and the end of another; never a held-out filler."""
    b = rng.choice(words)
    v = a[:rng.randint(1, len(a))] + b[rng.randint(0, len(b) - 1):].lower()
    return a if held_out(v) or len(v) > 24 or v != v.strip() or "  " in v else v


def phrase(rng, lo=1, hi=5):
    """Random words for training, so that free text has to be copied and cannot be recalled."""
    ws = [pick(rng, rng.choice(["nouns", "adjectives", "verbs", "common_words", "household_objects"]), "train") for _ in range(rng.randint(lo, hi))]
    if rng.random() < .2: ws.insert(rng.randint(0, len(ws)), rng.choice([str(rng.randint(0, 999)), ident(rng), nonsense(rng, 2, 4), clock(rng)[0]]))
    s = ws[0]
    for w in ws[1:]:
        s += (" " if rng.random() < .8 else rng.choice([", ", " - ", ": ", " & ", "/", "; ", " (", " + ", " = ", "_", "'s "])) + w
    s += ")" * (s.count("(") - s.count(")"))
    r = rng.random()
    if r < .3: s = s[:1].upper() + s[1:]
    elif r < .38: s = s.title()
    r = rng.random()
    if r < .08: s = rng.choice(["[{}]", "\"{}\"", "'{}'", "<{}>", "#{}", "{}()", "{{{}}}", "*{}*"]).replace("{{{}}}", "{%s}" % s).replace("{}", s)
    elif r < .3: s += rng.choice([".", "!", "?", "...", "%"])
    return "a " + s if held_out(s) else s


WORDS_NUM = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
CURRENCY = "USD EUR GBP JPY CHF SEK NOK DKK CAD AUD INR PLN CZK BRL ZAR MXN KRW SGD NZD TRY".split()
LANGS = ("English French German Spanish Italian Dutch Swedish Danish Finnish Polish Czech Greek Turkish Arabic Hindi Japanese "
         "Korean Portuguese Norwegian Hungarian Welsh Swahili Thai").split()
TOPICS = ("budget review,team lunch,release plan,garden party,dentist,piano lesson,project kickoff,weekly sync,birthday dinner,"
          "code review,book club,yoga class,school trip,car service,job interview,bug triage,design workshop,board meeting,"
          "house viewing,parents evening,sales call,customer demo,retro,stand-up,marathon training,flight check-in,tax return,"
          "moving day,choir practice,movie night,roadmap talk,safety drill,press briefing,data cleanup,server upgrade,"
          "holiday planning,science fair,blood donation,chess evening,cooking course,photo shoot,water the plants,pay the rent,"
          "buy milk,call the plumber,return the library books,feed the cat,renew the passport,clean the gutters,fix the bike,"
          "send the invoice,pick up the parcel,order new filters,back up the laptop,update the wiki,write the minutes").split(",")
SENTENCES = ("The meeting moves to {t}.|I will be {n} minutes late.|Please bring the {o}.|Thanks for your help with the {o}!|"
             "Don't forget the {o}.|We're out of {o} again.|See you at {t}, ok?|It's {n} degrees outside.|"
             "The {o} isn't working, can you look?|Happy birthday, {p}!|Running late: start without me.|"
             "Can you send me the {o}?|Ship it.|Everything is fine here.|The build is green again.|"
             "{p} says the {o} is ready.|Let's meet at {t}.|Good news: we sold {n} of them.|I can't come on {d}.|"
             "Call me when you're home.|Draft no. {n} is done.|{p}'s {o} arrived.|We need {n} more {o}s.|"
             "Where did you put the {o}?|Lunch is on me.|Order #{n} has shipped.|Keep the {o} dry & cold.|"
             "Plan [v{n}] is final.|He said: no (really).|Rate {n}% seems ok").split("|")
NASTY = ("O'Brien & Sons|it's \"fine\"|[draft] notes (v2)|a, b; c|C:\\temp\\new|100% \"sure\"|don't @ me|{x} = [1, 2]|x=1, y=2|"
         "he said 'stop'|50/50 [final]|#todo: fix (soon)|path\\to\\file|f(x) = 2*x|<b>bold</b>|\"quoted\"|tab's end|A/B 'test' #3|"
         "r\"\\d+\"|key='value'|let's go!|Q&A: what's next?|[1, 2, 3]|{\"a\": 1}|print('hi')|SELECT * FROM t WHERE a='b'|"
         "if x > 3 { y(); }|$HOME/bin:$PATH|grep -n 'fn main' src/*.rs|\\alpha + \\beta|(un)known|50% off, today only").split("|")
CMDS = ("ls -la|git status|cargo test|cargo build --release|python main.py|make clean|grep -rn 'TODO' src|wc -l *.txt|df -h|"
        "du -sh .|git log --oneline -5|cat notes.txt|head -n 20 data.csv|find . -name '*.rs'|pytest -q|echo \"hello\"|"
        "sed -n '1,9p' lib.rs|ps aux|uname -a|npm test|docker ps|cp a.txt b.txt|mkdir -p out/logs|sort -u names.txt|"
        "tail -f server.log|git diff HEAD~1|cargo fmt --check|cargo clippy|curl -I localhost:8080|kill 4312|python -m json.tool x.json").split("|")
EXT = "txt md rs py json csv toml yaml log html pdf png jpg wav xlsx sql sh js".split()
STEMS = ("main lib notes report data config index readme utils invoice photo backup todo app test summary draft budget chart menu "
         "parser server client model train logo letter plan script results users orders schema cache router lexer tokens state").split()
DIRS = "src docs data tests assets tmp home/ana projects/blog lib config images reports/2025 crates/core app/views scripts var/log".split()
CODE = ("fn main() {\n    println!(\"hi\");\n}|def add(a, b):\n    return a + b|x = [1, 2, 3]\nprint(sum(x))|# Title\n\nFirst line.|"
        "name,age\nAnn,31\nBob,27|let v = vec![1, 2, 3];|for i in range(3):\n    print(i)|milk\neggs\nbread|Dear Sam,\n\nthank you!\n\nBest,\nKim|"
        "{\n  \"debug\": true\n}|[server]\nport = 8080|SELECT name\nFROM users;|use std::fs;\n\nlet s = fs::read_to_string(\"a.txt\")?;|"
        "line one\nline two|if ok:\n    run()\nelse:\n    stop()|struct P { x: i32 }|import os\nprint(os.getcwd())|- one\n- two\n- three|"
        "impl Drop for G {\n    fn drop(&mut self) {}\n}|echo start\n./run.sh|return x * 2|pub mod a;\npub mod b;").split("|")


def number_text(rng, n):
    if isinstance(n, int) and 0 <= n <= 12 and rng.random() < .25:
        return WORDS_NUM[n]
    if n < 0 and rng.random() < .3:
        return f"minus {-n}"
    return str(n)


def join_list(rng, xs):
    xs = [str(x) for x in xs]
    if len(xs) == 1:
        return xs[0]
    return ", ".join(xs[:-1]) + rng.choice([" and ", ", ", ", and ", " and "]) + xs[-1]


def ident(rng):
    a = "".join(rng.choice(string.ascii_uppercase) for _ in range(rng.randint(1, 3)))
    return rng.choice([f"{a}-{rng.randint(10, 99999)}", f"{a}{rng.randint(100, 9999)}", f"{rng.randint(1000, 999999)}",
                       f"{a.lower()}_{rng.randint(1, 999)}", f"#{rng.randint(1, 9999)}",
                       "".join(rng.choice("0123456789abcdef") for _ in range(rng.randint(6, 10)))])


def nonsense(rng, lo=2, hi=3):
    return "".join(rng.choice("bcdfghjklmnprstvwz") + rng.choice("aeiou") + rng.choice(["", "", "n", "r", "x", "l"])
                   for _ in range(rng.randint(lo, hi)))


def person(rng, split):
    n = pick(rng, rng.choice(["first_names", "first_names", "neutral_names"]), split)
    return n if rng.random() < .6 else f"{n} {pick(rng, 'last_names', split)}"


def city(rng, split):
    return pick(rng, rng.choice(["us_cities", "english_towns", "norwegian_cities", "canadian_towns", "english_cities"]), split)


def date(rng):
    y, m, d = rng.randint(2019, 2031), rng.randint(1, 12), rng.randint(1, 28)
    iso = f"{y}-{m:02d}-{d:02d}"
    r = rng.random()
    if r < .35:
        return iso, iso
    if r < .5:
        v = f"{MONTHS[m - 1]} {d}"
    elif r < .62:
        v = f"{d} {MONTHS[m - 1]} {y}"
    elif r < .8:
        v = rng.choice(DAYS)
    else:
        v = rng.choice(["today", "tomorrow", "next week", f"next {rng.choice(DAYS)}", "tonight", "this weekend", "yesterday"])
    return v, v


def clock(rng):
    h, m = rng.randint(0, 23), rng.choice([0, 0, 15, 30, 45, rng.randint(0, 59)])
    v = rng.choice([f"{h:02d}:{m:02d}", f"{h:02d}:{m:02d}", f"{h % 12 or 12}:{m:02d} {'am' if h < 12 else 'pm'}",
                    f"{h % 12 or 12} {'am' if h < 12 else 'pm'}", f"{h % 12 or 12}{'am' if h < 12 else 'pm'}", "noon"])
    return v, v


def sentence(rng, split):
    s = rng.choice(pool(SENTENCES, split))
    if split == "train" and rng.random() < .3: return phrase(rng, 3, 9)
    return (s.replace("{t}", clock(rng)[0]).replace("{n}", str(rng.randint(2, 90))).replace("{o}", pick(rng, "household_objects", split))
            .replace("{p}", person(rng, split)).replace("{d}", rng.choice(DAYS)))


def path(rng):
    f = f"{rng.choice(STEMS)}{rng.choice(['', '', '', '_' + rng.choice(STEMS), str(rng.randint(1, 20)), '-' + nonsense(rng, 1, 2)])}.{rng.choice(EXT)}"
    return f if rng.random() < .35 else rng.choice(["", "", "/", "./", "~/"]) + rng.choice(DIRS) + "/" + f


def q(rng, s):
    """A spoken form of a free text: usually in quotes of a kind the text itself does not hold."""
    marks = [m for m in ('"', "'", "`") if m not in s]
    if not marks or rng.random() < .12:
        return s
    m = marks[0] if rng.random() < .75 else rng.choice(marks)
    return m + s + m
