from tools.debian import find_licence


def test_licences_are_found_in_free_text() -> None:
    assert find_licence("Files:\n *\nCopyright: me\nLicense:   MPL-2.0  \n") == "MPL-2.0"
    assert find_licence("under the GNU General Public License, some files under the Mozilla Public") == "GPL/MPL"
    assert find_licence("Ask me.") == "?"
