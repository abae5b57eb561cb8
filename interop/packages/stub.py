"""Compares _client.pyi, the types of the clients, with the clients that run."""

import ast
import inspect
import pathlib

import askbus
from askbus import _questions as questions

text = pathlib.Path(askbus.__file__).with_name("_client.pyi").read_text(encoding="utf-8")
classes = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}


def fields(name):
    return {node.target.id for node in classes[name].body if isinstance(node, ast.AnnAssign)}


def same(what, stub, runs):
    assert stub == runs, f"{what}: only in _client.pyi {sorted(stub - runs)}, only in what runs {sorted(runs - stub)}"


said = fields("_Said")
same("an ask", said, questions.ENVELOPE | {"id", "wait"})
for name in ("Askbus", "AsyncAskbus"):
    methods = [node for node in classes[name].body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    public = {member for member, value in vars(getattr(askbus, name)).items() if inspect.isfunction(value) and not member.startswith("_")}
    same(name, {node.name for node in methods if not node.name.startswith("_")}, public)
    for node in methods:
        given = {arg.arg for arg in node.args.args + node.args.kwonlyargs} - {"self"}
        if node.name in ("choose", "confirm", "text", "number", "date"):
            kind = {"choose": "choice", "confirm": "boolean"}.get(node.name, node.name)
            more = fields("_" + node.args.kwarg.annotation.slice.id.removeprefix("_")) | fields("_Asked")
            same(f"{name}.{node.name}", (given | more) - {"text", "options", "placeholder"}, {"default", "header", "required", *questions.FIELDS[kind]})
        elif name == "Askbus":
            runs = {p.name for p in inspect.signature(getattr(askbus.Askbus, node.name)).parameters.values() if p.kind != p.VAR_KEYWORD}
            same(f"{name}.{node.name}", given | ({"id", "wait"} if node.name == "ask" else set()), runs - {"self", "_call"})
print("the same")
