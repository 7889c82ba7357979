"""Writes the token ids that the reference library gives each text of the
corpus, without those that a post-processor adds.

usage: ids.py FOLDER...    FOLDER/tokenizer.json is read, FOLDER/ids.jsonl written
"""

import json
import pathlib
import sys

from tokenizers import Tokenizer

import corpus

texts = corpus.texts()
for folder in map(pathlib.Path, sys.argv[1:]):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    with open(folder / "ids.jsonl", "w") as out:
        for text in texts:
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            out.write(json.dumps({"text": text, "ids": ids}) + "\n")
