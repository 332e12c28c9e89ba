# SPDX-License-Identifier: MIT
"""Reads the handlers of algorithms out of their C, as pseudo-code: what the explorer shows of the step just taken.

The words are those of texts: `cv_signal(me, message->from, OK)` becomes `send OK to sender`. So the page says what the
code does, whatever changes in it. tests/pseudo_code.py holds it to leave nothing of C that a reader would trip over.
"""
import re

HANDLERS = ("start", "recover", "timeout", "suspect", "trust", "request", "release", "pulse")
TYPE = r"(?:const )?(?:struct \w+|enum \w+|cv_\w+|u?int\d+_t|bool|size_t|unsigned char|unsigned|char) \*?(?:const )?"

# A call as texts say it. {0} is the first argument after `me`,
CALLS = {
    "cv_arm": "set timer {0} to {1}", "cv_before": "({0}, {1}) comes before ({2}, {3})", "cv_bits_add": "add {1} to {0}",
    "cv_bits_has": "{1} is in {0}", "cv_bits_take": "take {1} out of {0}", "cv_bound": "D",
    "cv_call": "call an election", "cv_cancel": "stop timer {0}", "cv_choose": "choose below {0}",
    "cv_clock": "my clock", "cv_coordinator": "the coordinator", "cv_degree": "number of neighbours",
    "cv_elected": "elect {0}", "cv_enter": "enter, fence {0}", "cv_fence": "{0}",
    "cv_fence_after": "the fence after {0}", "cv_follows": "I follow {0}", "cv_id_of": "id of {0}",
    "cv_knows_leader": "I know a leader", "cv_leader": "my leader", "cv_list": "list of {0}",
    "cv_list_has": "{1} is in the list of {0}", "cv_my_id": "my id", "cv_my_rank": "my rank",
    "cv_neighbour": "neighbour {0}", "cv_neighbour_index": "place of {0}", "cv_no_leader": "forget the leader",
    "cv_nodes": "n", "cv_note": "note {0}", "cv_predecessor": "my predecessor", "cv_present": "{0} is present",
    "cv_quorum_size": "number of voters of {0}", "cv_rank_attribute": "attribute of {0}", "cv_rank_id": "id of {0}",
    "cv_rank_make": "({0}, {1})", "cv_rank_of": "rank of {0}", "cv_request_fence": "the fence of this request",
    "cv_result": "result {0}", "cv_round": "round", "cv_round_done": "all rounds are done",
    "cv_round_keep": "keep {0} for its round", "cv_round_next": "send the messages of the next round",
    "cv_rounds": "number of rounds", "cv_successor": "my successor", "cv_suspected": "{0} is suspected",
    "cv_voter": "voter {1} of {0}", "cv_weight": "weight of link {0}", "cv_yield": "give up the call",
    "memmove": "move {1} to {0}", "memset": "clear {0}",
}


# ---- the text of a file ----

def functions(text):
    """name -> (comment, arguments, body) of the functions of a file, in their order."""
    found = {}
    pattern = re.compile(r"((?:^/\*(?:[^*]|\*(?!/))*\*/\n)?)^(?:static )?(?:inline )?[\w ]+[ *](\w+)\(([^;{]*)\)\n\{\n(.*?)^\}\n",
                         re.M | re.S)
    for comment, name, arguments, body in pattern.findall(text):
        words = " ".join(re.sub(r"^\s*(/\*|\*/|\*)?", "", line).replace("*/", "").strip() for line in comment.split("\n"))
        found[name] = (re.sub(r"[=-]{4,}", "", words).strip(), arguments, body)
    return found


def tables(text):
    """name of an algorithm -> {handler: function, "receive": {kind: function}}"""
    kinds = {}
    for array, rows in re.findall(r"struct cv_kind (\w+)\[\] = \{\n(.*?)^\};", text, re.M | re.S):
        found = re.findall(r'CV_(?:SIGNAL\("([\w-]+)",\s*(\w+)\)|KIND\("([\w-]+)",\s*[\w ]+,\s*(\w+),)', rows)
        kinds[array] = {signal or kind: one or other for signal, one, kind, other in found}
    made = {}
    for rows in re.findall(r"^const struct cv_algorithm \w+ = \{\n(.*?)^\};", text, re.M | re.S):
        name = re.search(r'\.name = "([\w-]+)"', rows).group(1)
        array = re.search(r"\.kinds = (\w+)", rows)
        made[name] = {handler: function for handler, function in re.findall(r"\.(\w+) = (\w+),", rows) if handler in HANDLERS}
        made[name]["receive"] = kinds.get(array.group(1), {}) if array else {}
    return made


# ---- expressions ----

