"""Small talk, small facts and small tasks. Every table here is written for this project; long lists come from fillers."""
import random

import fillers as F
from chat_tables import *
from fillers import LISTS, pick

U, S = "user", "assistant"


def turn(u, a):
    return [{"role": U, "content": u}, {"role": S, "content": a}]


def vary(rng, s):
    """Typing habits: case and end marks."""
    r = rng.random()
    if r < .22: s = s[0].lower() + s[1:]
    if r < .12 or .5 < r < .58: s = s.rstrip("?.!")
    elif .58 < r < .62: s = s.lower()
    elif .62 < r < .66: s = "Hey, " + s[0].lower() + s[1:]
    elif .66 < r < .69: s = "Please tell me: " + s[0].lower() + s[1:]
    elif .69 < r < .71: s = s + " Thanks!"
    elif .71 < r < .74: s = "So, " + s[0].lower() + s[1:]
    elif .74 < r < .80: s = rng.choice(["A question: ", "Here is one: ", "Next: ", "Now this: ", "Well, ", "Okay, ", "Say, ", "Listen: "]) + s[0].lower() + s[1:]
    elif .80 < r < .84 and s[-1] in "?.": s = s[:-1] + rng.choice([", please" + s[-1], " for me" + s[-1], ", do you know?", ", can you say?"])
    return s


def ask(rng, forms, split, more=()):
    """Picks a wording; the last of four or more wordings is kept for evaluation. `more` is for training only."""
    first = forms[0]
    if len(forms) >= 4:
        forms = forms[-1:] if split == "eval" else forms[:-1]
    if split == "train": forms = forms + EXTRA.get(first, []) + list(more)
    s = rng.choice(forms)
    return s if split == "eval" else vary(rng, s)


def table(rng, split, rows):
    q, a = rng.choice(rows)
    return turn(ask(rng, q, split), rng.choice(a))


def num(rng, n):
    return F.WORDS_NUM[n] if 0 <= n <= 12 and rng.random() < .12 else str(n)


def arithmetic(rng, split):
    op = rng.choice("++--**/%cdhsa")
    while True:
        if op in "+-":
            a, b = rng.randint(0, 99), rng.randint(0, 99)
            if rng.random() < .4: a, b = a % 20, b % 20
        elif op == "*": a, b = rng.randint(0, 12), rng.randint(0, 12)
        elif op == "/":
            b = rng.randint(1, 12); a = b * rng.randint(0, 12)
        else: a, b = rng.randint(1, 99), rng.randint(1, 99)
        if (a * 131 + b) % 10 == 0 if split == "eval" else (a * 131 + b) % 10 != 0: break
    x, y = num(rng, a), num(rng, b)
    if op in "+-*/":
        r = {"+": a + b, "-": a - b, "*": a * b, "/": a // max(b, 1)}[op]
        w = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}[op]
        s = {"*": rng.choice(["*", "x"])}.get(op, op)
        q = rng.choice([f"What is {x} {w} {y}?", f"{a} {s} {b}", f"{a}{s}{b} = ?", f"How much is {a} {s} {b}?", f"Calculate {a} {s} {b}.", f"Can you compute {x} {w} {y}?", f"{x} {w} {y}"])
        return turn(q, rng.choice([f"{a} {s} {b} = {r}.", f"{r}.", f"That is {r}.", f"{x.capitalize()} {w} {y} is {r}.", f"The answer is {r}."]))
    if op == "%":
        return turn(ask(rng, [f"Is {a} even or odd?", f"Is {a} an odd number?", f"Tell me whether {a} is even.", f"Would you call {a} even or odd?"], split, [f"{a}: even or odd?", f"Even or odd: {a}?", f"Is the number {a} even?", f"Is {a} odd or even?", f"What is {a}, even or odd?"]), f"{a} is {'even' if a % 2 == 0 else 'odd'}.")
    if op == "c":
        r = "equal to" if a == b else "larger than" if a > b else "smaller than"
        return turn(ask(rng, [f"Which is larger, {a} or {b}?", f"Is {a} bigger than {b}?", f"Compare {a} and {b}.", f"What's more: {a} or {b}?"], split, [f"{a} or {b}, which is bigger?", f"Which number is greater: {a} or {b}?", f"What is larger, {a} or {b}?", f"Is {a} more than {b}?", f"Bigger: {a} or {b}?"]), f"{a} is {r} {b}.")
    if op == "d": return turn(ask(rng, [f"What is double {a}?", f"Double {a}.", f"Twice {a}?", f"What's {a} doubled?"], split, [f"{a} doubled is?", f"Please double {a}", f"Two times {a}?", f"What do I get when I double {a}?", f"Give me twice {a}."]), f"Double {a} is {2 * a}.")
    if op == "h": return turn(ask(rng, [f"What is half of {2 * a}?", f"Half of {2 * a}?", f"Halve {2 * a}.", f"What's {2 * a} cut in half?"], split, [f"{2 * a} halved?", f"Please halve {2 * a}", f"Cut {2 * a} in two.", f"Divide {2 * a} by two.", f"How much is half of {2 * a}?"]), f"Half of {2 * a} is {a}.")
    if op == "s": return turn(ask(rng, [f"What is {a % 13} squared?", f"Square of {a % 13}?", f"Square {a % 13}.", f"What do I get if I square {a % 13}?"], split, [f"{a % 13} squared?", f"{a % 13} to the power of two?", f"What is the square of {a % 13}?", f"What do you get when squaring {a % 13}?", f"Give me {a % 13} squared."]), f"{a % 13} squared is {(a % 13) ** 2}.")
    n = rng.randint(2, 5)
    xs = [rng.randint(0, 30) for _ in range(n)]
    t = ", ".join(map(str, xs))
    k = rng.choice(["sum", "largest", "smallest", "sorted", "count"])
    r = {"sum": f"{' + '.join(map(str, xs))} = {sum(xs)}.", "largest": f"The largest is {max(xs)}.", "smallest": f"The smallest is {min(xs)}.",
         "sorted": ", ".join(map(str, sorted(xs))) + ".", "count": f"There are {n} numbers."}[k]
    q = {"sum": f"Add up {t}.", "largest": f"What is the largest of {t}?", "smallest": f"Which is the smallest: {t}?", "sorted": f"Sort these numbers: {t}.", "count": f"How many numbers are these: {t}?"}[k]
    return turn(q, r)


