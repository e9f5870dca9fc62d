"""The list of what the quick loop leaves out: a long test that has another name now would be in it again."""

from support.quick_loop import LONG_FILES, LONG_TESTS, TESTS


def test_what_is_left_out_is_there():
    texts = {file: (TESTS / file).read_text(encoding="utf-8") for file in LONG_FILES}
    for place in LONG_TESTS:
        file, _, function = place.partition("::")
        text = texts.setdefault(file, (TESTS / file).read_text(encoding="utf-8"))
        assert f"def {function}(" in text, place
