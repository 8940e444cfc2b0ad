"""The cost plot as SVG, written by hand: readable on light and dark pages, no dependency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

_COLOURS = {
    "no cache": "#8c8c8c",
    "fixed order": "#c2572b",
    "append-only": "#c79a1e",
    "counter": "#4f7fb8",
    "log-structured": "#2f8f5b",
}
_WIDTH, _ROW, _BAR, _LEFT, _TOP = 820, 100, 14, 120, 74


def bars(ratios: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> str:
    """Horizontal bars by kind of session; 1 is the lower bound, marked by a line."""
    most = max(value for by_name in ratios.values() for value in by_name.values())
    scale = (_WIDTH - _LEFT - 60) / most
    height = _TOP + _ROW * len(ratios) + 30
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" font-family="system-ui, sans-serif" font-size="12" '
        'role="img" aria-label="Cost of sessions by policy, as a multiple of the lower bound">',
        "<style>text{fill:#222}.axis{stroke:#222}@media(prefers-color-scheme:dark)"
        "{text{fill:#ddd}.axis{stroke:#ddd}}</style>",
        f'<text x="{_LEFT}" y="22" font-size="15" font-weight="600">'
        "Input cost ÷ lower bound (median; shorter is cheaper)</text>",
    ]
    x = float(_LEFT)
    for name in names:
        out.append(f'<rect x="{x:.0f}" y="38" width="12" height="12" fill="{_COLOURS[name]}"/>')
        out.append(f'<text x="{x + 17:.0f}" y="48">{escape(name)}</text>')
        x += 40 + 7 * len(name)
    for row, (kind, by_name) in enumerate(ratios.items()):
        y = _TOP + row * _ROW
        out.append(f'<text x="{_LEFT - 10}" y="{y + 44}" text-anchor="end">{escape(kind)}</text>')
        for place, name in enumerate(names):
            top = y + place * (_BAR + 3)
            width = by_name[name] * scale
            out.append(
                f'<rect x="{_LEFT}" y="{top}" width="{width:.1f}" height="{_BAR}" '
                f'fill="{_COLOURS[name]}"/>'
            )
            out.append(
                f'<text x="{_LEFT + width + 5:.1f}" y="{top + 11}">{by_name[name]:.2f}</text>'
            )
    line = _LEFT + scale
    out.append(
        f'<line class="axis" x1="{line:.1f}" x2="{line:.1f}" y1="{_TOP - 8}" '
        f'y2="{height - 22}" stroke-dasharray="4 3"/>'
    )
    out.append(f'<text x="{line:.1f}" y="{height - 8}" text-anchor="middle">1 = bound</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def lines(
    title: str,
    panels: Sequence[tuple[str, Mapping[str, Sequence[float]]]],
    notes: Sequence[str] = (),
) -> str:
    """Line charts side by side, one line per name over turns from 1. ``notes`` stand under the
    turns.
    """
    width, top, high, left, gap = _WIDTH, 84, 220, 46, 60
    wide = (width - left - gap - 20) / len(panels)
    height = top + high + 64
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="system-ui, sans-serif" font-size="12" '
        f'role="img" aria-label="{escape(title)}">',
        "<style>text{fill:#222}.axis{stroke:#888}.grid{stroke:#8884}"
        "@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>",
        f'<text x="{left}" y="22" font-size="15" font-weight="600">{escape(title)}</text>',
    ]
    x = float(left)
    for name in panels[0][1]:
        out.append(f'<rect x="{x:.0f}" y="38" width="12" height="12" fill="{_COLOURS[name]}"/>')
        out.append(f'<text x="{x + 17:.0f}" y="48">{escape(name)}</text>')
        x += 40 + 7 * len(name)
    for number, (label, series) in enumerate(panels):
        x0 = left + number * (wide + gap)
        out += _panel(x0, top, wide, high, label, series, notes)
    return "\n".join([*out, "</svg>"]) + "\n"


def _panel(
    x0: float,
    top: float,
    wide: float,
    high: float,
    label: str,
    series: Mapping[str, Sequence[float]],
    notes: Sequence[str],
) -> list[str]:
    most = max(value for values in series.values() for value in values) or 1.0
    step = next(s for s in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000, 1e9)
                if most / s <= 5)  # fmt: skip
    ceiling = step * (int(most / step) + 1) if most % step else most
    turns = max(len(values) for values in series.values())
    across = wide / max(turns - 1, 1)
    out = [f'<text x="{x0}" y="{top - 12}" font-weight="600">{escape(label)}</text>']
    for mark in range(round(ceiling / step) + 1):
        y = top + high - high * mark * step / ceiling
        out.append(f'<line class="grid" x1="{x0}" x2="{x0 + wide:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(f'<text x="{x0 - 6}" y="{y + 4:.1f}" text-anchor="end">{mark * step:g}</text>')
    for turn in range(turns):
        x = x0 + turn * across
        out.append(
            f'<text x="{x:.1f}" y="{top + high + 18}" text-anchor="middle">{turn + 1}</text>'
        )
        if turn < len(notes) and notes[turn]:
            out.append(
                f'<text x="{x:.1f}" y="{top + high + 33}" text-anchor="middle" font-size="10">'
                f"{escape(notes[turn])}</text>"
            )
    middle = x0 + wide / 2
    out.append(
        f'<text x="{middle:.1f}" y="{top + high + 52}" text-anchor="middle">'
        "turn (below it: files edited before)</text>"
    )
    for name, values in series.items():
        points = [
            (x0 + turn * across, top + high - high * value / ceiling)
            for turn, value in enumerate(values)
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        colour = _COLOURS[name]
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
    return out