def units(rng, split):
    big, small, k = rng.choice(UNITS)
    n = rng.randint(1, 12)
    if rng.random() < .65:
        return turn(ask(rng, [f"How many {small} are in {n} {big}?", f"Convert {n} {big} to {small}.", f"{n} {big} in {small}?", f"What is {n} {big} in {small}?"], split, [f"{n} {big} are how many {small}?", f"How many {small} make {n} {big}?", f"Tell me {n} {big} in {small}.", f"Express {n} {big} in {small}."]),
                    rng.choice([f"{n} {big} {'are' if n > 1 else 'is'} {n * k} {small}.", f"{n} {big} = {n * k} {small}."]))
    return turn(ask(rng, [f"How many {big} are {n * k} {small}?", f"Convert {n * k} {small} to {big}.", f"{n * k} {small} in {big}?", f"What is {n * k} {small} in {big}?"], split, [f"{n * k} {small} are how many {big}?", f"Tell me {n * k} {small} in {big}.", f"Express {n * k} {small} in {big}.", f"How many {big} make {n * k} {small}?"]), f"{n * k} {small} are {n} {big}.")


def capitals(rng, split):
    rows = [r for r in LISTS["country_capitals"] if r["capital"].isascii() and r["country"].isascii()]
    r = rng.choice(rows)
    c, k = r["country"], r["capital"]
    if rng.random() < .75:
        return turn(ask(rng, [f"What is the capital of {c}?", f"Capital of {c}?", f"Which city is the capital of {c}?", f"Name the capital of {c}.", f"Do you know what {c}'s capital is?"], split, [f"What is {c}'s capital?", f"{c}: what is its capital?", f"Which is the capital city of {c}?", f"Tell me the capital of {c}.", f"The capital of {c} is?", f"What city is {c}'s capital?", f"Do you know the capital of {c}?"]),
                    rng.choice([f"The capital of {c} is {k}.", f"{k} is the capital of {c}."]))
    return turn(ask(rng, [f"Which country has {k} as its capital?", f"{k} is the capital of which country?", f"What country is {k} the capital of?", f"{k} is a capital: of which country?"], split, [f"{k}: capital of which country?", f"{k} is the capital of what?", f"Whose capital is {k}?"]), f"{k} is the capital of {c}.")


