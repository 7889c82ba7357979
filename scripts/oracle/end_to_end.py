"""Writes how long prompts are to the reference libraries: transformers' Jinja
for the chat template, tokenizers for its rendering.

usage: end_to_end.py VOCABULARIES MODELS TEMPLATES FOLDER FAMILY...

FOLDER/FAMILY becomes a model's folder with a lengths.json: for each system
message and atom the numbers of atoms and the tokens of a prompt of so many.
VOCABULARIES is what vocabularies.py fills, MODELS what models.sh fills, and
TEMPLATES has chat templates for families whose vocabulary comes without.
"""

import json
import pathlib
import shutil
import sys

from tokenizers import Tokenizer
from transformers.utils.chat_template_utils import render_jinja_template

TEMPLATES = {"gptoss": "gpt-oss-20b-Q8_0.jinja", "mistral": "Ministral-3-14B-Instruct-2512-Q4_0.jinja"}
ATOMS = ["a ", " a", "0 ", "\n", "hello "]
NUMBERS = [*range(301), 512, 4096, 16384, 50000]
OTHERS = [0, 1, 2, 3, 50, 301, 4097]  # behind a system message
SYSTEM = " able also area away back base"


def text(token):
    return token["content"] if isinstance(token, dict) else token or ""


def folder(vocabularies, models, templates, root, family):
    """A model's folder as they are published."""
    dst = root / family
    dst.mkdir(parents=True, exist_ok=True)
    shutil.copy(vocabularies / family / "tokenizer.json", dst)
    configs = [models / family / "tokenizer_config.json", vocabularies / family / "tokenizer_config.json"]
    config = next((json.loads(p.read_text()) for p in configs if p.exists()), {})
    if family in TEMPLATES:
        shutil.copy(templates / TEMPLATES[family], dst / "chat_template.jinja")
        config = {"bos_token": "<s>", "eos_token": "</s>"} if family == "mistral" else config
    (dst / "tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False))
    jinja = dst / "chat_template.jinja"
    template = jinja.read_text() if jinja.exists() else config["chat_template"]
    special = {k: text(config.get(k)) for k in ("bos_token", "eos_token", "unk_token", "pad_token") if config.get(k)}
    return dst, template, special


def main(vocabularies, models, templates, root, *families):
    for family in families:
        dst, template, special = folder(*map(pathlib.Path, (vocabularies, models, templates, root)), family)
        tokenizer = Tokenizer.from_file(str(dst / "tokenizer.json"))

        def tokens(system, user):
            messages = [{"role": "system", "content": system}] if system else []
            messages.append({"role": "user", "content": user})
            rendered = render_jinja_template([messages], chat_template=template, add_generation_prompt=True, **special)
            if isinstance(rendered, tuple):  # older versions give places of what the model says, too
                rendered = rendered[0]
            (rendered,) = rendered if isinstance(rendered, list) else [rendered]
            return len(tokenizer.encode(rendered, add_special_tokens=False).ids)

        out = []
        for system, numbers in ("", NUMBERS), (SYSTEM, OTHERS):
            for atom in ATOMS:
                counts = [tokens(system, atom * n) for n in numbers]
                out.append({"system": system, "atom": atom, "atoms": numbers, "tokens": counts})
        (dst / "lengths.json").write_text(json.dumps(out))


main(*sys.argv[1:])
