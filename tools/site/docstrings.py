"""Docstrings below the fields of a class, which Python itself does not keep."""

import ast
import inspect


def field_docstrings(cls: type) -> dict[str, str]:
    """The docstring below each annotated field of a class, by name."""
    (body,) = ast.parse(inspect.getsource(cls)).body
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for statement, following in zip(body.body, body.body[1:], strict=False):
        match statement, following:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = text
    return found