def elements(rng, split):
    r = rng.choice(LISTS["element_symbols"][:92])
    k = rng.random()
    if k < .4: return turn(ask(rng, [f"What is the chemical symbol of {r['name'].lower()}?", f"Symbol for {r['name'].lower()}?", f"Which symbol does {r['name'].lower()} have?", f"What letters stand for {r['name'].lower()}?", f"Write {r['name'].lower()} as a symbol.", f"How is {r['name'].lower()} written in chemistry?"], split, [f"What is the symbol of {r['name'].lower()}?", f"How do chemists write {r['name'].lower()}?", f"{r['name']}: symbol?", f"In chemistry, what is the sign for {r['name'].lower()}?", f"Chemical sign of {r['name'].lower()}?"]), f"The symbol of {r['name'].lower()} is {r['symbol']}.")
    if k < .7: return turn(ask(rng, [f"Which element has the symbol {r['symbol']}?", f"What does {r['symbol']} stand for in the periodic table?", f"What element is {r['symbol']}?", f"{r['symbol']} stands for which element?", f"Name the element {r['symbol']}.", f"{r['symbol']} is the symbol of what?"], split, [f"{r['symbol']} is which element?", f"What is {r['symbol']} the symbol for?", f"{r['symbol']}: which element is that?", f"The symbol {r['symbol']} belongs to which element?"]), f"{r['symbol']} is {r['name'].lower()}.")
    return turn(ask(rng, [f"What is the atomic number of {r['name'].lower()}?", f"Atomic number of {r['name'].lower()}?", f"Which number does {r['name'].lower()} have in the periodic table?", f"Number of protons in {r['name'].lower()}?", f"The number of {r['name'].lower()} in the periodic table?", f"How many protons does {r['name'].lower()} have?"], split, [f"How many protons are in {r['name'].lower()}?", f"What number is {r['name'].lower()}?", f"Protons of {r['name'].lower()}?", f"Give me the atomic number of {r['name'].lower()}."]), f"{r['name']} has atomic number {r['number']}.")


_defs = None


def definitions(rng, split):
    global _defs
    if _defs is None: _defs = LISTS.get("_definitions") or [["tree", "noun", "a tall plant with a trunk", ""]]
    w, pos, gloss, ex = rng.choice(_defs)
    a = "an" if w[0] in "aeiou" else "a"
    q = ask(rng, [f"What does {w} mean?", f"Define {w}.", f"What is the meaning of {w}?", f"Explain the word {w}.", f"What is {a} {w}?" if pos == "noun" else f"Meaning of {w}?", f"What is meant by {w}?", f"Give me a definition of {w}.", f"Do you know the word {w}?", f"{w}: what does it mean?", f"Could you define the word \"{w}\"?"], split, [f"Define the word {w}.", f"What's the definition of {w}?", f"Tell me what {w} means.", f"I don't know the word {w}. What does it mean?", f"Please define \"{w}\" for me.", f"Definition of \"{w}\"?", f"How would you define {w}?"])
    g = gloss.split(";")[0].strip()
    return turn(q, (f"{w.capitalize()} ({pos}): {g}." if rng.random() < .7 else f"As a {pos}, {w} means: {g}.") + (f" Example: {ex}." if ex and rng.random() < .3 else ""))


def lists(rng, split):
    key, plural = rng.choice(LIST_NAMES)
    n = rng.randint(2, 6)
    xs = list(dict.fromkeys(rng.choice(_short(key)) for _ in range(n * 3)))[:n]
    n = len(xs)
    q = ask(rng, [f"Name {num(rng, n)} {plural}.", f"List {num(rng, n)} {plural}.", f"Give me {num(rng, n)} {plural}.", f"Can you name {num(rng, n)} {plural}?", f"Tell me {num(rng, n)} {plural}.", f"{num(rng, n)} {plural} please", f"I want to hear {num(rng, n)} {plural}.", f"Write down {num(rng, n)} {plural}.", f"Which {plural} do you know? Name {num(rng, n)}.", f"I need {num(rng, n)} {plural} as examples."], split, [f"Could you list {n} {plural}?", f"I want {n} {plural}.", f"Examples of {plural}: {n} please", f"Let me have {n} {plural}.", f"Some {plural}? {n} will do.", f"{n} examples of {plural}", f"Think of {n} {plural}."])
    r = rng.random()
    if r < .4: a = ", ".join(xs[:-1]) + " and " + xs[-1] + "."
    elif r < .7: a = "\n".join(f"- {x}" for x in xs)
    else: a = "\n".join(f"{i + 1}. {x}" for i, x in enumerate(xs))
    return turn(q, a[0].upper() + a[1:])


_shorts = {}


def _short(key):
    if key not in _shorts:
        _shorts[key] = [x for x in LISTS[key] if isinstance(x, str) and x.isascii() and len(x) < 18][:60]
    return _shorts[key]


