"""Every function and cast on columns without rows, and on columns of NULLs alone."""

from __future__ import annotations

import pyarrow as pa
import pytest

from mars.algebra.evaluate import evaluate
from mars.model import types
from mars.model.expressions import Column
from tests.mars.algebra.test_evaluate_against_spark import VALUES, cases_of, typed

COLUMNS = {"a": "STRING", "b": "STRING", "n": "INT"}
BY_COLUMN = (("left", "a", "n"), ("right", "a", "n"), ("substring", "a", "n"), ("substring", "a", "n", "n"),
             ("substring", "'text", "n"), ("replace", "a", "b"), ("replace", "a", "'x", "b"), ("contains", "'text", "b"))


@pytest.mark.parametrize("rows", [0, 2])
@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("type_", VALUES)
def test_every_function_and_cast_of_columns_without_values(type_: str, coded: bool, rows: int) -> None:
    column = pa.nulls(rows, types.to_arrow(type_))
    column = column.dictionary_encode() if coded and type_ == "STRING" else column
    columns = {"a": column, "b": column, "n": pa.nulls(rows, pa.int32())}
    cases = [expression for _, expression in cases_of(type_)]
    if type_ == "STRING":
        cases += [typed(case, COLUMNS) for case in BY_COLUMN]
    for expression in (Column("a", type_), *cases):
        ours = evaluate(expression, columns, rows)
        assert len(ours) == rows, expression
        wanted = types.to_arrow(expression.type)
        assert (ours.type.value_type if isinstance(ours, pa.DictionaryArray) else ours.type) == wanted, expression
