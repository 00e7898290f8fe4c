"""Shared pieces: special tokens, model shape, chat rendering, and the call parser that every example must pass."""
import ast, io, json, os
from pathlib import Path

HERE = Path(__file__).resolve().parent
SPECIALS = ["<|pad|>", "<|startoftext|>", "<|endoftext|>", "<|fim_pre|>", "<|fim_mid|>", "<|fim_suf|>",
            "<|im_start|>", "<|im_end|>", "<|tool_list_start|>", "<|tool_list_end|>", "<|tool_call_start|>",
            "<|tool_call_end|>", "<|tool_response_start|>", "<|tool_response_end|>"]
SPECIALS += [f"<|reserved_{i - 10}|>" for i in range(len(SPECIALS), 64)]
PAD, BOS, EOT, IM_START, IM_END, CALL_START, CALL_END = 0, 1, 2, 6, 7, 10, 11
FIM_PRE, FIM_MID, FIM_SUF = 3, 4, 5

SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")

SHAPES = {
    "spark": dict(vocab_size=8192, hidden_size=384, num_hidden_layers=10, num_attention_heads=6,
                  num_key_value_heads=2, intermediate_size=1024, moe_intermediate_size=128, num_experts=16,
                  num_experts_per_tok=4, num_dense_layers=2, attention=(2, 5, 8)),
    "nano": dict(vocab_size=8192, hidden_size=128, num_hidden_layers=4, num_attention_heads=2,
                 num_key_value_heads=1, intermediate_size=192, moe_intermediate_size=64, num_experts=8,
                 num_experts_per_tok=2, num_dense_layers=1, attention=(2,)),
}


def hf_config(shape):
    """The config.json of a shape, in the form both transformers and mlx-lm read."""
    s = dict(SHAPES[shape])
    attention = s.pop("attention")
    return {
        "architectures": ["Lfm2MoeForCausalLM"], "model_type": "lfm2_moe",
        **s,
        "layer_types": ["full_attention" if i in attention else "conv" for i in range(s["num_hidden_layers"])],
        "conv_L_cache": 3, "conv_bias": False, "norm_eps": 1e-5, "norm_topk_prob": True, "use_expert_bias": True,
        "routed_scaling_factor": 1.0, "rope_theta": 1000000.0,
        "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"},
        "max_position_embeddings": 2048, "tie_word_embeddings": True, "initializer_range": 0.02, "use_cache": True,
        "bos_token_id": BOS, "eos_token_id": IM_END, "pad_token_id": PAD, "dtype": "bfloat16",
    }


# --- chat rendering: the shipped template is the only renderer -------------------------------------------------
_template = None


def template_path():
    beside = HERE / "chat_template.jinja"
    return beside if beside.exists() else HERE.parent.parent / "models" / "spark" / "chat_template.jinja"


def render(messages, tools=None, add_generation_prompt=False):
    """Renders with the shipped chat_template.jinja under the settings transformers uses."""
    global _template
    if _template is None:
        from jinja2.sandbox import ImmutableSandboxedEnvironment
        env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        env.filters["tojson"] = lambda x: json.dumps(x, ensure_ascii=False)
        _template = env.from_string(template_path().read_text())
    return _template.render(messages=messages, tools=tools or None, bos_token=SPECIALS[BOS],
                            add_generation_prompt=add_generation_prompt)


# --- calls -----------------------------------------------------------------------------------------------------
class CallError(ValueError):
    pass


def parse_calls(text):
    """The calls between the call markers of `text`, as [(name, {arg: value})]; [] if there is no call block."""
    start, end = SPECIALS[CALL_START], SPECIALS[CALL_END]
    if start not in text:
        return []
    body = text.split(start, 1)[1]
    if end not in body:
        raise CallError("unterminated call block")
    try:
        tree = ast.parse(body.split(end, 1)[0].strip(), mode="eval").body
    except (SyntaxError, ValueError) as e:
        raise CallError(str(e)) from None
    if not isinstance(tree, ast.List):
        raise CallError("not a list")
    out = []
    for c in tree.elts:
        if not isinstance(c, ast.Call) or c.args:
            raise CallError("not a keyword call")
        if len({k.arg for k in c.keywords}) != len(c.keywords):
            raise CallError("argument given twice")
        out.append((ast.unparse(c.func), {k.arg: _value(k.value) for k in c.keywords}))
    return out


def _value(node):
    if isinstance(node, ast.Name):
        if node.id in ("true", "false", "null"):
            return {"true": True, "false": False, "null": None}[node.id]
        raise CallError("bare name")
    if isinstance(node, ast.List):
        return [_value(x) for x in node.elts]
    if isinstance(node, ast.Dict):
        return {_value(k): _value(v) for k, v in zip(node.keys, node.values)}
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError) as e:
        raise CallError(str(e)) from None


def call(name, /, **arguments):
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def check(messages, tools):
    """Every call in `messages` must survive a round trip through the template and the parser, and fit its tool."""
    known = {}
    for t in tools or []:
        f = t.get("function", t)
        known[f["name"]] = f["parameters"]
    for m in messages:
        if not m.get("tool_calls"):
            continue
        want = [(c["function"]["name"], c["function"]["arguments"]) for c in m["tool_calls"]]
        got = parse_calls(render([m]))
        if got != want or json.dumps(got) != json.dumps([list(w) for w in want]):
            raise CallError(f"round trip: {want} -> {got}")
        for name, arguments in want:
            p = known[name]
            missing = [r for r in p.get("required", []) if r not in arguments]
            extra = [a for a in arguments if a not in p["properties"]]
            if missing or extra:
                raise CallError(f"{name}: missing {missing} extra {extra}")
            for a, v in arguments.items():
                if not fits(v, p["properties"][a]):
                    raise CallError(f"{name}.{a}: {v!r} does not fit {p['properties'][a]}")


def fits(v, schema):
    if "enum" in schema and v not in schema["enum"]:
        return False
    t = schema["type"]
    if t == "string":
        return isinstance(v, str)
    if t == "integer":
        return isinstance(v, int) and not isinstance(v, bool)
    if t == "number":
        return isinstance(v, (int, float)) and not isinstance(v, bool)
    if t == "boolean":
        return isinstance(v, bool)
    if t == "array":
        return isinstance(v, list) and all(fits(x, schema["items"]) for x in v)
    if t == "object":
        return isinstance(v, dict)
    return False


# --- files -----------------------------------------------------------------------------------------------------
def read_jsonl(path):
    path = str(path)
    if path.endswith(".zst"):
        import zstandard
        f = io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(open(path, "rb")), encoding="utf-8")
    else:
        f = open(path, encoding="utf-8")
    with f:
        for line in f:
            if line.strip():
                yield json.loads(line)


def write_jsonl(path, records):
    os.makedirs(os.path.dirname(str(path)) or ".", exist_ok=True)
    n = 0
    with open(path, "w", encoding="utf-8") as f:
        for r in records:
            f.write(json.dumps(r, ensure_ascii=False) + "\n")
            n += 1
    return n