def words_task(rng, split):
    w = pick(rng, rng.choice(["nouns", "animals", "fruits", "adjectives", "common_words"]), split)
    ws = [pick(rng, rng.choice(["nouns", "animals", "fruits", "adjectives", "verbs"]), split) for _ in range(rng.randint(2, 5))]
    ws = [x for x in dict.fromkeys(ws) if " " not in x] or ["tree", "lamp"]
    s = " ".join(ws)
    k = rng.randrange(11)
    if k == 0: return turn(ask(rng, [f"Write {w} in capital letters.", f"Make this uppercase: {w}", f"Uppercase {w}.", f"Change {w} to upper case.", f"{w} in big letters please", f"Shout {w}.", f"Put {w} into all caps."], split, [f"{w} in upper case?", f"Give me {w} in capitals.", f"Capitalise every letter of {w}.", f"Say {w} in capitals."]), w.upper())
    if k == 1: return turn(ask(rng, [f"Spell {w}.", f"How do you spell {w}?", f"Spell the word {w} letter by letter.", f"Give me the letters of {w}."], split, [f"Spelling of {w}?", f"Which letters are in {w}?", f"What letters make up {w}?", f"List the letters of {w}.", f"Letters of {w}, one by one"]), "-".join(w.replace(" ", "")))
    if k == 2: return turn(ask(rng, [f"How many words are in \"{s}\"?", f"Count the words: {s}", f"Word count of \"{s}\"?", f"How many words does \"{s}\" have?"], split, [f"Number of words in \"{s}\"?", f"\"{s}\": how many words?", f"Please count the words in \"{s}\".", f"How many words does this have: {s}"]), f"There {'are' if len(ws) != 1 else 'is'} {len(ws)} word{'s' if len(ws) != 1 else ''}.")
    if k == 3: return turn(ask(rng, [f"Sort these words: {', '.join(ws)}", f"Put in alphabetical order: {', '.join(ws)}", f"Alphabetical order of {', '.join(ws)}?", f"Order {', '.join(ws)} alphabetically.", f"Put these from A to Z: {', '.join(ws)}", f"Arrange {', '.join(ws)} from A to Z."], split, [f"Sort {', '.join(ws)} from A to Z.", f"{', '.join(ws)} in alphabetical order?", f"Sort alphabetically: {', '.join(ws)}", f"Arrange by alphabet: {', '.join(ws)}"]), ", ".join(sorted(ws, key=str.lower)))
    if k == 4: return turn(ask(rng, [f"Reverse the order of these words: {s}", f"Say these words backwards: {s}", f"Turn the word order around: {s}", f"Give me {s} in reverse order."], split, [f"Reverse: {s}", f"{s}, but backwards", f"Put the words in reverse: {s}", f"Last word first: {s}"]), " ".join(ws[::-1]))
    if k == 5: return turn(ask(rng, [f"Repeat after me: {s}", f"Say \"{s}\".", f"Please repeat: {s}", f"Echo this back: {s}"], split, [f"Repeat: {s}", f"Now say: {s}", f"Copy this: {s}", f"Echo: {s}", f"Write exactly this: {s}", f"Say after me: {s}"]), s)
    if k == 6: return turn(ask(rng, [f"What is the first letter of {w}?", f"First letter of {w}?", f"Which letter does {w} start with?", f"{w} begins with which letter?"], split, [f"Which letter is first in {w}?", f"{w} starts with what letter?", f"How does {w} begin?", f"The first letter of {w} is?"]), f"{w.capitalize()} starts with {w[0].upper()}.")
    if k == 7: return turn(ask(rng, [f"Make a list of these: {', '.join(ws)}", f"Turn this into bullet points: {', '.join(ws)}", f"Bullet list please: {', '.join(ws)}", f"Write {', '.join(ws)} as a bulleted list."], split, [f"Bullets: {', '.join(ws)}", f"List with dashes: {', '.join(ws)}", f"Show {', '.join(ws)} as bullets.", f"Format as a list: {', '.join(ws)}"]), "\n".join("- " + x for x in ws))
    if k == 8:
        a, b = rng.choice(OPPOSITES)
        if rng.random() < .5: a, b = b, a
        return turn(ask(rng, [f"What is the opposite of {a}?", f"Opposite of {a}?", f"Give me an antonym of {a}.", f"Name the contrary of {a}.", f"Which word is the opposite of {a}?", f"Which word means the contrary of {a}?"], split, [f"What's the contrary of {a}?", f"Antonym of {a}?", f"{a} - opposite?", f"The opposite of {a} is?"]), f"The opposite of {a} is {b}.")
    if k == 9:
        a, b = rng.choice(SYNONYMS)
        return turn(ask(rng, [f"Give me a synonym for {a}.", f"What is another word for {a}?", f"Synonym of {a}?", f"Which word means about the same as {a}?"], split, [f"Another word for {a}?", f"What means the same as {a}?", f"{a} - synonym?", f"Say {a} in another word."]), f"Another word for {a} is {b}.")
    a, b = rng.choice(PLURALS)
    return turn(ask(rng, [f"What is the plural of {a}?", f"Plural of {a}?", f"One {a}, two what?", f"How do you say {a} in the plural?"], split, [f"{a}, plural?", f"What do you call more than one {a}?", f"Plural form of {a}?", f"What's the plural of {a}?", f"Make {a} plural."]), f"The plural of {a} is {b}.")


