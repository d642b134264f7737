"""Runs the suites that others wrote against a server binary, each on a fresh server, and counts.

Their files are never part of this repository. Two variables name checkouts of them:

  RUVIO_CTS_DIR     tair-opensource/compatibility-test-suite-for-redis
  RUVIO_VALKEY_DIR  valkey-io/valkey (its Tcl suite in external mode)

A suite whose checkout is not given is skipped, says so, and is not counted as passed.

Usage: compat.py SERVER_BINARY [cts] [tcl] [tcl:unit/type/list ...]
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# What external mode can run of the families that the server has.
TCL_FILES = [
    "unit/type/string", "unit/type/hash", "unit/type/list", "unit/type/set", "unit/type/zset", "unit/hashexpire",
    "unit/expire", "unit/keyspace", "unit/multi", "unit/pubsub", "unit/scan", "unit/sort", "unit/type/incr",
    "unit/bitops", "unit/bitfield", "unit/hyperloglog", "unit/info", "unit/protocol", "unit/introspection",
    "unit/introspection-2", "unit/querybuf", "unit/limits", "unit/acl", "unit/acl-v2", "unit/pubsubshard",
    "unit/auth", "unit/slowlog", "unit/pause", "unit/quit", "unit/networking",
]
# A test in which a command of a family that comes later leaves a MULTI open, so that all after it fail.
TCL_SKIPPED = ["command stats for MULTI"]
TCL_TAGS = "-needs:repl -needs:save -needs:pfdebug -slow"
# A blocking test that hangs wedges the whole run, so each file has an end of its own.
TCL_FILE_SECONDS = 240
CTS_SECONDS = 300
# The families that come later.
CTS_LATER = re.compile(r"^(x[a-z]+|geo\w*|eval\w*|script|function|fcall\w*|dump|restore)\b", re.I)


@contextlib.contextmanager
def running(binary):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    flags = ["--save", ""] if "valkey" in Path(binary).name else ["--durability", "memory"]
    with tempfile.TemporaryDirectory() as data:
        command = [binary, "--port", str(port), "--bind", "127.0.0.1", "--dir", data, "--enable-debug-command", "yes"]
        with open(Path(data) / "log", "w") as log:
            server = subprocess.Popen(command + flags, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 20
            while True:
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                if server.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"the server did not start:\n{(Path(data) / 'log').read_text()}")
                time.sleep(0.02)
            yield port
            if server.poll() is not None:
                print(f"THE SERVER ENDED with {server.returncode}:\n{(Path(data) / 'log').read_text()[-3000:]}")
        finally:
            server.kill()
            server.wait()


def run(command, cwd, seconds):
    """The output and whether it ended in time."""
    try:
        done = subprocess.run(command, cwd=cwd, timeout=seconds, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.stdout.decode(errors="replace"), True
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(errors="replace"), False


def cts(binary):
    folder = os.environ.get("RUVIO_CTS_DIR")
    if not folder:
        print("cts: skipped, RUVIO_CTS_DIR is not set")
        return 0
    with running(binary) as port:
        command = [sys.executable, "redis_compatibility_test.py", "--host", "127.0.0.1", "--port", str(port)]
        command += ["--testfile", "cts.json", "--specific-version", "7.2.0", "--show-failed"]
        output, _ = run(command, folder, CTS_SECONDS)
    summary = re.search(r"^Summary: version: 7\.2\.0, total tests: (\d+), passed: (\d+)", output, re.M)
    if not summary:
        print(f"cts did not run:\n{output[-2000:]}\nsuite cts: 0 passed, 1 failed")
        return 1
    total, passed = map(int, summary.groups())
    # What failed is listed after the summary, each with the command that its name begins with.
    print(output[summary.end():].strip())
    names = re.findall(r"^test: (.*?) failed$", output, re.M)
    later = [name for name in names if CTS_LATER.match(name)]
    if later:
        print(f"cts: {len(later)} of the failed cases are of families that come later (streams, geo, scripts)")
    print(f"suite cts: {passed} passed, {total - passed} failed")
    return total - passed - len(later)


def tcl_file(binary, root, name):
    program = Path(root) / "src/valkey-server"
    if not program.exists():
        # External mode starts no server of its own, but looks for one.
        program.symlink_to(Path(binary).resolve())
    with running(binary) as port:
        command = ["tclsh", "tests/test_helper.tcl", "--host", "127.0.0.1", "--port", str(port), "--singledb"]
        command += ["--ignore-encoding", "--ignore-digest", "--tags", TCL_TAGS, "--clients", "1", "--durable"]
        command += ["--timeout", "120", "--single", name]
        for skipped in TCL_SKIPPED:
            command += ["--skiptest", skipped]
        output, ended = run(command, root, TCL_FILE_SECONDS)
    output = re.sub(r"\x1b\[[0-9;]*m", "", output)
    passed = len(re.findall(r"^\[ok\]: ", output, re.M))
    failures = re.findall(r"^\[(?:err|exception)\]: ?(.*(?:\n(?!\[).*)?)", output, re.M)
    if not ended:
        failures.append(f"did not end within {TCL_FILE_SECONDS} s; the last lines:\n" + output[-600:])
    elif passed == 0 and not failures and "\\o/" not in output:
        failures.append("did not run:\n" + output[-1500:])
    print(f"{name}: {passed} passed, {len(failures)} failed".replace(" passed,", " ok,"))
    for failure in failures:
        print("    " + failure.strip().replace("\n", "\n      "))
    return passed, len(failures)


def without_functions(root):
    """The suite empties functions before each test. Until the server has them, that one call may fail."""
    support = Path(root) / "tests/support/server.tcl"
    text = support.read_text()
    if "    r function flush" in text:
        support.write_text(text.replace("    r function flush", "    catch {r function flush}"))


def tcl(binary, files):
    root = os.environ.get("RUVIO_VALKEY_DIR")
    if not root:
        print("tcl: skipped, RUVIO_VALKEY_DIR is not set")
        return 0
    without_functions(root)
    if not shutil.which("tclsh"):
        sys.exit("tclsh is missing: make setup")
    passed = failed = 0
    for name in files:
        if not (Path(root) / "tests" / f"{name}.tcl").exists():
            print(f"{name}: not in this checkout")
            continue
        ok, bad = tcl_file(binary, root, name)
        passed, failed = passed + ok, failed + bad
    print(f"suite valkey-tcl: {passed} passed, {failed} failed")
    return failed


def main():
    binary = os.path.abspath(sys.argv[1])
    wanted = sys.argv[2:] or ["cts", "tcl"]
    files = [w.removeprefix("tcl:") for w in wanted if w.startswith("tcl:")]
    failed = 0
    if "cts" in wanted:
        failed += cts(binary)
    if "tcl" in wanted or files:
        failed += tcl(binary, files or TCL_FILES)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
