"""Trains the byte-level BPE (8192 entries, LFM2's special tokens and pre-split) and writes the tokenizer files.

    python tokenizer.py DOCS_DIR OUT
"""
import json, random, sys
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

import fillers, gen_chat, gen_code, gen_tools
from common import SPECIALS, SPLIT, read_jsonl, render, template_path


def corpus(src):
    """About 30 MB: 45 % code, 15 % English, 40 % what the generators write."""
    budget = dict(code=11_000_000, english=4_500_000, functions=1_500_000, shell=800_000, words=2_000_000)
    for d in read_jsonl(src / "docs.jsonl"):
        t = d.get("text") or render(d["messages"], d.get("tools"))
        if budget[d["cat"]] > 0:
            budget[d["cat"]] -= len(t)
            yield t
    rng = random.Random(99)
    for _ in range(4500):
        yield render(*gen_tools.checked(rng)[:2])
    for _ in range(5000):
        yield render(gen_chat.conversation(rng)[0])
    for _ in range(5000):
        yield render(gen_code.conversation(rng)[0])


def build(regex, model):
    t = Tokenizer(model)
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(regex), behavior="isolated", invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    return t


def main():
    src, out = map(Path, sys.argv[1:3])
    fillers.load_lists(src / "lists.json.gz")
    # digits never merge: training splits them one by one, the shipped pattern is the usual one
    t = build(SPLIT.replace(r"\p{N}{1,3}", r"\p{N}"), models.BPE())
    specials = [AddedToken(s, special=True, normalized=False) for s in SPECIALS]
    strip = str.maketrans({})
    texts = []
    for x in corpus(src):
        for s in SPECIALS[:14]:
            x = x.replace(s, "\n")
        texts.append(x)
    t.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=8192, special_tokens=specials, show_progress=False,
                          initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), min_frequency=2))
    spec = json.loads(t.to_str())
    spec["model"]["ignore_merges"] = True
    spec["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = SPLIT
    t = Tokenizer.from_str(json.dumps(spec))
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
        single="<|startoftext|> $A", pair="<|startoftext|> $A <|startoftext|> $B:1", special_tokens=[("<|startoftext|>", 1)])])
    assert t.get_vocab_size() == 8192 and all(t.token_to_id(s) == i for i, s in enumerate(SPECIALS))
    out.mkdir(parents=True, exist_ok=True)
    t.save(str(out / "tokenizer.json"))
    json.dump({"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": SPECIALS[1], "eos_token": SPECIALS[7], "pad_token": SPECIALS[0],
               "add_bos_token": True, "add_eos_token": False, "clean_up_tokenization_spaces": False, "model_max_length": 2048,
               "model_input_names": ["input_ids", "attention_mask"]}, open(out / "tokenizer_config.json", "w"), indent=2)
    if template_path().resolve() != (out / "chat_template.jinja").resolve():
        (out / "chat_template.jinja").write_text(template_path().read_text())
    n = sum(len(x.encode()) for x in texts[::50])
    print("bytes per token:", round(n / sum(len(t.encode(x, add_special_tokens=False).ids) for x in texts[::50]), 3))


if __name__ == "__main__":
    main()
