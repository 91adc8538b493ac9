from __future__ import annotations

import pyarrow as pa
import pytest

from mars.algebra.evaluate import FUNCTIONS, evaluate
from mars.algebra.evaluation.text import like_pattern
from mars.algebra.functions import SCALARS
from mars.model.expressions import Call, Column, Literal

TEXT = Column("s", "STRING")


def test_every_scalar_function_is_implemented_and_no_other() -> None:
    assert set(FUNCTIONS) == set(SCALARS)


def test_a_constant_fills_all_rows() -> None:
    assert evaluate(Literal("1.50", "DECIMAL(3,2)"), {}, 2).to_pylist() == pa.array([1.5, 1.5]).cast(
        pa.decimal128(3, 2)).to_pylist()
    folded = Call("add", (Literal(2**31 - 1, "INT"), Literal(1, "INT")), "INT")
    assert evaluate(folded, {}, 1).to_pylist() == [-(2**31)]


def test_text_functions_are_computed_on_the_dictionary_alone() -> None:
    column = pa.array(["a", "b", None, "a"]).dictionary_encode()
    upper = evaluate(Call("upper", (TEXT,), "STRING"), {"s": column}, 4)
    assert isinstance(upper, pa.DictionaryArray)
    assert len(upper.dictionary) == 2
    assert upper.to_pylist() == ["A", "B", None, "A"]
    equal = evaluate(Call("eq", (TEXT, Literal("a", "STRING")), "BOOLEAN"), {"s": column}, 4)
    assert equal.to_pylist() == [True, False, None, True]


@pytest.mark.parametrize("coded", [False, True])
def test_null_reaches_the_functions_that_answer_it(coded: bool) -> None:
    column = pa.array(["a", None])
    columns = {"s": column.dictionary_encode() if coded else column}
    assert evaluate(Call("is_null", (TEXT,), "BOOLEAN"), columns, 2).to_pylist() == [False, True]
    assert evaluate(Call("coalesce", (TEXT, Literal("-", "STRING")), "STRING"), columns, 2).to_pylist() == ["a", "-"]


def test_a_function_of_no_rows_has_no_rows() -> None:
    for function in ("upper", "trim", "to_date"):
        argument = Call("cast", (TEXT,), "DATE") if function == "to_date" else TEXT
        type_ = "DATE" if function == "to_date" else "STRING"
        assert len(evaluate(Call(function, (argument,), type_), {"s": pa.array([], pa.string())}, 0)) == 0


def test_chunked_columns_are_one_column() -> None:
    column = pa.chunked_array([pa.array([1]), pa.array([2])])
    assert evaluate(Column("i", "BIGINT"), {"i": column}, 2).to_pylist() == [1, 2]


def test_like_patterns_are_taken_literally_but_for_their_signs() -> None:
    assert like_pattern("a.c%_\\%") == r"(?s)\Aa\.c.*.%\z"
