"""Points, rectangles and transforms as arguments."""

import klayout.db as db
import pytest
from pydantic import ValidationError

from pytest_iclayout.geometry.shapes import COORD_LIMIT, Orientation, Point, Rect, Transform

QUARTER = {
    "r0": lambda x, y: (x, y),
    "r90": lambda x, y: (-y, x),
    "r180": lambda x, y: (-x, -y),
    "r270": lambda x, y: (y, -x),
}


@pytest.mark.parametrize("orientation", Orientation)
def test_mirror_comes_first_then_the_counter_clockwise_turn_then_the_move(orientation):
    turn = QUARTER[orientation.value.replace("mirror_x", "r") if orientation.value != "mirror_x" else "r0"]
    x, y = turn(30, -10 if orientation.mirrored else 10)
    moved = Transform(orientation=orientation, mag_num=3, mag_den=2, dx=100, dy=-7).to_db() * db.Point(30, 10)
    assert (moved.x, moved.y) == (x * 3 // 2 + 100, y * 3 // 2 - 7)


def test_orientation_names_are_the_vocabularys():
    assert [one.value for one in Orientation] == [
        "r0", "r90", "r180", "r270", "mirror_x", "mirror_x90", "mirror_x180", "mirror_x270",
    ]  # fmt: skip


@pytest.mark.parametrize("value", [COORD_LIMIT + 1, -COORD_LIMIT - 1, 10**30, 1.0, "1", True, None, float("nan")])
def test_coordinate_that_would_wrap_around_or_is_no_integer_is_refused(value):
    with pytest.raises(ValidationError):
        Point(x=value, y=0)
    with pytest.raises(ValidationError):
        Transform(dy=value)


@pytest.mark.parametrize("corners", [(1, 0, 0, 0), (0, 1, 0, 0)])
def test_rectangle_with_swapped_corners_is_refused(corners):
    with pytest.raises(ValidationError, match="min must be the lower-left and max the upper-right corner"):
        Rect.of(*corners)


@pytest.mark.parametrize("field", ["mag_num", "mag_den"])
@pytest.mark.parametrize("value", [0, -1, 1_000_001, 0.5])
def test_magnification_that_vanishes_or_is_no_ratio_of_integers_is_refused(field, value):
    with pytest.raises(ValidationError):
        Transform(**{field: value})


def test_ratio_of_one_magnifies_nothing():
    assert not Transform(mag_num=7, mag_den=7).is_magnifying
    assert Transform(mag_num=7, mag_den=6).is_magnifying


def test_rectangle_survives_klayout_and_is_written_for_people():
    rect = Rect.of(-1, -2, 3, 4)
    assert Rect.from_db(rect.to_db()) == rect
    assert str(rect) == "(-1,-2;3,4)"
