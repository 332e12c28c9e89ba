# SPDX-License-Identifier: MIT
"""The edge of a node: what a client, a file or a name may do to it at worst."""

import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
# pylint: disable=wrong-import-position
from harness import CONCLAVE, PATIENCE, main


# ---- settings files ----


def refused(text):
    """The line with which a node refuses that settings file; it must not start."""
    with tempfile.TemporaryDirectory(prefix="conclave-test-") as directory:
        path = pathlib.Path(directory) / "node.conf"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        # A right line that it comes to only if it takes all before it: the settings do not fit together.
        done = subprocess.run([CONCLAVE, "node", "--config", str(path), "--set", "group.timeout=1"],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, (text, done)
        return done.stderr


def settings_lines():
    """No line becomes another: neither indented, nor long, nor by its section's name or what stands after it."""
    rights = "[node]\nlisten = /tmp/none.sock\n[acl build]\n"
    for text, line, words in (
            (rights + "lock = build-*\n  observe = *\n", 5, "indented"),
            (rights + "  lock = build-*\n", 4, "indented"),
            (rights + "lock = build-*\n\tadmin = yes\n", 5, "indented"),
            (rights + "lock = " + "a" * 190 + " admin = yes\n", 4, "bytes"),
            (rights + "lock = " + "a" * 192 + "\nadmin = yes\n", 4, "bytes"),
            ("[acl " + "b" * 60 + "]\nadmin = yes\n", 1, "section"),
            ("[acl build] admin = yes\n", 1, "after a [section]"),
            (b"[acl build]\nlock = a\0b\n", 2, "byte of 0"),
            (b"\xef\xbb\xbf[acl build] admin = yes\n", 1, "after a [section]"),
            (rights + "nonsense\n", 4, "expected [section]"),
            (rights + "lock: x\nnonsense = 1\n", 5, "expected lock, elect"),
            ("nonsense\n  indented = 1\n", 1, "expected [section]")):
        said = refused(text)
        assert f"node.conf:{line}: " in said and words in said, (text, said)
    # What follows is no line that could be mistaken: all of it is read.
    comment = "; " + "a" * 197 + "admin = yes\n"
    for text in (rights + comment, rights + "   " + comment, rights + "# " + "x" * 5000 + "\n",
                 rights + "lock = " + "a" * 190 + "\n", rights + "lock = a ; a comment\n", rights + "\n   \n\t\nlock = a\n",
                 rights + "lock = a\r\nobserve = b\r\n", "\ufeff" + rights + "lock = a\n", rights + "lock = a",
                 "[acl " + "b" * 45 + "] ; a comment\nlock = a\n"):
        said = refused(text)
        assert "[group] timeout" in said, (text, said)


if __name__ == "__main__":
    sys.exit(main([settings_lines]))