def order(rng, split):
    k = rng.randrange(4)
    if k == 0:
        i = rng.randrange(7); d = F.DAYS
        return turn(ask(rng, [f"Which day comes after {d[i]}?", f"What day is it the day after {d[i]}?", f"What follows {d[i]}?", f"Today is {d[i]}. What day is tomorrow?", f"Tomorrow of {d[i]}?", f"If today is {d[i]}, what is tomorrow?"], split, [f"Today it is {d[i]}. And tomorrow?", f"It is {d[i]} today; which day is tomorrow?", f"The day after {d[i]} is?", f"After {d[i]} comes which day?", f"Which day follows {d[i]}?", f"When today is {d[i]}, tomorrow is?"]), f"{d[(i + 1) % 7]} comes after {d[i]}.")
    if k == 1:
        i = rng.randrange(12); d = F.MONTHS
        return turn(ask(rng, [f"Which month comes after {d[i]}?", f"What month follows {d[i]}?", f"What comes after {d[i]}?", f"It is {d[i]}; which month is next?"], split, [f"The month after {d[i]} is?", f"After {d[i]} comes which month?", f"Now it is {d[i]}. What month comes next?", f"Next month after {d[i]}?", f"{d[i]} is followed by which month?"]), f"{d[(i + 1) % 12]} comes after {d[i]}.")
    if k == 2:
        i = rng.randrange(12); d = F.MONTHS
        n = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][i]
        return turn(ask(rng, [f"How many days does {d[i]} have?", f"Days in {d[i]}?", f"How long is {d[i]}?", f"What is the number of days in {d[i]}?"], split, [f"{d[i]} has how many days?", f"How many days are in {d[i]}?", f"Number of days in {d[i]}?", f"Count of days in {d[i]}?"]), f"{d[i]} has {n} days" + (", or 29 in a leap year." if i == 1 else "."))
    i = rng.randrange(25); a = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return turn(ask(rng, [f"Which letter comes after {a[i]}?", f"Letter after {a[i]}?", f"What follows {a[i]} in the alphabet?", f"The letter after {a[i]} is?", f"Which letter is next after {a[i]}?", f"Next letter of the alphabet after {a[i]}?"], split, [f"What letter follows {a[i]}?", f"After {a[i]} comes which letter?", f"{a[i]}, and then?", f"Alphabet: what is after {a[i]}?", f"The next letter after {a[i]}?"]), f"{a[i + 1]} comes after {a[i]}.")


def languages(rng, split):
    lang = rng.choice(sorted(PHRASES))
    en, x = rng.choice(sorted(PHRASES[lang].items()))
    return turn(ask(rng, [f"How do you say {en} in {lang}?", f"Translate {en} into {lang}.", f"What is {en} in {lang}?", f"{en} in {lang}?", f"What's the {lang} word for {en}?"], split, [f"{lang} for {en}?", f"What is the {lang} word for {en}?", f"Say {en} in {lang}.", f"{en}: in {lang}, please", f"Give me the {lang} for {en}.", f"How would I say {en} in {lang}?"]), rng.choice([f"In {lang}, {en} is \"{x}\".", f"{x}."]))


