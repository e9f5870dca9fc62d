"""What tests have compiled is kept between runs, and the folder does not grow for ever."""

from support.programs import begin_anew_beyond


def test_a_folder_of_programs_begins_anew_once_it_is_too_large(tmp_path):
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "one").write_bytes(b"x" * 600)
    (folder / "programs").mkdir()  # those that commands keep, beside JAX's
    (folder / "programs" / "two").write_bytes(b"x" * 400)
    begin_anew_beyond(1_000, folder)
    assert len(list(folder.iterdir())) == 2
    begin_anew_beyond(999, folder)
    assert not folder.exists()
    begin_anew_beyond(0, folder)  # nor does it fail where there is none
