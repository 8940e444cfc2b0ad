"""Summaries of sensor readings, one `name;celsius` line each."""

from statistics import mean

from convert import fahrenheit


def read(lines: list[str]) -> dict[str, list[float]]:
    """Readings by sensor; lines that do not parse are skipped."""
    readings: dict[str, list[float]] = {}
    for line in lines:
        name, _, value = line.partition(";")
        try:
            readings.setdefault(name.strip(), []).append(float(value))
        except ValueError:
            continue
    return readings


def summary(readings: dict[str, list[float]]) -> str:
    """One line per sensor, in both scales."""
    return "\n".join(
        f"{name}: {mean(values):.1f} °C, {fahrenheit(mean(values)):.1f} °F"
        for name, values in sorted(readings.items())
        if values
    )