def memory(rng, split):
    """A fact told in one turn is asked for later, with other talk between."""
    facts = []
    def name():
        n = F.person(rng, split).split()[0]
        return (rng.choice([f"My name is {n}.", f"I'm {n}.", f"Hi, I am {n}.", f"Call me {n}.", f"you can call me {n}", f"This is {n}."]),
                rng.choice([f"Nice to meet you, {n}!", f"Hello {n}!", f"Hi {n}, how can I help?", f"Good to meet you, {n}."]),
                rng.choice(["What is my name?", "Do you remember my name?", "Who am I?", "What's my name again?", "tell me my name"]),
                rng.choice([f"Your name is {n}.", f"You are {n}.", f"You told me your name is {n}."]))
    def number():
        n = rng.randint(0, 9999)
        k = rng.choice(["number", "code", "PIN", "lucky number", "room number", "locker number", "bus number"])
        return (rng.choice([f"Remember the {k} {n}.", f"My {k} is {n}.", f"Please keep this {k} in mind: {n}", f"The {k} is {n}."]),
                rng.choice([f"Okay, I will remember {n}.", f"Got it: {n}.", f"Noted, the {k} is {n}."]),
                rng.choice([f"What was the {k}?", f"Which {k} did I give you?", f"What is the {k}?", f"Do you still know the {k}?"]),
                rng.choice([f"The {k} is {n}.", f"It is {n}.", f"You said {n}."]))
    def like():
        k, src = rng.choice([("color", "colors"), ("fruit", "fruits"), ("animal", "animals"), ("flower", "flowers"), ("sport", "sports"), ("instrument", "instruments"), ("vegetable", "vegetables")])
        v = pick(rng, src, split).lower()
        return (rng.choice([f"My favorite {k} is {v}.", f"I like {v} most of all {k}s.", f"The {k} I love best is {v}.", f"{v.capitalize()} is my favorite {k}."]),
                rng.choice([f"{v.capitalize()} is a nice choice.", "Good to know!", f"I'll remember that: {v}.", f"{v.capitalize()}, noted."]),
                rng.choice([f"What is my favorite {k}?", f"Which {k} do I like best?", f"Do you remember my favorite {k}?"]),
                rng.choice([f"Your favorite {k} is {v}.", f"You told me it is {v}.", f"It's {v}."]))
    def pet():
        p, n = rng.choice(["dog", "cat", "horse", "parrot", "rabbit", "hamster"]), pick(rng, "dog_names", split)
        return (rng.choice([f"I have a {p} called {n}.", f"My {p} is named {n}.", f"My {p}'s name is {n}."]), rng.choice([f"{n} is a lovely name for a {p}.", f"Say hello to {n}!", f"A {p} named {n}, how nice."]),
                rng.choice([f"What is my {p} called?", f"What's the name of my {p}?", f"Who is my {p}?"]), rng.choice([f"Your {p} is called {n}.", f"It's {n}.", f"{n}."]))
    def place():
        c = F.city(rng, split)
        return (rng.choice([f"I live in {c}.", f"I am from {c}.", f"My home is {c}."]), rng.choice([f"{c} sounds nice.", "Thanks for telling me.", f"How do you like {c}?"]),
                rng.choice(["Where do I live?", "Which town did I mention?", "Where am I from?"]), rng.choice([f"You said {c}.", f"{c}.", f"In {c}, you told me."]))
    kinds = rng.sample([name, number, like, pet, place], rng.choice([1, 1, 2, 2, 3]))
    facts = [k() for k in kinds]
    m = []
    for f in facts:
        m += turn(f[0], f[1])
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        m += rng.choice([small_talk, arithmetic, facts_qa, lists, order])(rng, split)
    rng.shuffle(facts)
    for f in facts[:rng.choice([1, 1, len(facts)])]:
        m += turn(f[2], f[3])
    return m


def small_talk(rng, split): return table(rng, split, SMALL_TALK)
def identity(rng, split): return table(rng, split, IDENTITY)
def facts_qa(rng, split):
    q, a = rng.choice(FACTS)
    forms = [q] + [w.format(q[0].lower() + q[1:]) for w in ("Do you know {}", "Can you tell me {}", "Tell me, {}")] if False else [q, q, f"Quick question: {q[0].lower() + q[1:]}", f"I wonder: {q[0].lower() + q[1:]}", f"One thing I'd like to know: {q[0].lower() + q[1:]}"]
    low = q[0].lower() + q[1:]
    more = [x + low for x in ("Tell me: ", "Do you know this: ", "Help me out: ", "My question is: ", "I'm curious: ", "Question: ", "Please answer: ", "I'd love to know: ", "Can you answer this? ", "Something I always wondered: ")]
    return turn(ask(rng, forms, split, more), a)
def advice(rng, split):
    q, a = rng.choice(ADVICE)
    return turn(ask(rng, q, split), a)
def concepts(rng, split):
    t, a = rng.choice(CONCEPTS)
    return turn(ask(rng, [f"What is {t}?", f"Explain {t}.", f"What does {t} mean in programming?", f"Can you explain {t} to me?", f"{t}?", f"In short, what is {t}?"], split), a)
