"""Texts to tokenize, several thousand, the same each time."""

import pathlib
import random

REPEATED = ["a ", " a", "0 ", "hello ", " ", "\n", "\t", "a", "A", "0", "-", "=", "中", "🔥", "\r\n", " \n", "e\u0301"]

TEXTS = [
    "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。カタカナ、ﾊﾝｶｸｶﾅ。「引用」…ー〜",
    "这是一个测试。价格是１２３元，时间为2024年5月6日。𠮷野家 㐂 龦 龥",
    "안녕하세요 세계! 이것은 한국어 문장입니다. \u1112\u1161\u11ab\u1100\u1173\u11af",
    "مرحبا بالعالم، هذا اختبارٌ للّغةِ العربيةِ ١٢٣٤  שלום עולם, נִקּוּד",
    "नमस्ते दुनिया, क्षत्रिय १२३ สวัสดีชาวโลก นี่คือการทดสอบ বাংলা \u09c7\u09be தமிழ் \u0bc6\u0bbe",
    "Съешь же ещё этих мягких французских булок, да выпей чаю. Й И\u0306 Ё",
    "Tiếng Việt có nhiều dấu: ằ ẵ ộ ữ ỷ, Tie\u0302\u0301ng Vie\u0323\u0302t, die Äpfel größer, ÀÉÎ àéî ǅ ǈ ʰ",
    "cafe\u0301 A\u030a \u212b \u2126 \ufb01 ① Ⅷ ㎏ ｆｕｌｌ ½ ² \u0344 \u0958 \U0001d15e \U0002f803\u0301 \U00010041\u0301 \U00011099\U000110ba",
    "😀😃😄 👨‍👩‍👧‍👦 🏳️‍🌈 👍🏽 ❤️ 🇩🇪🇯🇵 1️⃣ #️⃣ 🤖🚀🔥💯",
    "a\u200db\u200cc\ufeffd\u00ade a\u00a0b\u2003c\u3000d\u2028e\u2029f\u0085g\u180eh",
    "a\x00b\x01c\x1b[31md\x7fe\x0bf\x0cg\x85h",
    "a  b   c    d\te\t\tf \t g\n\nh\n \n i\r\nj\r\n\r\nk  \n  l   ",
    "  lead\n\n\n   trail   \n\t\n",
    "x \u00a0 y  \u3000z \u2028 \n",
    "don't I'LL we'Ve it's O'Neil 'S 'tis y'all'd've I’m can’t 'ſ 'ſt 'K 'RE'vE'LL",
    "1 12 123 1234 12345 1,234,567.89 0x1F 1e-5 ١٢٣ ⅫⅣ ²³ ½ ௧௨",
    "HELLOworld HelloWorld helloWORLD iPhone XMLHttpRequest ÀÉÎàéîÀ ⅧA ªº",
    "!?#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ ...!!!??? --- *** «» “” ‘’ „“ — – … § © ® ™ € £ ¥ //\n/\r\n",
    "https://example.com/a/b?c=d&e=f#g user@host.tld /usr/local/bin C:\\Windows\\System32",
    "TWFuIGlzIGRpc3Rpbmd1aXNoZWQsIG5vdCBvbmx5IGJ5IGhpcyByZWFzb24sIGJ1dCBieSB0aGlz" * 3,
    "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n<tool_call>x</tool_call><|endoftext|>",
    "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|>",
    "<bos><start_of_turn>user\nhi<end_of_turn>\n<table><td>x</td></table>\n\n\n\n\t\t▁▁▁ ▁a <unused99><0x41>[multimodal]",
    "<｜begin▁of▁sentence｜>You<｜User｜>hi<｜Assistant｜><think></think><｜end▁of▁sentence｜><|EOT|>",
    "<|start|>user<|message|>hi<|end|><|start|>assistant<|channel|>final<|return|>",
    "<s>[INST]hi[/INST]</s>[TOOL_CALLS] [/INST] <SPECIAL_20><pad>",
    "<|im_start <|im_ start|> <| im_end|> <｜User <bos <|end <<|im_end|>> <|im_end|><|im_end|>",
    "▁ ▁▁ a▁b ▁hello Ġ ĠĠ Ċ Ã©",
    "\ue000\uf8ff\U000f0000\U0010ffff\ufffd\ufffe",
    "𝕳𝖊𝖑𝖑𝖔 𐍈 𓀀 𒀀 ꙮ 🜚 ᚠᛇᚻ ⵣ Ꮳ ꯀ ゟ ヿ",
]

POOLS = [
    list(" \t\n\r  "),
    list("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    list("0123456789"),
    list("'!\"#$%&()*+,-./:;<=>?@[]^_`{|}~"),
    list("中文字符日本語カナひらがな한글"),
    list("éüßñçÅøłžőАБвгдеёΑΩβγ"),
    list("😀🔥👍🏽\u200d\ufe0f🇩🇪"),
    list("\u0301\u0308\u0327\u0323\u0334\u200d\u00a0\u3000\u2028"),
    ["'s", "'t", "'re", "'LL", " the", " and", "ing", "tion", "   ", "\n\n", "\r\n", "  \n"],
]


def planes() -> range:
    """The code points of the planes that have characters."""
    return [*range(0xD800), *range(0xE000, 0x33480), *range(0xE0000, 0xE0200)]


def texts() -> list[str]:
    rng = random.Random(42)
    out = ["", *TEXTS]
    for atom in REPEATED:
        out += [atom * n for n in (1, 2, 3, 7, 17, 31, 100, 127, 128, 1000, 5000)]
    out += [atom * 50_000 for atom in REPEATED[:6]]
    root = pathlib.Path(__file__).parents[2]
    for path in "README.md", "collect/runner.go", "store/doc.go", "scripts/e2e.py", "Makefile", "go.sum":
        text = (root / path).read_text()
        out += [text, *(text[i : i + 1777] for i in range(0, len(text), 1777))]
    for _ in range(2000):  # mixes
        pools = rng.choices(POOLS, k=rng.randint(1, 80))
        out.append("".join("".join(rng.choices(p, k=rng.randint(1, 4))) for p in pools))
    points = planes()
    for i in range(0, len(points), 256):  # each code point among its neighbours, and between letters and marks
        block = [chr(c) for c in points[i : i + 256]]
        out.append("".join(block))
        out.append("".join(c + rng.choice("aA1 -\n中\u0301\u0334\u0323/") for c in block))
    for _ in range(500):  # any code points
        out.append("".join(chr(c) for c in rng.choices(points, k=rng.randint(1, 40))))
    for _ in range(500):  # marks upon marks
        marks = rng.choices([*range(0x300, 0x370), *range(0x1AB0, 0x1AD0), *range(0x1DC0, 0x1E00), *range(0x591, 0x5C0)], k=12)
        out.append("".join(rng.choice(["a", "e", "Å", "\u05d0", ""]) + chr(c) for c in marks))
    return out
