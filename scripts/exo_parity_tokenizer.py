"""A tiny tokenizer folder with a chat template, which both clients can count with.

It is byte-level BPE like that of most models, with merges for " a" and for
what the template says, and counts like qwen3's: 8 tokens for an empty message
and n + 9 for n atoms "a ", which is what the mock counts.
"""

import json

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
WORDS = ["Ġa", "user", "assistant"]
SPECIAL = ["<|im_start|>", "<|im_end|>"]


def byte_characters():
    """The character that stands for each byte in a byte-level vocabulary."""
    shown = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(b if b in shown else next(others)) for b in range(256)]


def vocabulary():
    """Tokens by id, and the merges that make the longer ones."""
    vocab = {c: i for i, c in enumerate(sorted(byte_characters()))}
    merges = []
    for word in WORDS:
        for i in range(1, len(word)):
            if (pair := [word[:i], word[i]]) not in merges:
                merges.append(pair)
            vocab.setdefault(word[: i + 1], len(vocab))
    return vocab, merges


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    vocab, merges = vocabulary()
    added = [{"id": len(vocab) + i, "content": s, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
             for i, s in enumerate(SPECIAL)]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None, "pre_tokenizer": level,
        "post_processor": None, "decoder": level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "vocab": vocab, "merges": merges},
    }
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": SPECIAL[1], "chat_template": TEMPLATE}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
