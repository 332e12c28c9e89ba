# SPDX-License-Identifier: MIT
"""Assertions that tell what they saw: `assert a == b` fails with the values of both, without a word in the test."""

import ast
import importlib.machinery
import importlib.util
import pathlib
import sys

LONGEST = 2000


def show(value):
    text = repr(value)
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


class Rewriter(ast.NodeTransformer):
    """Keeps what an assertion compares in names of its own, and puts them into its message."""

    def __init__(self):
        self.count = 0

    def keep(self, value, into):
        self.count += 1
        name = f"_seen_{self.count}"
        into.append(ast.Assign([ast.Name(name, ast.Store())], value))
        return ast.Name(name, ast.Load())

    def visit_Assert(self, node):  # pylint: disable=invalid-name
        """`assert a and b` becomes `assert a; assert b`: the second is looked at only if the first holds."""
        parts = node.test.values if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And) else [node.test]
        result = []
        for part in parts:
            result += self.one(part, node)
        for each in result:
            ast.copy_location(each, node)
            ast.fix_missing_locations(each)
        return result

    def one(self, test, node):
        steps, source = [], ast.unparse(test)
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            left, right = self.keep(test.left, steps), self.keep(test.comparators[0], steps)
            test, seen = ast.Compare(left, test.ops, [right]), [left, right]
        else:
            test = self.keep(test, steps)
            seen = [test]
        words = [ast.Constant(source)]
        words += [ast.Call(ast.Name("_show", ast.Load()), [name], []) for name in seen]
        if node.msg:
            words.append(node.msg)
        return [*steps, ast.Assert(test, ast.Call(ast.Name("_tell", ast.Load()), words, []))]


def tell(source, *words):
    return f"{source}: " + ", ".join(str(word) for word in words)


def compiled(source, path):
    tree = Rewriter().visit(ast.parse(source, path))
    return compile(tree, path, "exec")


class Loader(importlib.machinery.SourceFileLoader):
    """Compiles the module each time: a cached one was compiled without this."""

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        return compiled(self.get_data(path), path)

    def exec_module(self, module):
        module._show, module._tell = show, tell
        super().exec_module(module)


class Finder:
    """Finds the modules that lie beside the tests."""

    def __init__(self, *directories):
        self.directories = directories

    def find_spec(self, name, _path=None, _target=None):
        for directory in self.directories:
            path = directory / f"{name}.py"
            if path.exists():
                return importlib.util.spec_from_file_location(name, path, loader=Loader(name, str(path)))
        return None


def install():
    here = pathlib.Path(__file__).resolve().parents[1]
    sys.meta_path.insert(0, Finder(here / "live", here / "client"))


def retold(tests):
    """The same functions of the program that runs, compiled so that they tell."""
    main = sys.modules["__main__"]
    tree = ast.parse(pathlib.Path(main.__file__).read_text(encoding="utf-8"), main.__file__)
    # The other statements of the module have been executed.
    tree.body = [step for step in tree.body if isinstance(step, (ast.FunctionDef, ast.ClassDef))]
    main._show, main._tell = show, tell
    exec(compile(Rewriter().visit(tree), main.__file__, "exec"), vars(main))  # pylint: disable=exec-used
    return [vars(main).get(test.__name__, test) for test in tests]