def closing(text, start):
    """Where the parenthesis or brace that opens at `start` closes."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] in "({[") - (text[i] in ")}]")
        if depth == 0:
            return i
    raise ValueError(f"unbalanced: {text}")


def arguments_of(text):
    parts, depth, last = [], 0, 0
    for i, letter in enumerate(text + ","):
        depth += (letter in "({[") - (letter in ")}]")
        if letter == "," and depth == 0:
            parts.append(text[last:i].strip())
            last = i + 1
    return [part for part in parts if part]


def body_of(text):
    """What a message carries: `&(struct stamp){my->time}` is (time)."""
    literal = re.match(r"&\(struct \w+\)\{(.*)\}$", text)
    inner = literal.group(1) if literal else text.lstrip("&")
    return f"({inner})"


def said(name, words):
    """A call in words."""
    if name == "cv_parameter":
        return words[0].lower()
    if name == "cv_signal":
        return f"send {words[1]} to {words[0]}"
    if name == "cv_multicast_signal":
        return f"send {words[0]} to all"
    if name == "cv_multicast":
        return f"send {words[0]}{body_of(words[1])} to all"
    if name == "cv_send_around":
        return f"send {words[1]}{body_of(words[2])} to the {words[0]} members after me"
    if name == "cv_send":
        return f"send {words[1]}{body_of(words[2])} to {words[0]}"
    if name == "cv_send_list":
        return f"send {words[1]}{body_of(words[2])} with a list to {words[0]}"
    if name in CALLS:
        return CALLS[name].format(*words, *[""] * 3)
    if name.startswith("cv_"):
        name = name[3:].replace("_", " ")
    return f"{name}({', '.join(words)})" if words else name


def calls(text):
    """Every call in words, the inner ones first."""
    at = 0
    while match := re.compile(r"\b([a-z_]\w*)\(").search(text, at):
        name, start = match.group(1), match.end() - 1
        if name in ("if", "while", "for", "switch", "sizeof", "return"):
            at = match.end()
            continue
        end = closing(text, start)
        words = [calls(word) for word in arguments_of(text[start + 1:end]) if word not in ("me", "my", "me->state")]
        spoken = said(name, words)
        text = text[:match.start()] + spoken + text[end + 1:]
        at = match.start() + len(spoken)
    return text


def expression(text, bodies):
    """Names and signs as texts write them. In C an ` = ` assigns, and ` == ` compares."""
    text = text.replace(" = ", " := ")
    text = calls(text)
    text = re.sub(r"\((?:u?int\d+_t(?: \*)?|cv_\w+|const void \*|void \*|struct \w+ \*|unsigned|size_t|enum \w+)\)", "", text)
    while "{" in text:
        text = re.sub(r"(?:\(struct \w+\))?\{([^{}]*)\}", r"(\1)", text)
    text = re.sub(r"\bmy->", "my\0", text)
    for body in bodies:
        text = re.sub(rf"(?<![\w.\0])\*?{body}\b(?:->)?", lambda it: "message" + "." * it.group(0).endswith(">"), text)
    for pattern, words in NAMES:
        text = re.sub(pattern, words, text)
    return text.replace("\0", " ")


# What is left of C's names and signs, and what texts write.
NAMES = (
    (r"\bmessage->from\b", "sender"), (r"\bme->node\b", "me"), (r"\bme->group\b", "group"), (r"->", "."),
    (r"\bCV_NOBODY\b", "nobody"), (r"\bCV_NEVER\b", "never"), (r"\bCV_NO_WAY\b", "no way"),
    (r"sizeof\(struct (\w+)\)", r"size of a \1"), (r"\bNULL\b", "nothing"),
    (r"(\S+) &= ~(\w+)", r"\1 := \1 without \2"), (r"(\S+) &= (.*)", r"\1 := \1 and \2"),
    (r"(\S+) \|= (.*)", r"\1 := \1 or \2"), (r"(\S+) & 1\b", r"\1 mod 2"), (r" & ([A-Z]\w*)", r" has \1"),
    (r"&(?=[a-z_(])(?<!&&)", ""), (r"(^|[ (])\*(?=[a-z_])(?<!\w \*)(?<!\) \*)", r"\1"), (r":= \*(?=\w)", ":= "),
    (r"&&", "and"), (r"\|\|", "or"), (r"!(?!=)", "not "), (r"!=", "≠"), (r"<=", "≤"), (r">=", "≥"), (r"==", "="),
    (r"\b(\d+)(?:[uU]?[lL]{0,2})\b", r"\1"), (r"--(my\0[\w.]+|\w+)", r"\1 (now one less)"),
    (r"\+\+(my\0[\w.]+|\w+)", r"\1 (now one more)"), (r"(?<=\w)\+\+(?=.)", " (then one more)"), (r"(:= .*)\+\+$", r"\1 (then one more)"),
    (r"\(\.(?=\w)", "("), (r", \.(?=\w)", ", "),
)


# ---- statements ----

def statements(body):
    """(indent, statement, comment) of each; what goes over several lines is one."""
    lines = body.split("\n")
    i = 0
    while i < len(lines):
        indent = (len(lines[i]) - len(lines[i].lstrip())) // 4
        text = lines[i].strip()
        i += 1
        if text.startswith("/*"):
            while "*/" not in text:
                text += " " + lines[i].strip()
                i += 1
            yield indent, "", re.sub(r"/\*|\*/| \* ", " ", text).strip()
            continue
        comment = ""
        while True:
            match = re.search(r"/\* (.*?) \*/", text)
            if match:
                comment, text = match.group(1), text.replace(match.group(0), "").rstrip()
            header = re.match(r"(\} )?(if|else if|while|for|switch)\b", text)
            whole = text.count("(") == text.count(")") and text.count("{") - text.count("}") in (0, 1, -1)
            if not text or (whole and (text[-1] in ";{}:" or (header and text[-1] == ")") or text in ("else", "do"))):
                break
            if whole and header is None and text.startswith("} else"):
                break
            if i == len(lines):
                break
            text += " " + lines[i].strip()
            i += 1
        yield indent, text, comment


def loop(header):
    every = re.match(r"(?:cv_node|uint\d+_t|size_t) (\w+) = 0; \1 < (.+); \1\+\+$", header)
    if not every:
        start, condition, _ = (re.sub(r"^" + TYPE, "", part.strip()) for part in header.split(";"))
        return f"from {start} while {condition}" if start else f"while {condition}"
    name, limit = every.groups()
    if limit == "cv_nodes(me)":
        return "for every node" if name == "node" else f"for every node {name}"
    if limit == "cv_degree(me)":
        return f"for every neighbour {name}"
    return f"for every {name} below {limit}"


def statement(text, bodies):
    """One statement in words; None if it says nothing to a reader."""
    text = text.removeprefix("} ").removesuffix("{").strip()
    if text in ("", "}", "};") or re.match(r"\(void\)|assert\(|(const )?struct state \*my =|static ", text):
        return None
    body = re.match(r"(?:const )?struct \w+ \*(?:const )?(\w+) = cv_body\(message\);$", text)
    if body:
        bodies.append(body.group(1))
        return None
    header = re.match(r"(else if|if|while|switch|for) \((.*)\)( .*;)?$", text)
    if header:
        word, inner, rest = header.groups()
        spoken = expression(loop(inner) if word == "for" else inner, bodies)
        after = statement(rest.strip(), bodies) if rest else None
        head = f"{'by' if word == 'switch' else word} {spoken}" if word != "for" else spoken
        return f"{head}:" + (f" {after}" if after else "")
    if text in ("else", "do"):
        return f"{text}:"
    if re.match(r"(case .*|default):$", text):
        return text
    if re.match(TYPE + r"\w+(\[\w*\])?(, \w+)*;$", text):
        return None
    text = re.sub(r"^" + TYPE + r"(?=\w+(\[\w*\])? = )", "", text).removesuffix(";")
    spoken = expression(text, bodies)
    for pattern, words in STATEMENTS:
        spoken = re.sub(pattern, words, spoken)
    return spoken


STATEMENTS = (
    (r"^([^:]*?)\+\+$", r"add 1 to \1"), (r"^([^:]*?)--$", r"take 1 from \1"), (r"^(.*?) \+= (.*)$", r"add \2 to \1"),
    (r"^(.*?) -= (.*)$", r"take \2 from \1"), (r"^(.* := |return )([^?]*) \? ([^?]*) : ([^?]*)$", r"\1\3 if \2, else \4"),
)


def pseudo(body):
    """The lines of a function as pseudo-code."""
    lines, bodies = [], []
    for indent, text, comment in statements(body):
        spoken = statement(text, bodies)
        if not spoken and not comment:
            continue
        line = "    " * max(0, indent - 1) + (spoken or "")
        lines.append(line + (f"  # {comment}" if spoken and comment else f"# {comment}" if comment else ""))
    return lines or ["nothing"]


# ---- what the page gets ----

def reachable(names, found):
    """The functions that these call, and so on, in the order in which they are met."""
    order, waiting = [], list(names)
    while waiting:
        name = waiting.pop(0)
        if name in order or name not in found:
            continue
        order.append(name)
        waiting += [other for other in called(found[name][2]) if other in found]
    return order


def called(body):
    """What a function calls; assertions are no part of the algorithm."""
    return dict.fromkeys(re.findall(r"\b(\w+)\(", re.sub(r"\bassert\(.*?\);", "", body, flags=re.S)))


def title_of(name, arguments):
    shown = [re.sub(r".*[ *]", "", word) for word in arguments_of(arguments)]
    shown = [word for word in shown if word not in ("me", "message", "my")]
    return f"{name}({', '.join(shown)})" if shown else name


def algorithms(path):
    """name -> {"handlers": {…}, "functions": {name: {"title", "about", "lines", "calls"}}} of a file."""
    text = path.read_text(encoding="utf-8")
    found = functions(text)
    made = {}
    for name, table in tables(text).items():
        receive = table.pop("receive")
        names = reachable([*table.values(), *receive.values()], found)
        made[name] = {
            "handlers": {**table, "receive": receive},
            "functions": {
                function: {"title": title_of(function, found[function][1]), "about": found[function][0],
                           "lines": pseudo(found[function][2]),
                           "calls": [other for other in called(found[function][2]) if other in names and other != function]}
                for function in names},
        }
    return made
