#!/usr/bin/env python3
"""Renders test conversations with Hugging Face transformers, for each built-in chat template.

Pinned: transformers 5.24.0, jinja2 3.1.6, Python 3.11.

    python tools/golden/chat.py crates/lfm2/src/chat/builtin crates/lfm2/tests/data/chat.json

Each case holds `messages` and `tools` as a client sends them and the rendered text for V1 to V4.
transformers is given the same messages after the changes that Molten documents: developer is
system, leading system messages are joined, parts are joined, arguments are objects, and where the
template does not render calls they stand in the content as the model writes them.
"""

import copy
import datetime
import json
import sys
from pathlib import Path

from transformers.utils import chat_template_utils

NOW = datetime.datetime(2026, 3, 9, 12, 0, 0)
BOS, EOS = "<|startoftext|>", "<|im_end|>"


class FixedClock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return NOW


def user(text):
    return {"role": "user", "content": text}


def system(text):
    return {"role": "system", "content": text}


def bot(text, **more):
    return {"role": "assistant", "content": text, **more}


def result(text, call="c1"):
    return {"role": "tool", "tool_call_id": call, "content": text}


def call(name, arguments, call_id="c1"):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def tool(name, properties, **more):
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, **more, "parameters": parameters}}


WEATHER = tool("get_weather", {"city": {"type": "string"}}, description="Météo: <b>'now'</b> & \"later\"")
SEARCH = tool("search", {"q": {"type": "string"}, "n": {"type": "integer", "default": 2.0}})
BARE = {"name": "ping", "description": "line\nbreak\ttab \\ back", "parameters": {}}

VALUES = [
    {"city": "Paris"}, {"city": "L'Aquila"}, {"city": "a\\b"}, {"city": "x\ny\r\nz"}, {"city": ""},
    {"n": 2, "m": -7, "z": 0}, {"f": 0.5, "g": 2.0, "h": 1e20, "i": 1.5e-7}, {"ok": True, "no": False},
    {"none": None}, {"d": {"a": [True, None, "é"], "b": {}}}, {"l": ["x", False, 1.0, None, {"k": "v'"}]},
    {"e": [], "o": {}}, {}, {"emoji": "👩‍💻 東京", "quote": "\"'\""}, {"big": 12345678901234567},
    {"code": "print('a')\nprint(\"b\\t\")"}, {"html": "<a href='x'>&amp;</a>"},
]


