"""How well compression works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import define, evolve, field, frozen

from tierline.memory.levels import Level

POOR_RATIO = 2.0
"""A summary that saves less than this factor may be too detailed."""


@frozen
class Compression:
    """One compression: tokens before and after, when (minutes since 1970), and the summary's id."""

    original: int
    compressed: int
    at: float
    summary: str

    @property
    def ratio(self) -> float:
        """How many times shorter."""
        return self.original / max(self.compressed, 1)


@define
class Metrics:
    """All compressions of a session."""

    compressions: list[Compression] = field(factory=list)

    def record(self, compression: Compression) -> None:
        """Add a compression."""
        self.compressions.append(compression)

    def copy(self) -> Metrics:
        """An independent copy."""
        return evolve(self, compressions=list(self.compressions))

    @property
    def original_tokens(self) -> int:
        """Tokens that went into summaries."""
        return sum(c.original for c in self.compressions)

    @property
    def compressed_tokens(self) -> int:
        """Tokens of those summaries."""
        return sum(c.compressed for c in self.compressions)

    @property
    def average_ratio(self) -> float:
        """The mean of the ratios; 0 if nothing was compressed."""
        if not self.compressions:
            return 0.0
        return sum(c.ratio for c in self.compressions) / len(self.compressions)

    @property
    def warning(self) -> str:
        """A sentence if summaries are too detailed, else empty."""
        if not self.compressions or self.average_ratio >= POOR_RATIO:
            return ""
        return (
            f"Compression saves little: {self.average_ratio:.1f}x on average, under "
            f"{POOR_RATIO:.0f}x. Summaries may be too detailed, or turns too short."
        )


@frozen
class MemoryReport:
    """What ``tierline stats`` prints. Token counts."""

    used: int
    total: int
    messages: int
    summaries: int
    ratio: float
    original_tokens: int
    compressed_tokens: int
    fill: Mapping[Level, int]
    budget: Mapping[Level, int]
    minutes_since_compression: float | None = None
    retrieved: Sequence[str] = ()
    tasks: int = 0
    task: str = ""
    warning: str = ""
    waiting: int = 0
    """Rules and important texts that go to permanent memory when their turns are compressed."""

    def lines(self) -> list[str]:
        """As text, a line for each figure."""
        percent = round(100 * self.used / max(self.total, 1))
        ratio = f"{self.ratio:.1f}x average" if self.ratio else "nothing compressed yet"
        rows = [
            ("Total tokens used:", f"{self.used:,} / {self.total:,} ({percent}%)"),
            ("Messages stored:", f"{self.messages:,}"),
            ("Summaries:", f"{self.summaries:,}"),
            ("Compression ratio:", ratio),
        ]
        lines = ["Memory", "──────", *(f"{name:<22} {value}" for name, value in rows), ""]
        lines.append("Level breakdown:")
        for level in Level:
            of = "" if level is Level.VOLATILE else f" / {self.budget[level]:,}"
            row = f"  {level.label + ':':<12} {self.fill[level]:,}{of} tokens"
            if level is Level.PERMANENT and self.waiting:
                row += f", {self.waiting:,} waiting in working memory"
            lines.append(row)
        lines.append("")
        lines.append(f"{'Tasks:':<18} {self.tasks}{f', now: {self.task}' if self.task else ''}")
        lines.append(f"{'Last compression:':<18} {_ago(self.minutes_since_compression)}")
        found = f" ({', '.join(self.retrieved)})" if self.retrieved else ""
        lines.append(f"{'Retrieved items:':<18} {len(self.retrieved)}{found}")
        return [*lines, *(["", f"Warning: {self.warning}"] if self.warning else [])]


def _ago(minutes: float | None) -> str:
    if minutes is None:
        return "never"
    if minutes < 1:
        return "just now"
    if minutes < 120:
        whole = round(minutes)
        return f"{whole} minute{'s' * (whole != 1)} ago"
    if minutes < 48 * 60:
        return f"{round(minutes / 60)} hours ago"
    return f"{round(minutes / 1440)} days ago"
