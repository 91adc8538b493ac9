"""The pictures: well-formed SVG, with points where their values are."""

from xml.etree import ElementTree

import pytest

from benchmarks.plot import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, bars, lines, number

SVG = "{http://www.w3.org/2000/svg}"


def test_lines_lie_where_their_values_are():
    root = ElementTree.fromstring(lines("a < b", "x", "y", {"one": [(1, 5), (10, 10), (100, 0)]}, log_x=True))
    places = [(float(c.get("cx")), float(c.get("cy"))) for c in root.iter(f"{SVG}circle")]
    middle = (LEFT + WIDTH - RIGHT) / 2
    assert places == [(LEFT, (TOP + HEIGHT - BOTTOM) / 2), (middle, TOP), (WIDTH - RIGHT, HEIGHT - BOTTOM)]
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"a < b", "1", "10", "100", "x", "y"} <= set(texts)


def test_bars_have_their_heights_and_values():
    root = ElementTree.fromstring(bars("t", "y", ["p", "q"], {"a": [1, 4], "b": [2, 3]}))
    heights = [float(r.get("height")) for r in root.iter(f"{SVG}rect")][-4:]
    assert heights == pytest.approx([h * (HEIGHT - TOP - BOTTOM) / 5 for h in (1, 2, 4, 3)], abs=0.2)


@pytest.mark.parametrize(("value", "text"), [(0.4217, "0.422"), (3.0, "3"), (250, "250"), (5_000, "5k"), (2e6, "2M")])
def test_numbers_are_short(value, text):
    assert number(value) == text