def jokes(rng, split):
    return turn(ask(rng, ["Tell me a joke.", "Do you know a joke?", "Make me laugh.", "Another joke please.", "Say something funny."], split,
                    ["Joke?", "A joke, please.", "Got a joke?", "I want to laugh.", "Can you be funny?", "Tell me something that makes me laugh.", "Know any good jokes?", "Cheer me up with a joke.", "Make me smile.", "Give me a funny line.", "What is your best joke?", "Be funny."]), rng.choice(JOKES))


def unknown(rng, split):
    k = rng.random()
    p, o, c = F.person(rng, split), pick(rng, "occupations", split), pick(rng, "countries", split)
    n = pick(rng, "nouns", split)
    q = rng.choice([f"Who is {p}?", f"Tell me about the history of {c}.", f"What happened in {rng.randint(1200, 2026)}?", f"Who won the {pick(rng, 'sports', split)} final in {rng.randint(1950, 2026)}?",
                    f"Write a long essay about {n}.", f"What is the population of {F.city(rng, split)}?", f"Explain the philosophy of {n}.", f"Who invented the {pick(rng, 'appliances', split)}?",
                    f"How much does a {pick(rng, 'appliances', split)} cost?", f"What is the best {o} in {F.city(rng, split)}?", f"Summarize the latest research on {n}.", f"Prove that {rng.randint(3, 99)} is special.",
                    f"Who was the first {o} in space?", f"What did {p} say yesterday?", f"Give me legal advice about {n}.", f"Which medicine helps against {n}?", f"Predict the price of {n} next year.",
                    f"What's the tallest building in {F.city(rng, split)}?", f"Who is the president of {c}?", f"When was {p} born?", f"Compare the economies of {c} and {pick(rng, 'countries', split)}."])
    return turn(q if split == "eval" else vary(rng, q), rng.choice(UNKNOWN))


def no_access(rng, split):
    q, a = rng.choice(NO_ACCESS)
    return turn(ask(rng, q, split), a)


def story(rng, split):
    a = pick(rng, "animals", split) if rng.random() < .6 else rng.choice("fox mouse owl bear hare goat duck hen frog cat dog crow".split())
    n, place = pick(rng, "first_names", split), rng.choice(PLACES)
    o, fr = pick(rng, rng.choice(["household_objects", "fruits"]), split), rng.choice("owl mouse hen hare bee toad goose mole squirrel robin".split())
    art = "an" if a[0].lower() in "aeiou" else "a"
    s = [rng.choice([f"Once upon a time there was {art} {a} called {n}, who lived in {place}.", f"In {place} lived {art} {a} named {n}.", f"{n} was {art} {a} from {place}."]),
         rng.choice([f"One day {n} lost a {o}.", f"One morning {n} found a strange {o}.", f"One evening {n} heard a noise near the {o}.", f"{n} had always wanted a {o}."]),
         rng.choice([f"A {fr} came by and asked, \"What is the matter?\"", f"So {n} went to ask the wise {fr}.", f"{n} met a {fr} who was looking for a friend."]),
         rng.choice([f"\"Let us look together,\" said the {fr}.", f"The {fr} thought for a while and then smiled.", f"Together they walked until the sun went down."]),
         rng.choice([f"At last they found what they were looking for, and {n} shared it with everyone.", f"In the end {n} learned that asking for help is brave.", f"From that day on {n} and the {fr} were best friends.", f"They laughed, went home and slept well."])]
    if rng.random() < .3: s.pop(rng.randint(1, 3))
    t = rng.choice([f"Tell me a short story about {art} {a}.", f"Write a story about {art} {a} named {n}.", f"A bedtime story with {art} {a}, please.", f"Can you tell a story about {art} {a}?", f"Invent a story with {art} {a}.", f"Tell me a tale about {art} {a}.", f"I would love a story about {art} {a}.",
                    f"A little story about {art} {a} please", f"Make up a story about {art} {a} called {n}.", f"Can I hear a tale of {art} {a}?", f"Story time: {art} {a}!", f"Think of a short tale with {art} {a} in it."]) if split != "eval" else f"Make up a little tale about {art} {a}."
    return turn(t, " ".join(s))


