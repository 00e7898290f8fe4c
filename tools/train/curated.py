"""Everyday tools with the natural wordings people use. Line format:
names | description | arg=kind:names / arg=kind:names | wording ; wording ; ... (the last wordings are held out)."""
import random

RAW = r"""
get_weather weather current_weather weather_lookup getWeather | Get the current weather for a city;Returns the weather in a place;Current weather | city:city location place | What's the weather in {city}?;How is the weather in {city}?;weather in {city};Is it raining in {city}?;Do I need an umbrella in {city}?;Tell me the weather for {city};How warm is it in {city} right now?;what is the weather like in {city} today;check the weather in {city};{city} weather please;Is it cold in {city}?;Will I need a coat in {city}?
get_forecast forecast weather_forecast | Weather forecast for a place and day | city:city location & date:date day when | What will the weather be in {city} {ondate}?;forecast for {city} {ondate};Will it rain in {city} {ondate}?;How will the weather be {ondate} in {city}?;Show me the forecast for {city} {ondate};Should I expect snow in {city} {ondate}?
get_time current_time time_in world_clock | Current local time in a city;Tells the time in a place | city:city location place timezone_city | What time is it in {city}?;time in {city};Tell me the time in {city};What's the local time in {city}?;what time is it now in {city};How late is it in {city}?
convert_currency exchange currency_converter convert_money | Convert an amount of money between currencies;Currency conversion | float:amount value & currency:from_currency source base & currency:to_currency target into | How much is {float} {currency} in {currency2}?;Convert {float} {currency} to {currency2};{float} {currency} in {currency2};What is {float} {currency} in {currency2}?;change {float} {currency} into {currency2};I have {float} {currency}, how many {currency2} is that?;Exchange {float} {currency} for {currency2}
translate translate_text translation translator | Translate text into another language | text:text sentence content & language:target_language language to lang | Translate {q} to {language};How do you say {q} in {language}?;translate {q} into {language};Say {q} in {language};Put {q} into {language};I need {q} in {language};What is {q} in {language}?
set_reminder create_reminder add_reminder remind_me | Create a reminder at a time;Remind the user of something | title:text message task what & time:time at when | Remind me to {bare} at {time};Set a reminder for {time}: {bare};At {time} remind me to {bare};reminder {bare} at {time};I must not forget to {bare} at {time};Please remind me at {time} to {bare};Give me a nudge at {time} to {bare}
set_alarm create_alarm alarm alarm_set | Set an alarm clock | time:time at alarm_time | Wake me up at {time};Set an alarm for {time};alarm at {time};I need to get up at {time};Can you set my alarm to {time}?;Make sure I'm awake at {time}
set_timer start_timer timer countdown | Start a countdown timer | minutes:minutes duration length | Set a timer for {minutes} minutes;timer {minutes} minutes;Start a {minutes} minute timer;Count down {minutes} minutes;Let me know when {minutes} minutes are over;Ping me in {minutes} minutes
send_message text_contact message_person send_sms | Send a text message to a contact | person:recipient to contact person & text:message text body | Tell {person} {q};Send {person} a message: {q};Text {person} {q};Message {person} saying {q};Write to {person}: {q};Let {person} know {q};Send {q} to {person};Drop {person} a line: {q}
send_email email_send mail compose_email | Send an e-mail | email:to recipient address & title:subject title & text:body text message | Email {email} with subject {title} and say {q};Send an email to {email}, subject {title}, body {q};Write to {email} about {title}: {q};mail {email}: subject {title}, text {q};Compose a mail for {email} titled {title} reading {q}
web_search search_web search internet_search google | Search the web;Look something up on the internet | query:query q search_text | Search the web for {q};Look up {q};Find information about {q};search for {q};What does the internet say about {q}?;google {q};Can you look up {q} online?;I want to know more about {q};Dig up something on {q}
calculate calculator evaluate_expression compute math | Evaluate an arithmetic expression;Calculator | expr:expression expr formula | What is {expr}?;Calculate {expr};compute {expr};How much is {expr}?;{expr} = ?;work out {expr};Give me the result of {expr};Solve {expr}
read_file open_file cat view_file readFile | Read a file and return its text;Show the contents of a file | path:path filename file file_path | Read {path};Show me {path};What is in {path}?;Open {path};cat {path};Print the file {path};Let me see {path};What does {path} contain?;Have a look at {path};Take a peek at {path}
write_file save_file create_file writeFile write | Write text to a file;Create a file with the given content | path:path filename file_path file & code:content text data | Write this to {path}:\n{code};Create {path} with:\n{code};Save the following as {path}:\n{code};Make a file {path} containing:\n{code};Put this into {path}:\n{code};New file {path}:\n{code}
edit_file edit replace_in_file apply_edit | Replace old text by new text in a file | path:path file file_path & title:old old_text find & title:new new_text replacement | In {path}, replace {title} with {title2};Change {title} to {title2} in {path};edit {path}: {title} should become {title2};Replace {title} by {title2} in {path};Swap {title} for {title2} in {path}
list_files list_directory ls listFiles list_dir | List the files of a folder | dir:path directory folder dir | List the files in {dir};What files are in {dir}?;ls {dir};Show me the folder {dir};What's inside {dir}?;list {dir};Which files does {dir} hold?
run_command shell run execute bash exec_command | Run a shell command and return its output;Execute a command line | command:command cmd | Run {q};Execute {q};run the command {q};Please run {q} in the shell;Start {q};Can you run {q}?;Fire off {q}
search_code grep search_files find_in_files | Search the source files for a pattern | query:pattern query text & dir:path directory folder | Search for {q} in {dir};grep {q} in {dir};Find {q} in the folder {dir};Where is {q} used in {dir}?;Look for {q} under {dir};Which files in {dir} mention {q}?
create_event add_event calendar_add schedule_event | Add an event to the calendar | title:title name event & date:date day & time:time start start_time | Put {title} on my calendar {ondate} at {time};Schedule {title} {ondate} at {time};Add {title} at {time} {ondate};Create an event {title} {ondate}, {time};I have {title} {ondate} at {time}, add it;Block {time} {ondate} for {title}
play_music play_song play music_play | Play a song or artist | item:song track title | Play {item};I want to hear {item};Put on {item};play the song {item};Can you play {item}?;Let's listen to {item};Start {item};Spin {item} for me
set_temperature thermostat set_thermostat heating | Set the room temperature in degrees | float:temperature degrees value & room:room zone place | Set the {room} to {float} degrees;Make the {room} {float} degrees;Heat the {room} to {float};{float} degrees in the {room} please;Turn the thermostat in the {room} to {float};I want {float} degrees in the {room}
control_light set_light light_switch lights | Switch a light on or off | room:room location lamp & onoff:state on power | Turn {onoff} the light in the {room};Switch the {room} light {onoff};Lights {onoff} in the {room};{room} light {onoff};Put the {room} lamp {onoff};Can you turn the {room} lights {onoff}?
book_table reserve_table restaurant_booking | Reserve a table in a restaurant | count:people guests party_size & time:time at & date:date day | Book a table for {count} at {time} {ondate};Reserve a table {ondate} at {time} for {count} people;Table for {count}, {ondate} {time};We are {count}, get us a table {ondate} at {time};I need a table for {count} people {ondate} at {time}
find_flights search_flights flights flight_search | Find flights between two cities | city:origin from_city departure source & city:destination to_city arrival & date:date day departure_date | Find flights from {city} to {city2} {ondate};Flights {city} to {city2} {ondate};I want to fly from {city} to {city2} {ondate};How can I fly to {city2} from {city} {ondate}?;Look for a flight from {city} to {city2} {ondate};Get me from {city} to {city2} by plane {ondate}
define_word dictionary define lookup_word | Look up the meaning of a word | noun:word term | What does {noun} mean?;Define {noun};Look up the word {noun};meaning of {noun};What is the definition of {noun}?;dictionary: {noun};Explain the word {noun}
get_stock_price stock_price quote share_price | Price of a stock by its ticker symbol | ticker:symbol ticker code | What is the price of {ticker}?;How is {ticker} doing?;stock price of {ticker};Quote for {ticker};Check {ticker} shares;What does {ticker} trade at?
get_news news headlines latest_news | News headlines about a topic | noun:topic subject about | What's the news about {noun}?;Latest headlines on {noun};Any news on {noun}?;Give me the news about {noun};news {noun};What happened with {noun} lately?
get_distance distance route_length distance_between | Distance between two places | city:from start origin & city:to end destination | How far is it from {city} to {city2}?;Distance between {city} and {city2};distance {city} to {city2};How many kilometres from {city} to {city2}?;Is it far from {city} to {city2}?
roll_dice dice roll throw_dice | Roll dice | count:count dice number & sides:sides faces | Roll {count} dice with {sides} sides;Throw {count} {sides}-sided dice;roll {count}d{sides};Give me {count} dice rolls, {sides} sides;Let {count} dice with {sides} faces fall
add_todo add_task todo_add create_task | Add a task to the to-do list | title:task title text item | Add {title} to my to-do list;Put {title} on my list;New task: {title};todo {title};Note down that I have to {bare};I need to {bare}, add it to my tasks
find_restaurant restaurants restaurant_search places_to_eat | Find restaurants of a cuisine in a city | cuisine:cuisine food type & city:city location place | Find a {cuisine} restaurant in {city};Where can I eat {cuisine} food in {city}?;{cuisine} places in {city};Any good {cuisine} restaurants in {city}?;I'm in {city} and want {cuisine} food;Recommend {cuisine} food near {city}
convert_units unit_converter convert unit_convert | Convert a value between units | float:value amount number & unit:from_unit from source_unit & unit:to_unit to target_unit | Convert {float} {unit} to {unit2};How many {unit2} are {float} {unit}?;{float} {unit} in {unit2};What is {float} {unit} in {unit2}?;turn {float} {unit} into {unit2}
track_package track_order package_status tracking | Status of a parcel by tracking number | id:tracking_number id code order_id | Where is my package {id}?;Track {id};Status of order {id};Has {id} been delivered yet?;When does {id} arrive?;What happened to parcel {id}?
call_contact phone_call dial make_call | Call a contact on the phone | person:contact name person | Call {person};Phone {person};ring {person} please;I want to talk to {person};dial {person};Can you get {person} on the phone?
add_to_cart buy_item add_item order_item | Put an item into the shopping cart | item:item product name & count:quantity count amount | Add {count} {item} to my cart;I'd like {count} {item};Order {count} of {item};Put {count} {item} in the basket;buy {count} {item};Get me {count} {item}
get_random_number random_int random_number | Random whole number between two bounds | int:min low minimum & int:max high maximum | Give me a random number between {int} and {int2};random number from {int} to {int2};Pick a number between {int} and {int2};Choose any number from {int} to {int2}
create_user add_user register_user new_user | Create a user account | person:name username full_name & int:age years & bool:admin is_admin superuser | Create a user {person}, age {int}, admin {bool};Add {person} ({int}) as a user, admin: {bool};New account for {person}, {int} years old, admin rights {bool};Register {person}, age {int}, admin {bool}
set_volume volume change_volume sound_level | Set the playback volume in percent | pct:level percent volume | Set the volume to {pct};Volume {pct} percent;Turn it to {pct}%;make it {pct} percent loud;Change the sound level to {pct}
sum_numbers add_numbers total sum | Add up a list of numbers | ints:numbers values list | Add up {ints};What is the sum of {ints}?;Sum {ints};total of {ints};How much do {ints} make together?
sort_list sort sort_items order_list | Sort a list of words | strings:items list words | Sort {strings};Put {strings} in order;Order these alphabetically: {strings};alphabetical order for {strings}
"""
ROOMS = "kitchen,bedroom,living room,bathroom,hall,office,garage,attic,cellar,garden,nursery,guest room".split(",")
CUISINES = "Italian,Thai,Indian,Mexican,Greek,Japanese,Turkish,Korean,French,Spanish,Vietnamese,Lebanese,Ethiopian,Polish".split(",")
UNITS = "kilometres miles metres feet inches centimetres kilograms pounds grams ounces litres gallons celsius fahrenheit hours seconds".split()


