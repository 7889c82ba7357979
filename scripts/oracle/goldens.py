"""Makes the small tokenizers of collect/prompt/tokenizer/testdata, the ids that
the reference library gives texts, and the texts that it gives ids.

usage: goldens.py FOLDER

Each is trained on a few lines of our own, with the pipeline of one family.
"""

import json
import pathlib
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

import corpus
import decoded

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES
LLAMA = QWEN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
OTHER = r"[^\r\n\p{L}\p{N}]?"
GPT4O = (
    f"{OTHER}{UPPER}*{LOWER}+{CONTRACTIONS}?|{OTHER}{UPPER}+{LOWER}*{CONTRACTIONS}?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + SPACES
)
DEEPSEEK = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"""| ?[\p{P}\p{S}]+[\r\n]*|""" + SPACES
)


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def byte_level(*before, use_regex=False):
    return pre_tokenizers.Sequence([*before, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)])


def special(*names):
    return [AddedToken(name, normalized=False, special=True) for name in names]


def trained(pre, normalizer=None, alphabet=(), first=(), size=700, **options):
    t = Tokenizer(models.BPE(**options))
    t.pre_tokenizer = pre
    t.decoder = decoders.ByteLevel()
    if normalizer:
        t.normalizer = normalizer
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=list(alphabet), special_tokens=list(first), show_progress=False)
    t.train_from_iterator([*corpus.TEXTS, *corpus.TEXTS], trainer)
    return t


def pipelines():
    letters = pre_tokenizers.ByteLevel.alphabet()
    qwen = trained(byte_level(split(QWEN)), normalizers.NFC(), letters)
    qwen.add_tokens(special("<|im_start|>", "<|im_end|>") + [AddedToken("<think>", normalized=False)])
    qwen.add_tokens([AddedToken("cafe\u0301", normalized=True), AddedToken("\n\n", normalized=True)])
    yield "qwen", qwen

    llama = trained(byte_level(split(LLAMA)), None, letters, ignore_merges=True)
    llama.add_tokens(special("<|begin_of_text|>", "<|eot_id|>", "<|eot", "<|"))
    yield "llama", llama

    yield "gptoss", trained(byte_level(split(GPT4O)), None, letters, ignore_merges=True)
    yield "tekken", trained(byte_level(split(GPT4O.replace(CONTRACTIONS + "?", "").replace("{1,3}", ""))), None, letters)
    yield "deepseek", trained(byte_level(split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(DEEPSEEK)), None, letters)
    yield "smollm", trained(byte_level(pre_tokenizers.Digits(individual_digits=True), use_regex=True), None, letters)
    yield "inverted", trained(byte_level(split(QWEN, "removed", True)), None, letters)
    yield "digits", trained(byte_level(pre_tokenizers.Digits(), split(r"\s+", "removed")), None, letters)

    # As Gemma, but <0xE4> and <0xE5> are not there, so that some characters are unknown.
    tokens = ["<unk>", *(f"<0x{b:02X}>" for b in range(256) if b not in (0xE4, 0xE5))]
    replace = normalizers.Replace(" ", "▁")
    prepend = normalizers.Sequence([normalizers.Prepend("▁"), replace])
    for name, fuse, normalizer in ("gemma", True, replace), ("unfused", False, replace), ("llama2", True, prepend):
        gemma = trained(
            pre_tokenizers.Split(" ", "merged_with_previous"), normalizer, first=tokens, size=500,
            unk_token="<unk>", fuse_unk=fuse, byte_fallback=fuse,
        )
        config = json.loads(gemma.to_str())
        config["added_tokens"] = [t for t in config["added_tokens"] if not t["content"].startswith("<0x")]
        gemma = Tokenizer.from_str(json.dumps(config))
        steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
        gemma.decoder = decoders.Sequence(steps + [decoders.Strip(" ", 1, 0)] * (name == "llama2"))
        gemma.add_tokens(special("<bos>", "<start_of_turn>", "<end_of_turn>") + [AddedToken("\n\n\n", normalized=False)])
        yield name, gemma


folder = pathlib.Path(sys.argv[1])
folder.mkdir(exist_ok=True)
texts = ["", *corpus.TEXTS, *(atom * n for atom in corpus.REPEATED for n in (1, 2, 3, 40))]
with open(folder / "ids.jsonl", "w") as out, open(folder / "decoded.jsonl", "w") as back:
    for name, tokenizer in pipelines():
        config = json.loads(tokenizer.to_str())
        if name == "llama":  # the older form of merges
            config["model"]["merges"] = [" ".join(pair) for pair in config["model"]["merges"]]
        text = json.dumps(config, ensure_ascii=name in ("qwen", "gemma"), separators=(",", ":"))
        (folder / f"{name}.json").write_text(text + "\n")
        tokenizer = Tokenizer.from_str(text)
        for text in texts:
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            out.write(json.dumps({"tokenizer": name, "text": text, "ids": ids}, separators=(",", ":")) + "\n")
        for row in decoded.rows(tokenizer, texts[:30], 60):
            back.write(json.dumps({"tokenizer": name, **row}, separators=(",", ":")) + "\n")
