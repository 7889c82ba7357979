"""Writes the token ids that the reference library gives each text of the
corpus, without those that a post-processor adds, and the texts that it gives
parts of them.

usage: ids.py FOLDER...    FOLDER/tokenizer.json is read, FOLDER/ids.jsonl and
                           FOLDER/decoded.jsonl are written
"""

import json
import pathlib
import sys

from tokenizers import Tokenizer

import corpus
import decoded

texts = corpus.texts()
for folder in map(pathlib.Path, sys.argv[1:]):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    with open(folder / "ids.jsonl", "w") as out:
        for text in texts:
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            out.write(json.dumps({"text": text, "ids": ids}) + "\n")
    with open(folder / "decoded.jsonl", "w") as out:
        for row in decoded.rows(tokenizer, texts, 2000):
            out.write(json.dumps(row) + "\n")
