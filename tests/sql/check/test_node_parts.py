"""Every part of a tree that sqlglot may set is read, or refused."""

from __future__ import annotations

import pytest

from mars.model.plan import Stream
from sql.check.compile import compile_select
from sql.check.node_parts import READ
from sql.check.nodes import BINARY, METHODS, REFUSED
from sql.read.parse import parse


def test_what_is_read_is_listed_for_every_kind_of_node_that_is_lowered() -> None:
    assert set(BINARY) | (set(METHODS) - set(REFUSED)) <= set(READ)


@pytest.mark.parametrize("product", ["type * abs(type)", "(type) * replace(sip, 'a')"])
def test_a_call_after_a_product_is_no_word_of_a_star(flows: Stream, product: str) -> None:
    select = parse(f"SELECT {product} FROM flows")
    assert type(select.tree.expressions[0]).__name__ == "Mul"
    if product.startswith("type"):
        assert compile_select(select, flows, continuous=False).presentation.outputs[0].type == "INT"
