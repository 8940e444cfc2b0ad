from convert import fahrenheit, kelvin


def test_water_freezes():
    assert fahrenheit(0) == 32


def test_absolute_zero():
    assert kelvin(-273.15) == 0
