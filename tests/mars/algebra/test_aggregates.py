"""Each aggregate where SQL is not obvious: NULL, overflow, NaN, ties, one value, no value."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from mars.algebra import aggregates
from mars.algebra.aggregate_functions import AGGREGATES
from mars.algebra.partials import Order
from mars.model import types
from mars.model.expressions import Column
from mars.model.partials import AggregateCall
from tests.mars.algebra import kept

NAN = float("nan")


def result(function: str, values: list, type_: str, selected: list | None = None, times: list | None = None,
           offsets: list | None = None, second: list | None = None, options: tuple = ()) -> object:
    """The aggregate's value for one group: computed at once, and tuple by tuple with a merge; both must agree."""
    call = kept.call_of(function, type_, options=options)
    array = pa.array(values, types.to_arrow(type_))
    others = pa.array(values if second is None else second, types.to_arrow(type_)) if call.second else None
    mask = None if selected is None else np.array(selected, np.bool_)
    order = Order(np.array(times or [0] * len(values), np.int64), 0,
                  np.array(offsets or range(len(values)), np.int64), np.zeros(len(values), np.int32))
    ids = np.zeros(len(values), np.int32)
    at_once = kept.update(call, array, mask, ids, 1, order, others)
    # Group i holds tuple i alone, and all of them are then merged to group 0.
    single = kept.update(call, array, mask, np.arange(len(values), dtype=np.int32), len(values), order, others)
    merged = kept.merge(call, single, ids, 1)
    assert [p.type for p in merged] == [p.type for p in at_once] == kept.columns(call)
    value, again = (aggregates.finish(call, partials)[0].as_py() for partials in (at_once, merged))
    assert value == again or (value != value and again != again)
    assert aggregates.finish(call, at_once).type in (types.to_arrow(call.type), pa.dictionary(pa.int32(), pa.string()))
    return value


COUNTS = ("count", "count_distinct", "approx_count_distinct")


@pytest.mark.parametrize("function", [name for name in AGGREGATES if name not in (*COUNTS, "hll_sketch_agg")])
def test_without_values_the_answer_is_null(function: str) -> None:
    type_, value = ("BOOLEAN", True) if function.startswith("bool") else ("STRING", "a") if function == "string_agg" else (
        "DOUBLE", 1.0)
    assert result(function, [None, None], type_) is None
    assert result(function, [value], type_, selected=[False]) is None


@pytest.mark.parametrize("function", COUNTS)
def test_counts_without_values_are_zero(function: str) -> None:
    assert result(function, [None], "STRING") == 0
    assert result(function, ["a"], "STRING", selected=[False]) == 0


def test_integers_wrap() -> None:
    assert result("sum", [2**63 - 1, 1], "BIGINT") == -(2**63)
    assert result("sum", [2**31 - 1, 1, None], "INT") == 2**31


def test_sums_of_doubles_keep_what_cancels() -> None:
    assert result("sum", [1e16, 1.0, -1e16], "DOUBLE") == 1.0
    assert result("sum", [1.0, float("inf")], "DOUBLE") == float("inf")
    assert result("sum", [float("-inf"), float("inf")], "DOUBLE") != 0.0
    assert result("sum", [1e308, 1e308], "DOUBLE") == float("inf")


def test_decimals_are_exact_and_null_on_overflow() -> None:
    assert result("sum", [Decimal("0.10"), Decimal("0.20")], "DECIMAL(10,2)") == Decimal("0.30")
    most = Decimal("9" * 38)
    assert result("sum", [most, Decimal(1)], "DECIMAL(38,0)") is None
    assert result("sum", [most, most, Decimal("-" + "9" * 38), Decimal(-5)], "DECIMAL(38,0)") == Decimal(
        "9" * 37 + "4")
    assert result("avg", [Decimal("0.01"), Decimal("0.02"), Decimal("0.02")], "DECIMAL(10,2)") == Decimal("0.016667")
    assert result("avg", [Decimal("-0.01"), None, Decimal("0.00")], "DECIMAL(10,2)") == Decimal("-0.005000")


def test_nan_is_the_greatest_and_minus_zero_is_zero() -> None:
    assert result("max", [1.0, NAN], "DOUBLE") != result("max", [1.0], "DOUBLE")
    assert result("min", [NAN, 1.0, None], "FLOAT") == 1.0
    assert str(result("min", [0.0, -0.0], "DOUBLE")) == str(result("max", [-0.0], "DOUBLE")) == "0.0"
    assert result("count_distinct", [0.0, -0.0, NAN, NAN, None], "DOUBLE") == 2


def test_text_is_ordered_by_its_bytes() -> None:
    assert result("max", ["z", "é", "\U0001f600", "\uffff"], "STRING") == "\U0001f600"
    assert result("min", ["b", "", None], "STRING") == ""


@pytest.mark.parametrize(("values", "type_", "least", "greatest"), [
    ([True, False], "BOOLEAN", False, True),
    ([Decimal("-1.50"), Decimal("1.00")], "DECIMAL(38,2)", Decimal("-1.50"), Decimal("1.00")),
])
def test_extremes_of_other_types(values: list, type_: str, least: object, greatest: object) -> None:
    assert (result("min", values, type_), result("max", values, type_)) == (least, greatest)


def test_one_value_has_no_sample_variance() -> None:
    assert result("var_samp", [4.0], "DOUBLE") is None
    assert result("var_pop", [4.0], "DOUBLE") == result("stddev_pop", [4.0], "DOUBLE") == 0.0
    assert result("stddev_samp", [2, 4, None], "INT") == pytest.approx(2**0.5)


def test_variance_is_stable_far_from_zero() -> None:
    assert result("var_pop", [1e9, 1e9 + 1, 1e9 + 2], "DOUBLE") == pytest.approx(2 / 3, rel=1e-12)


def test_variance_of_partials_that_hold_several_values_each() -> None:
    call = AggregateCall("var_pop", Column("x", "DOUBLE"), None, "DOUBLE")
    zeros = np.zeros(5, np.int32)
    order = Order(zeros.astype(np.int64), 0, zeros.astype(np.int64), zeros)
    halves = kept.update(call, pa.array([1.0, 2.0, 10.0, 20.0, 30.0]), None,
                               np.array([0, 0, 1, 1, 1], np.int32), 2, order)
    merged = kept.merge(call, halves, np.zeros(2, np.int32), 1)
    assert aggregates.finish(call, merged)[0].as_py() == pytest.approx(np.var([1, 2, 10, 20, 30]), rel=1e-12)


def test_first_and_last_are_by_event_time_then_by_place_and_may_be_null() -> None:
    assert result("first", ["b", "a", "c"], "STRING", times=[5, 3, 3], offsets=[0, 2, 1]) == "c"
    assert result("last", ["b", "a", "c"], "STRING", times=[3, 5, 5], offsets=[0, 2, 1]) == "a"
    assert result("last", [1, None], "BIGINT", times=[1, 2]) is None
    assert result("first", [1, None], "BIGINT", times=[1, -2], selected=[True, False]) == 1