def conversations():
    yield "greeting", [user("Hello")], None
    yield "empty user", [user("")], None
    yield "system", [system("Be brief."), user("hi")], None
    yield "empty system", [system(""), user("hi")], None
    yield "developer", [{"role": "developer", "content": "Be brief."}, user("hi")], None
    yield "two systems", [system("One."), {"role": "developer", "content": "Two."}, user("hi")], None
    yield "late system", [user("hi"), bot("yo"), system("Now rhyme."), user("go")], None
    yield "white space", [system("  a \n"), user("\n\n b\t "), bot("  c  "), user(" ")], None
    yield "turns", [user("1"), bot("one"), user("2"), bot("two"), user("3")], None
    yield "unicode", [user("naïve — 東京 👩‍💻 \u200b\u2028 \u00a0"), bot("ｆｕｌｌ"), user("שלום")], None
    yield "markup", [user("a < b && c > d; <i>'\"</i> {{ x }} {% if %} {# #}"), bot("`{{ y }}`"), user("ok")], None
    yield "long", [user("word " * 400), bot("line\n" * 200), user("end")], None
    yield "parts", [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": " b"}]}], None
    yield "no parts", [{"role": "user", "content": []}], None
    yield "system parts", [{"role": "system", "content": [{"type": "text", "text": "S"}]}, user("x")], None
    yield "ends with assistant", [user("x"), bot("y")], None
    yield "tools", [user("weather?")], [WEATHER]
    yield "tools and system", [system("Be brief."), user("weather?")], [WEATHER, SEARCH]
    yield "bare tool", [user("x")], [BARE]
    yield "odd tool", [user("x")], [{"z": 1, "a": {"y": [1, 2.5, None, True], "b": "é\u0001"}, "": []}]
    yield "thought", [user("x"), bot("y", reasoning_content="hm"), user("z"), bot("w", reasoning_content="so")], None
    yield "thought in text", [user("x"), bot("<think>hm</think>\n\ny "), user("z"), bot("<think>a</think> b")], None
    yield "tag only", [user("x"), bot("hm</think> y </think> z "), user("w")], None
    yield "thought and call", [
        user("x"), bot("", reasoning_content="need it", tool_calls=[call("get_weather", {"city": "Rome"})]), result("{}"),
    ], [WEATHER]
    yield "null content", [user("x"), bot(None, tool_calls=[call("search", '{"q": "a", "n": 1}')]), result("r"), user("y")], [SEARCH]
    yield "text and call", [user("x"), bot("Looking.", tool_calls=[call("search", {"q": "a"})]), result("r"), bot("Done."), user("t")], [SEARCH]
    yield "two calls", [user("x"), bot(None, tool_calls=[call("search", {"q": "a"}), call("get_weather", {"city": "b"}, "c2")]),
                        result("1"), result("2", "c2"), bot("ok")], [SEARCH, WEATHER]
    yield "named tool result", [user("x"), bot("", tool_calls=[call("ping", "")]), {**result("pong"), "name": "ping"}, user("n")], [BARE]
    yield "dotted name", [user("x"), bot("", tool_calls=[call("Calendar.create_event", {"at": "9:00"})]), result("[]")], None
    yield "tool parts", [user("x"), bot("", tool_calls=[call("ping", "{}")]),
                         {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "po"}, {"type": "text", "text": "ng"}]}], None
    for i, arguments in enumerate(VALUES):
        yield f"arguments {i} as object", [user("x"), bot("", tool_calls=[call("f", arguments)]), result("r")], None
        if i % 3 == 0:
            text = json.dumps(arguments, ensure_ascii=False)
            yield f"arguments {i} as text", [user("x"), bot("", tool_calls=[call("f", text)]), result("r")], None


def plain(content):
    if content is None:
        return ""
    if isinstance(content, list):
        return "".join(part["text"] for part in content)
    return content


def native(calls):
    def value(v):
        if isinstance(v, str):
            return "'" + v.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r") + "'"
        if isinstance(v, (list, dict)):
            return json.dumps(v, ensure_ascii=False)
        return str(v)

    texts = []
    for c in calls:
        arguments = ", ".join(f"{k}={value(v)}" for k, v in c["function"]["arguments"].items())
        texts.append(f"{c['function']['name']}({arguments})")
    return "<|tool_call_start|>[" + ", ".join(texts) + "]<|tool_call_end|>"


def prepared(messages, renders_calls):
    out = []
    for m in copy.deepcopy(messages):
        m["content"] = plain(m["content"])
        m["role"] = {"developer": "system"}.get(m["role"], m["role"])
        for c in m.get("tool_calls", []):
            arguments = c["function"]["arguments"]
            if isinstance(arguments, str):
                c["function"]["arguments"] = json.loads(arguments) if arguments.strip() else {}
        if m.get("tool_calls") and not renders_calls:
            m["content"] = native(m.pop("tool_calls")) + m["content"]
        if "reasoning_content" in m:
            m["thinking"] = m["reasoning"] = m["reasoning_content"]
        if m["role"] == "system" and len(out) == 1 and out[0]["role"] == "system":
            out[0]["content"] += "\n\n" + m["content"]
        else:
            out.append(m)
    return out


def main():
    templates = {n: (Path(sys.argv[1]) / f"{n}.jinja").read_text() for n in ("v1", "v2", "v3", "v4")}
    chat_template_utils.datetime = FixedClock
    cases = []
    for name, messages, tools in conversations():
        case = {"name": name, "messages": messages, "tools": tools or [], "rendered": {}}
        for n, source in templates.items():
            text, _ = chat_template_utils.render_jinja_template(
                conversations=[prepared(messages, "tool_calls" in source)],
                chat_template=source, tools=tools, add_generation_prompt=messages[-1]["role"] != "assistant",
                bos_token=BOS, eos_token=EOS,
            )
            case["rendered"][n] = text[0]
        cases.append(case)
    Path(sys.argv[2]).write_text(json.dumps({"now": 1773057600, "cases": cases}, ensure_ascii=False, indent=1) + "\n")
    print(len(cases), "conversations")


main()
