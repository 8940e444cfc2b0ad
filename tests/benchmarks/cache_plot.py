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
