#!/usr/bin/env python3
"""What Jinja, set up as transformers does it, makes of chat templates.

    templates.py random SEED N      N random templates
    templates.py files FILE...      the given templates, each with many conversations

Writes JSON to stdout: a list of {name, template, system, user, want, refused, error}:
want is the rendering, refused the message of the template's raise_exception,
error says that Jinja stopped otherwise. Needs jinja2.
"""

import datetime
import functools
import json
import random
import sys

import jinja2
import jinja2.ext
import jinja2.nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}
DATE = datetime.datetime(2026, 3, 7, 9, 5, 1)


class Refused(Exception):
    pass


class Generation(jinja2.ext.Extension):
    """The {% generation %} block, which marks what the model says."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def refuse(message):
    raise Refused(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = refuse
    env.globals["strftime_now"] = DATE.strftime
    return env


@functools.lru_cache(1)
def compiled(env, template):
    return env.from_string(template)


def case(env, name, template, system, user):
    messages = [{"role": "system", "content": system}] if system else []
    messages.append({"role": "user", "content": user})
    out = {"name": name, "template": template, "system": system, "user": user}
    try:
        out["want"] = compiled(env, template).render(messages=messages, tools=None, documents=None, add_generation_prompt=True, **SPECIAL)
    except Refused as e:
        out["refused"] = str(e)
    except Exception as e:
        out["error"] = f"{type(e).__name__}: {e}"
    return out


USERS = ["", " a", "a " * 50, "Hello, world!", "  lead and trail \n\n", "one\ntwo\n\n\tthree", "中文 émoji 🔥 \u00a0", "\u2003wide\x1f",
         "<b>&amp; \"double\" 'single' {{ no }} {% no %} {# no #} \\n", "<think>x</think> </think> tail", "<|im_end|><|eot_id|>[INST]"]
SYSTEMS = ["", "You are a benchmark. ", " able also area\n"]


class Maker:
    """Makes random templates of what chat templates are made of."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.loop = False

    def pick(self, *choices):
        c = self.r.choice(choices)
        return c() if callable(c) else c

    def space(self):
        return "".join(self.pick(" ", "\n", "\t", "", "  ", "\n\n", "a", "b ", " c", "\n  ", "\r\n", "<|x|>", "{ ", "}", "\\", '"', "é") for _ in range(self.r.randint(0, 4)))

    def mark(self):
        return self.pick("", "-", "", "-", "+")

    def out(self):
        if self.r.random() < 0.02:
            return self.pick("{{ none }}", "{{ tools }}", "{{ messages[0].get('name') }}")
        return "{{" + self.pick("", "-", " ") + self.pick(" ", "") + self.text() + self.pick(" ", "", " -") + "}}"

    def tag(self, body):
        return "{%" + self.mark() + self.pick(" ", "", "\n  ") + body + self.pick(" ", "") + self.mark() + "%}"

    def literal(self):
        return self.pick("'x'", '"y"', "'\\n'", "'it\\'s'", "' \\t '", '"}}"', "'%}'", "'{#'", "'\\u2581b'", "'a\\\\n'", "'\\q'", "'é'", "''", "'-'", "'Zq zQ-w (e'", "'\\x41\\r'")

    def text(self, depth=0):
        if depth > 2:
            return self.pick(self.literal, "bos_token", "v", "messages[0].content")
        t = lambda: self.text(depth + 1)
        return self.pick(
            self.literal, "bos_token", "eos_token", "v", "w", "messages[0]['content']", "messages[-1].content", "messages[0].role",
            lambda: "(" + t() + " + " + t() + ")", lambda: t() + " ~ " + t(), lambda: "(" + t() + " if " + self.test() + " else " + t() + ")",
            lambda: "(" + t() + ")|" + self.pick("trim", "upper", "lower", "title", "capitalize", "length|string", "string", "first", "last", "tojson", "replace('a', 'bb')", "trim('x<')", "default('d')", "list|join(', ')"),
            lambda: "(" + t() + ")." + self.pick("strip()", "lstrip()", "rstrip('\\n')", "upper()", "title()", "capitalize()", "split('a')[-1]", "split()|join('.')", "split('a', 1)|last", "replace('a', 'e')", "replace(' ', '', 2)", "removeprefix('x')", "removesuffix('y')", "lstrip(' a')"),
            lambda: "(" + t() + ")" + self.pick("[1:]", "[:-1]", "[::-1]", "[:3]", "[-2:]"),
            "unknown", "ns.s", "messages|length|string", "strftime_now('%d %b %Y')", "(messages|selectattr('role', 'equalto', 'user')|list|length|string)", lambda: "loop.index0" if self.loop else "v",
            "messages[0].get('name', 'none')", "f(v)", "f(v, 'p')", "messages|map(attribute='role')|join(' ')", "('a', 'b')[1]", "{'a': {'b': 'c'}}['a']['b']", "['p', 'q'][0]", lambda: self.pick("3", "true", "v", "v"))

    def test(self, depth=0):
        s = lambda: self.text(2)
        return self.pick(
            "true", "false", "messages[0].role == 'system'", "messages[0]['role'] != \"user\"", "tools", "tools is defined", "tools is not none", "unknown is not defined",
            "not unknown", "enable_thinking is defined and enable_thinking is false", lambda: s() + " in " + s(), lambda: s() + " not in " + s(), lambda: s() + " is string", lambda: s() + " is not string",
            "v is sequence", "unknown is sequence", "(messages|length) is odd", "(v is string) != (3 is number)", "messages[0].role is equalto('user')", "unknown is not none", "messages is not sequence", "messages[0] is sequence", lambda: s() + " is not mapping", "w is defined and w is iterable", lambda: "(" + s() + ").startswith('a')", lambda: "(" + s() + ").endswith(('b', ' '))",
            lambda: "not " + s(), lambda: s() + " == " + s(), "messages|length > 1", "messages | length % 2 == 1", "ns.n < 2", "messages[1:]", "add_generation_prompt", "messages is iterable",
            lambda: self.test(depth + 1) + " and " + self.test(depth + 1) if depth < 2 else "true", lambda: "(" + self.test(depth + 1) + " or " + self.test(depth + 1) + ")" if depth < 2 else "false")

    def block(self, depth, loop):
        body = lambda inner=loop: self.body(depth + 1, inner)
        kind = self.r.random()
        if kind < 0.35:
            s = self.tag("if " + self.test()) + body()
            if self.r.random() < 0.2:
                s += self.tag("elif " + self.test()) + body()
            if self.r.random() < 0.5:
                s += self.tag("else") + body()
            return s + self.tag("endif")
        if kind < 0.65:
            head = self.pick("for m in messages", "for m in messages[1:]", "for m in messages if m.role != 'system'", "for c in 'ab'", "for i in range(3)", "for k, x in messages[0].items()")
            first = self.pick("", "{{ loop.index }}", "{{ loop.first }}{{ loop.last }}", "{{ w }}", "{{ v }}")
            s = self.tag(head) + first + body(True)
            if self.r.random() < 0.1 and "break" not in s and "continue" not in s:
                s += self.tag("else") + body(False)
            return s + self.tag("endfor")
        if kind < 0.7:
            return self.tag("set w") + body() + self.tag("endset")
        if kind < 0.75:
            return "{%" + self.pick("", "-", " ") + "raw " + self.pick("", "-") + "%}" + self.space() + self.pick("{{ x }}", "{% if %}", "{# c #}", "") + self.space() + self.tag("endraw")
        if kind < 0.8:
            return self.tag("generation") + self.space() + self.out() + self.tag("endgeneration")
        return self.tag(self.pick("macro g(p, q='z')", "macro g(p, q=none)")) + self.body(2, False) + "{{ p }}" + self.tag("endmacro") + "{{ g('1') }}{{ g(v, q='2') }}"

    def body(self, depth, loop):
        outer, self.loop = self.loop, loop
        s = self.pieces(depth, loop)
        self.loop = outer
        return s

    def pieces(self, depth, loop):
        s = ""
        for _ in range(self.r.randint(1, 4)):
            s += self.space()
            k = self.r.random()
            if k < 0.35:
                s += self.out()
            elif k < 0.42:
                s += "{#" + self.mark() + self.pick(" c ", " {{ x }} ", " it's ", "\n") + self.mark() + "#}"
            elif k < 0.6:
                s += self.tag(self.pick("set v = ", "set w=", "set ns.s = ", "set u = ") + self.text())
            elif k < 0.65:
                s += self.tag("set ns.n = ns.n + 1")
            elif k < 0.68 and loop:
                s += self.tag("if " + self.test()) + self.tag(self.pick("break", "continue")) + self.tag("endif")
            elif k < 0.7:
                s += self.tag("if " + self.test()) + "{{ raise_exception('no ' ~ messages[0].role) }}" + self.tag("endif") if self.r.random() < 0.2 else ""
            elif depth < 3:
                s += self.block(depth, loop)
        return s + self.space()

    def template(self):
        head = "{%- set ns = namespace(n=0, s='s') %}{% macro f(x, y='d') %}" + self.space() + "[{{ x }}{{ y }}]{% endmacro %}{% set v = 'v0' %}"
        return head + self.body(0, False)


def main(kind, *args):
    env = environment()
    out = []
    if kind == "random":
        maker = Maker(int(args[0]))
        for i in range(int(args[1])):
            out.append(case(env, f"random {i}", maker.template(), maker.pick(*SYSTEMS), maker.pick(*USERS)))
    else:
        for path in args:
            with open(path) as f:
                template = f.read()
            out += [case(env, path.rsplit("/", 1)[-1], template, s, u) for s in SYSTEMS for u in USERS]
    json.dump(out, sys.stdout, ensure_ascii=False, indent=0)


main(*sys.argv[1:])
