# SPDX-License-Identifier: BSD-3-Clause
"""A page in headless Chromium, driven by its DevTools protocol over two pipes."""
import base64
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import harness

NAMES = ("chromium", "chromium-browser", "google-chrome")
# The protocol has fixed descriptors. Ours are dropped by close-on-exec.
START = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
FREE_DESCRIPTOR = 20


def program():
    """The path of an installed browser, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


def high(descriptor):
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD, FREE_DESCRIPTOR)
    os.close(descriptor)
    return moved


class Browser:
    """One page at a time. Use it in a `with` statement."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(dir=harness.SCRATCH)
        ours_in, theirs_out = map(high, os.pipe())
        theirs_in, ours_out = map(high, os.pipe())
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--disable-background-networking", "--disable-extensions", "--remote-debugging-pipe",
                   f"--user-data-dir={self.profile}", "about:blank"]
        self.log = open(os.path.join(self.profile, "log"), "wb")
        self.process = subprocess.Popen([sys.executable, "-c", START, str(theirs_in), str(theirs_out), program(), *options],
                                        pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=self.log)
        os.close(theirs_in)
        os.close(theirs_out)
        self.input, self.output = os.fdopen(ours_in, "rb", 0), os.fdopen(ours_out, "wb", 0)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.session = None
        self.call("Browser.close")
        self.process.wait(timeout=harness.PATIENCE_S)
        self.input.close()
        self.output.close()
        self.log.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self):
        while b"\0" not in self.buffer:
            more = os.read(self.input.fileno(), 1 << 20)
            if not more:
                raise AssertionError("the browser ended")
            self.buffer += more
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.output.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def look(self, width=1280, height=900, scheme="light", media="screen"):
        """The size of the window and the wishes of its user."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path):
        self.visit(pathlib.Path(path).resolve().as_uri())

    def visit(self, address):
        self.events.clear()
        self.call("Page.navigate", url=address)
        self.wait_until_loaded()

    def wait_until_loaded(self):
        """Until an event of a load that began after the last visit()."""
        end = time.monotonic() + harness.PATIENCE_S
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            if time.monotonic() > end:
                raise AssertionError("the page does not load")
            self.events.append(self.message())

    def value(self, expression):
        """What the expression is in the page; it waits for a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def press(self, key, code=0, text=None):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                      **({"text": text} if text and kind == "keyDown" else {}))

    def picture(self, path, whole=True):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole,
                         clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
                         if whole else {"x": 0, "y": 0, "width": 1280, "height": 900, "scale": 1})
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

    def troubles(self):
        """Errors and warnings of the console, exceptions, dialogs, and requests for anything but the page."""
        found = []
        for event in self.events:
            method, what = event.get("method"), event.get("params", {})
            if method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
                found.append(what)
            elif method in ("Runtime.exceptionThrown", "Page.javascriptDialogOpening"):
                found.append(what)
            elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
                found.append(what["entry"])
            elif method == "Network.requestWillBeSent" and what["type"] != "Document":
                found.append(what["request"]["url"])
        return found
