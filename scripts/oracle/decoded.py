"""Ids with the text that the reference library makes of them."""

import random
import re


def whole_runs(tokens, i):
    """The first place from i on that cuts no run of <0xNN>: of one that is damaged
    the reference shows no character, tokwatt all."""
    byte = re.compile("<0x[0-9A-F]{2}>")
    while 0 < i < len(tokens) and byte.fullmatch(tokens[i - 1]) and byte.fullmatch(tokens[i]):
        i += 1
    return i


def rows(tokenizer, texts, strangers):
    """Parts of texts, cut anywhere, and lists of ids at random, so many."""
    rng = random.Random(7)
    fallback = "ByteFallback" in tokenizer.to_str().partition('"model"')[0]
    for text in texts:
        e = tokenizer.encode(text, add_special_tokens=False)
        begin = rng.randint(0, max(0, min(len(e.ids), 40)))
        end = begin + rng.randint(0, 60)
        if fallback:
            begin, end = whole_runs(e.tokens, begin), whole_runs(e.tokens, end)
        yield row(tokenizer, e.ids[begin:end])
    size = tokenizer.get_vocab_size() + 20
    for _ in range(strangers):
        ids = [rng.randrange(size) for _ in range(rng.randint(1, 40))]
        if fallback:
            ids = [i for i in ids if not (tokenizer.id_to_token(i) or "").startswith("<0x")]
        yield row(tokenizer, ids)


def row(tokenizer, ids):
    return {"ids": ids, "text": tokenizer.decode(ids, skip_special_tokens=False)}