def _parse():
    out = []
    for line in RAW.strip().split("\n"):
        names, descs, args, says = [x.strip() for x in line.split(" | ")]
        args = [a.split(":") for a in args.split(" & ")]
        out.append((names.split(), descs.split(";"), [(k, n.split()) for k, n in args], [s.replace("\\n", "\n") for s in says.split(";")]))
    return out


TOOLS = _parse()
TYPES = dict(minutes="integer", count="integer", int="integer", sides="integer", pct="integer", float="number", bool="boolean", ints="array", strings="array")


def value(rng, kind, split, G):
    F = G.F
    if kind == "room": v = rng.choice(ROOMS); return v, v
    if kind == "cuisine": v = rng.choice(CUISINES); return v, v
    if kind == "unit": v = rng.choice(UNITS); return v, v
    if kind == "dir": v = rng.choice([rng.choice(F.DIRS), rng.choice(F.STEMS) + "/", "./" + rng.choice(F.DIRS), ".", "src/" + rng.choice(F.STEMS), "/home/" + F.nonsense(rng)]); return v, v
    if kind == "sides": v = rng.choice([4, 6, 8, 10, 12, 20, 100]); return v, str(v)
    if kind == "pct": v = rng.randint(0, 20) * 5 if rng.random() < .6 else rng.randint(0, 100); return v, str(v)
    if kind == "noun":
        v = rng.choice([F.pick(rng, "nouns", split), F.pick(rng, "common_words", split), F.pick(rng, "animals", split), F.pick(rng, "sports", split)]); return v, v
    if kind == "ticker": v = "".join(rng.choice("ABCDEFGHIKLMNOPRSTUVWXZ") for _ in range(rng.randint(2, 4))); return v, v
    if kind == "onoff": v = rng.random() < .5; return v, "on" if v else "off"
    if kind == "bool": v = rng.random() < .5; return v, rng.choice(["yes", "true"] if v else ["no", "false"])
    if kind == "expr":
        n = lambda: rng.choice([str(rng.randint(0, 20)), str(rng.randint(10, 999)), f"{rng.uniform(0, 50):.1f}"])
        s = rng.choice([" ", " ", ""])
        v = rng.choice([f"{n()}{s}{rng.choice('+-*/')}{s}{n()}", f"({n()}{s}+{s}{n()}){s}*{s}{n()}", f"{n()}{s}*{s}{n()}{s}{rng.choice('+-')}{s}{n()}", f"{n()} % {n()}", f"sqrt({n()})", f"{n()}{s}**{s}{rng.randint(2, 5)}"])
        return v, v
    return G.sample(rng, kind, split, {})


