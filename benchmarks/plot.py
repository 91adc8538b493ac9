"""Pictures as SVG, written by hand: lines over a number, or bars over names. Nothing to install."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 80, 24, 56, 64
COLOURS = ("#1f5fa8", "#d1601f", "#2f8f4e", "#8e44ad", "#7f7f7f", "#b8860b")
STEPS = (1, 2, 2.5, 5, 10)
TICKS = 5

Series = dict[str, Sequence[tuple[float, float]]]


def lines(title: str, x_label: str, y_label: str, series: Series, log_x: bool = False) -> str:
    """Points joined by lines, a colour a series; y starts at 0."""
    xs = [x for points in series.values() for x, _ in points]
    top = _top(max(y for points in series.values() for _, y in points))
    low, high = min(xs), max(xs)
    position = math.log10 if log_x else float
    span = position(high) - position(low) or 1.0

    def across(x: float) -> float:
        return LEFT + (position(x) - position(low)) / span * (WIDTH - LEFT - RIGHT)

    parts = _frame(title, x_label, y_label, top, list(series) if len(series) > 1 else [])
    for x in sorted(set(xs)) if len(set(xs)) <= 12 else (low, high):
        parts.append(_text(across(x), HEIGHT - BOTTOM + 18, number(x), "middle"))
    for (_, points), colour in zip(series.items(), COLOURS, strict=False):
        path = " ".join(f"{across(x):.1f},{_up(y, top):.1f}" for x, y in sorted(points))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{across(x):.1f}" cy="{_up(y, top):.1f}" r="3.5" fill="{colour}"/>' for x, y in points]
    return _whole(parts)


def bars(title: str, y_label: str, names: Sequence[str], series: dict[str, Sequence[float]]) -> str:
    """A group of bars for each name, one bar a series, each with its value above it."""
    top = _top(max(max(values) for values in series.values()))
    parts = _frame(title, "", y_label, top, list(series) if len(series) > 1 else [])
    room = (WIDTH - LEFT - RIGHT) / len(names)
    width = 0.7 * room / len(series)
    for place, name in enumerate(names):
        parts.append(_text(LEFT + (place + 0.5) * room, HEIGHT - BOTTOM + 18, name, "middle"))
        for row, (values, colour) in enumerate(zip(series.values(), COLOURS, strict=False)):
            x, y = LEFT + (place + 0.15) * room + row * width, _up(values[place], top)
            parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{HEIGHT - BOTTOM - y:.1f}" '
                         f'fill="{colour}"/>')
            parts.append(_text(x + width / 2, y - 5, number(values[place]), "middle"))
    return _whole(parts)


def number(value: float) -> str:
    """A short text: 0.42, 3.1, 250, 5k, 2M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def _top(greatest: float) -> float:
    """The end of the y axis: TICKS round steps that reach past the greatest value."""
    step = greatest / TICKS or 1.0
    size = 10.0 ** math.floor(math.log10(step))
    return TICKS * size * next(each for each in STEPS if each * size >= step * (1 - 1e-9))


def _up(y: float, top: float) -> float:
    return HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM)


def _frame(title: str, x_label: str, y_label: str, top: float, names: list[str]) -> list[str]:
    """Title, axes with their grid, and whose colour is whose."""
    parts = [f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             f'<text x="{LEFT}" y="24" font-size="16" font-weight="bold">{escape(title)}</text>']
    for tick in range(TICKS + 1):
        y = _up(top * tick / TICKS, top)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(_text(LEFT - 8, y + 4, number(top * tick / TICKS), "end"))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, x_label, "middle"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(f'<text x="20" y="{middle}" text-anchor="middle" transform="rotate(-90 20 {middle})">'
                 f"{escape(y_label)}</text>")
    for place, (name, colour) in enumerate(zip(names, COLOURS, strict=False)):
        parts.append(f'<rect x="{LEFT + place * 150}" y="36" width="12" height="12" fill="{colour}"/>')
        parts.append(_text(LEFT + place * 150 + 18, 46, name, "start"))
    return parts


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _whole(parts: list[str]) -> str:
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
            f'font-size="12" fill="#222">\n' + "\n".join(parts) + "\n</svg>\n")