def draft(rng, split):
    p, q = F.person(rng, split).split()[0], F.person(rng, split).split()[0]
    t, d = rng.choice(F.pool(F.TOPICS[:36], split)), rng.choice(F.DAYS)
    k = rng.randrange(3)
    if k == 0: return turn(rng.choice([f"Write a short email to {p} about the {t}.", f"Draft a mail to {p}: {t} on {d}.", f"Help me write an email to {p} about the {t}."]),
                           f"Hi {p},\n\nI am writing about the {t} on {d}. Please let me know if that works for you.\n\nBest regards" if True else "")
    if k == 1: return turn(rng.choice([f"Write a thank-you note to {p} for the {t}.", f"Thank {p} for the {t} in a few words.", f"I need a thank-you message for {p}, about the {t}."]), f"Dear {p},\n\nthank you so much for the {t}. It meant a lot to me.\n\nWarm wishes")
    return turn(rng.choice([f"Invite {p} to the {t} on {d}.", f"Write an invitation to {p} for the {t} on {d}.", f"Make an invitation: {p}, {t}, {d}."]), f"Hi {p},\n\nyou are invited to the {t} on {d}. I hope you can come!\n\nSee you soon")


def context_qa(rng, split):
    """A few sentences, then a question answered from them."""
    ps = [F.person(rng, split).split()[0] for _ in range(3)]
    if len(set(ps)) < 3: return context_qa(rng, split)
    things = [pick(rng, rng.choice(["fruits", "household_objects", "clothes", "instruments"]), split) for _ in range(3)]
    cs = [F.city(rng, split) for _ in range(3)]
    n = [rng.randint(2, 90) for _ in range(3)]
    k = rng.randrange(4)
    if k == 0:
        text = [f"{p} has a {t}." for p, t in zip(ps, things)]; i = rng.randrange(3)
        q, a = (f"Who has the {things[i]}?", f"{ps[i]} has the {things[i]}.") if rng.random() < .5 else (f"What does {ps[i]} have?", f"{ps[i]} has a {things[i]}.")
    elif k == 1:
        text = [f"{p} lives in {c}." for p, c in zip(ps, cs)]; i = rng.randrange(3)
        q, a = (f"Where does {ps[i]} live?", f"{ps[i]} lives in {cs[i]}.") if rng.random() < .6 else (f"Who lives in {cs[i]}?", f"{ps[i]} lives in {cs[i]}.")
    elif k == 2:
        text = [f"{p} is {x} years old." for p, x in zip(ps, n)]; i = rng.randrange(3)
        q, a = f"How old is {ps[i]}?", f"{ps[i]} is {n[i]}."
        if rng.random() < .3 and len(set(n)) == 3:
            j = n.index(max(n)); q, a = "Who is the oldest?", f"{ps[j]} is the oldest."
    else:
        text = [f"The {rng.choice(F.pool(F.TOPICS[:36], split))} is on {rng.choice(F.DAYS)} at {F.clock(rng)[0]}."]
        what, rest = text[0][4:].split(" is on "); day, at = rest.rstrip(".").split(" at ")
        q, a = rng.choice([(f"When is the {what}?", f"The {what} is on {day} at {at}."), (f"Which day is the {what}?", f"It is on {day}."), (f"What time is the {what}?", f"It is at {at}.")])
    rng.shuffle(text)
    t = " ".join(text)
    return turn(rng.choice([f"{t} {q}", f"{t}\n{q}", f"Text: {t}\nQuestion: {q}", f"Read this: {t} {q}"]), a)


MAKERS = [(small_talk, 13), (identity, 11), (facts_qa, 9), (advice, 6), (concepts, 6), (jokes, 3), (arithmetic, 17), (units, 5), (capitals, 7), (elements, 5), (definitions, 4),
          (lists, 6), (words_task, 13), (order, 6), (languages, 5), (memory, 9), (unknown, 6), (no_access, 6), (story, 3), (draft, 3), (context_qa, 7)]
SYSTEMS = ["", "", "", "", "", "You are Spark.", "You are Spark, a small demo model inside Molten.", "You are a helpful assistant.", "Be brief.", "Answer in short sentences.", "You are a friendly assistant."]


def conversation(rng, split="train", maker=None):
    """(messages, maker name)."""
    sys = rng.choice(SYSTEMS)
    m = [{"role": "system", "content": sys}] if sys else []
    fns, ws = zip(*MAKERS)
    first = maker or rng.choices(fns, ws)[0]
    if split == "eval": return m + first(rng, split), first.__name__
    if rng.random() < .12: m += turn(*rng.choice(GREET_PAIRS))
    m += first(rng, split)
    while rng.random() < .42 and len(m) < 9:
        more = rng.choices(fns, ws)[0]
        if more is no_access and len(m) > 2: more = small_talk
        m += more(rng, split)
    if rng.random() < .06: m += turn(*rng.choice(THANK_PAIRS))
    return m, first.__name__