def make_tool(rng, G, split, index=None):
    """Same shape as gen_tools.make_tool, with 'says' in place of grammar phrases."""
    i = rng.randrange(len(TOOLS)) if index is None else index
    names, descs, args, says = TOOLS[i]
    name = rng.choice(names)
    r = rng.random()
    if r < .1: name = G.camel(name)
    elif r < .16: name = f"{name}_{rng.choice(['v2', 'api', 'tool', 'x', 'now'])}"
    elif r < .22: name = G.F.nonsense(rng, 2, 3) + rng.choice(["", "_" + name.split("_")[-1]])
    params, order, used = {}, [], set()
    for k, ns in args:
        free = [n for n in ns if n not in used]
        an = rng.choice(free) if free and rng.random() < .9 else G.F.nonsense(rng)
        used.add(an)
        t = TYPES.get(k, "string")
        if k == "onoff": t = "boolean" if rng.random() < .5 else "enum"
        s = {"type": "string", "enum": rng.choice([["on", "off"], ["off", "on"]])} if t == "enum" else {"type": t}
        if t == "array": s["items"] = {"type": "integer" if k == "ints" else "string"}
        if rng.random() < .6:
            s["description"] = rng.choice(G.A[k]["descs"]) if k in G.A and not (k in ("city", "currency", "unit", "int") and len(ns) > 2) else G.words(an).capitalize()
        params[an] = dict(kind=k, schema=s)
        order.append(an)
    keys = list(params)
    if rng.random() < .25: rng.shuffle(keys)
    schema = {"name": name, "description": rng.choice(descs), "parameters": {"type": "object", "properties": {a: params[a]["schema"] for a in keys}, "required": keys if rng.random() < .7 else order}}
    held = max(1, len(says) // 7)
    pool = says[-held:] if split == "eval" else says[:-held]
    first = G.words(names[0]).split()
    return dict(schema=schema, name=name, domain=(False, -2 - i), verb=first[0], v=names[0], obj=" ".join(first[1:]) or first[0], params={a: params[a] for a in keys},
                order=order, required=list(params), says=pool)


def make_query(rng, tool, split, G, skip=()):
    s, args, seen = rng.choice(tool["says"]), {}, {}
    if skip: return None
    for a in tool["order"]:
        p = tool["params"][a]
        k = p["kind"]
        v, spoken = value(rng, k, split, G)
        if k == "onoff" and "enum" in p["schema"]: v = spoken
        seen[k] = seen.get(k, 0) + 1
        key = k if seen[k] == 1 else f"{k}{seen[k]}"
        if k in ("title", "text", "query", "command"):
            quoted = G.F.q(rng, v) if any(c in v for c in "'\"`[](){}\\,;:#&=\n") or rng.random() < .5 else v
            bare = "{bare}" in s
            if bare:
                v = f"{G.F.pick(rng, 'verbs', split)} {rng.choice(['the', 'my', 'a', ''])} {G.F.phrase(rng, 1, 2).lower()}".replace("  ", " ").rstrip(".!?%") if split == "train" and rng.random() < .35 else \
                    rng.choice(G.F.pool(G.F.TOPICS[40:], split)) if rng.random() < .7 else f"{rng.choice(['call', 'email', 'visit', 'help', 'meet'])} {G.F.person(rng, split)}"
            s = s.replace("{bare}", v, 1) if bare else s.replace("{%s}" % key, quoted) if "{%s}" % key in s else s.replace("{q}", quoted, 1)
        else:
            t = str(spoken)
            if k == "date":
                on = t if t.split()[0] in ("today", "tomorrow", "next", "tonight", "this", "yesterday") else "on " + t
                s = s.replace("{ondate}", on)
            s = s.replace("{%s}" % key, t)
        args[a] = v
    r = rng.random()
    if r < .12: s = s[0].lower() + s[1:]
    elif r < .2 and s[-1] == "?": s = s[:-1]
    elif r < .28 and s[-1] not in "?.!\n\"'`" and "\n" not in s: s += rng.choice([".", " please", ", thanks", " now"])
    return s, args


CONDITIONS = "sunny,cloudy,light rain,heavy rain,snow,fog,windy,clear sky,thunderstorm,overcast,drizzle,hot,partly cloudy".split(",")


def result(rng, tool, args, split, G):
    """A lifelike tool answer and the sentence made from it, or None when the generic one should be used."""
    F, by = G.F, {}
    for a in tool["order"]:
        k = tool["params"][a]["kind"]
        by[k if k not in by else k + "2"] = args.get(a)
    j, n, c = G.json.dumps, tool["v"], rng.choice
    ok = c([{"status": "ok"}, {"success": True}, {"ok": True}, "ok", {"status": "done"}, {"result": "success"}, {"status": "created", "id": F.ident(rng)}])
    ok = ok if isinstance(ok, str) else j(ok)
    if n == "get_weather":
        t, w = rng.randint(-15, 38), c(CONDITIONS)
        body = c([{"temperature": t, "condition": w}, {"city": by["city"], "temp_c": t, "sky": w}, {"condition": w, "temperature": t, "humidity": rng.randint(20, 99)}, f"{w}, {t} C"])
        return body if isinstance(body, str) else j(body), c([f"It is {t} degrees in {by['city']}: {w}.", f"In {by['city']} it is {t} degrees with {w}.", f"{by['city']}: {w}, {t} degrees."])
    if n == "get_forecast":
        lo, w = rng.randint(-10, 20), c(CONDITIONS); hi = lo + rng.randint(2, 12)
        return j({"min": lo, "max": hi, "condition": w}), c([f"The forecast for {by['city']} is {w}, between {lo} and {hi} degrees.", f"Expect {w} in {by['city']}, {lo} to {hi} degrees."])
    if n == "get_time":
        t = f"{rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}"
        return c([t, j({"time": t}), j({"city": by["city"], "local_time": t})]), c([f"It is {t} in {by['city']}.", f"The local time in {by['city']} is {t}."])
    if n == "convert_currency":
        x = round(rng.uniform(1, 9000), 2)
        return c([str(x), j({"result": x}), j({"amount": x, "currency": by["currency2"]})]), c([f"{by['float']} {by['currency']} is {x} {by['currency2']}.", f"That is {x} {by['currency2']}."])
    if n == "convert_units":
        x = round(rng.uniform(0, 5000), 2)
        return c([str(x), j({"result": x}), j({"value": x})]), c([f"{by['float']} {by['unit']} is {x} {by['unit2']}.", f"That is {x} {by['unit2']}."])
    if n == "translate":
        t = " ".join(F.nonsense(rng, 1, 3) for _ in range(rng.randint(1, 5)))
        return c([t, j({"translation": t}), j({"text": t, "language": by["language"]})]), c([f"In {by['language']}: {t}", f"That is \"{t}\" in {by['language']}.", f"The {by['language']} translation is: {t}"])
    if n == "set_reminder": return ok, c([f"Okay, I will remind you at {by['time']}: {by['title']}.", f"The reminder for {by['time']} is set.", f"Done: reminder \"{by['title']}\" at {by['time']}."])
    if n == "set_alarm": return ok, c([f"Your alarm is set for {by['time']}.", f"Alarm set: {by['time']}."])
    if n == "set_timer": return ok, c([f"The timer runs for {by['minutes']} minutes.", f"Timer set: {by['minutes']} minutes."])
    if n in ("send_message", "call_contact"): return ok, c([f"Done, I reached {by['person']}.", f"Done: {by['person']}."]) if n == "call_contact" else c([f"Your message to {by['person']} was sent.", f"Sent to {by['person']}."])
    if n == "send_email": return ok, c([f"The email to {by['email']} was sent.", f"Sent \"{by['title']}\" to {by['email']}."])
    if n == "calculate":
        x = c([rng.randint(-99, 9999), round(rng.uniform(0, 900), 2)])
        return c([str(x), j({"result": x}), j({"value": x})]), c([f"{by['expr']} = {x}.", f"The result is {x}.", f"{by['expr']} is {x}."])
    if n == "read_file":
        t = c([c(F.CODE), F.sentence(rng, split), F.sentence(rng, split) + "\n" + F.sentence(rng, split)])
        return c([t, j({"content": t})]), c([f"The file {by['path']} contains:\n{t}", f"{by['path']} says:\n{t}", f"Here is {by['path']}:\n{t}"])
    if n == "write_file": return ok, c([f"I wrote {by['path']}.", f"The file {by['path']} is saved.", f"Done, {by['path']} has the new text."])
    if n == "edit_file": return ok, c([f"I changed {by['path']}.", f"Done: {by['path']} now says {by['title2']} instead of {by['title']}."])
    if n == "list_files":
        fs = list(dict.fromkeys(F.path(rng).split("/")[-1] for _ in range(rng.randint(1, 5))))
        return c(["\n".join(fs), j(fs), j({"files": fs})]), c([f"{by['dir']} holds {len(fs)} file{'s' if len(fs) > 1 else ''}: {', '.join(fs)}.", f"The files are {', '.join(fs)}.", "I found:\n" + "\n".join("- " + f for f in fs)])
    if n == "run_command":
        t = c([F.sentence(rng, split), str(rng.randint(0, 999)), "error: " + c(["file not found", "permission denied", "test failed", "unknown option"]), f"{rng.randint(1, 90)} passed, {rng.randint(0, 5)} failed", F.path(rng)])
        return c([t, j({"stdout": t, "exit_code": 0}), j({"output": t})]), c([f"The command printed: {t}", f"Output: {t}", f"It says: {t}"])
    if n == "search_code":
        p, l = F.path(rng), rng.randint(1, 400)
        return c([f"{p}:{l}: {by['query']}", j([{"file": p, "line": l}]), j({"matches": [f"{p}:{l}"]})]), c([f"I found it in {p}, line {l}.", f"One match: {p} line {l}."])
    if n in ("create_event", "book_table", "add_todo", "add_to_cart", "create_user", "control_light", "set_temperature", "set_volume", "play_music"):
        what = {"create_event": lambda: f"{by['title']} is on your calendar for {by['date']} at {by['time']}.", "book_table": lambda: f"The table for {by['count']} is booked, {by['date']} at {by['time']}.", "add_todo": lambda: f"\"{by['title']}\" is on your list.",
                "add_to_cart": lambda: f"Added {by['count']} {by['item']} to the cart.", "create_user": lambda: f"The account for {by['person']} was created.", "control_light": lambda: f"The light in the {by['room']} is {'on' if by['onoff'] in (True, 'on') else 'off'}.",
                "set_temperature": lambda: f"The {by['room']} is set to {by['float']} degrees.", "set_volume": lambda: f"The volume is at {by['pct']} percent.", "play_music": lambda: f"Now playing {by['item']}."}[n]()
        return ok, c(["", "", "Done. ", "Okay. "]) + what
    if n == "find_flights":
        f, t, p = f"{c('ABKLSU')}{c('AFHKLNR')}{rng.randint(10, 999)}", f"{rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}", rng.randint(40, 900)
        return j([{"flight": f, "departs": t, "price": p}]), f"There is flight {f} at {t} for {p}."
    if n == "get_stock_price":
        x = round(rng.uniform(2, 900), 2)
        return c([str(x), j({"symbol": by["ticker"], "price": x})]), c([f"{by['ticker']} is at {x}.", f"The price of {by['ticker']} is {x}."])
    if n == "get_distance":
        x = rng.randint(5, 9000)
        return c([f"{x} km", j({"distance_km": x}), j({"km": x})]), c([f"It is {x} km from {by['city']} to {by['city2']}.", f"{by['city']} and {by['city2']} are {x} km apart."])
    if n in ("roll_dice", "get_random_number"):
        xs = [rng.randint(1, 20) for _ in range(rng.randint(1, 4) if n == "roll_dice" else 1)]
        return (j(xs) if n == "roll_dice" else str(xs[0])), (f"You rolled {F.join_list(rng, xs)}." if n == "roll_dice" else f"Your number is {xs[0]}.")
    if n == "track_package":
        s = c(["in transit", "delivered", "out for delivery", "waiting at the depot", "returned to sender"])
        return c([s, j({"status": s}), j({"id": by["id"], "status": s})]), c([f"Package {by['id']} is {s}." if " " in s or s == "delivered" else f"Status: {s}.", f"The status of {by['id']} is: {s}."])
    if n == "sum_numbers": return c([str(sum(by["ints"])), j({"sum": sum(by["ints"])})]), f"The sum is {sum(by['ints'])}."
    if n == "sort_list": return j(sorted(by["strings"])), f"Sorted: {', '.join(sorted(by['strings']))}."
    return None
