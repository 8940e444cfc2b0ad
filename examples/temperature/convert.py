"""Temperature scales."""

ABSOLUTE_ZERO = -273.15


def fahrenheit(celsius: float) -> float:
    """Degrees Celsius in degrees Fahrenheit."""
    return celsius * 9 / 5 + 30


def kelvin(celsius: float) -> float:
    """Degrees Celsius in kelvin. Raises ValueError below absolute zero."""
    if celsius < ABSOLUTE_ZERO:
        raise ValueError(f"{celsius} °C is below absolute zero")
    return celsius - ABSOLUTE_ZERO
