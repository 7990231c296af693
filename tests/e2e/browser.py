"""A Chromium without a window, driven over the DevTools protocol; uses the standard library alone.

Every wait has a deadline. Browser.errors holds the errors that the page logs or throws and the refusals by its policy.
"""

import base64
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

PATIENCE_S = 40


def find_chromium():
    """Returns the path of the program, or None."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next((path for path in map(shutil.which, names) if path), None)


class WebSocket:
    """The client's half of RFC 6455, for one trusted peer."""

    def __init__(self, host, port, path):
        self.socket = socket.create_connection((host, port), PATIENCE_S)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n"
                             "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.unread = b""
        while b"\r\n\r\n" not in self.unread:
            self._more()
        head, self.unread = self.unread.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n", 1)[0]:
            raise ConnectionError(head.decode())

    def _more(self):
        got = self.socket.recv(1 << 16)
        if not got:
            raise ConnectionError("the browser has gone")
        self.unread += got

    def _take(self, count):
        while len(self.unread) < count:
            self._more()
        taken, self.unread = self.unread[:count], self.unread[count:]
        return taken

    def send(self, text):
        data = text.encode()
        mask = os.urandom(4)
        if len(data) < 126:
            size = struct.pack("!B", 0x80 | len(data))
        elif len(data) < 1 << 16:
            size = struct.pack("!BH", 0x80 | 126, len(data))
        else:
            size = struct.pack("!BQ", 0x80 | 127, len(data))
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))
        self.socket.sendall(b"\x81" + size + mask + masked)

    def receive(self, deadline):
        """Returns the next message; raises TimeoutError at the deadline."""
        message = b""
        while True:
            self.socket.settimeout(max(0.01, deadline - time.monotonic()))
            first, size = self._take(2)
            size &= 0x7F
            if size == 126:
                size = struct.unpack("!H", self._take(2))[0]
            elif size == 127:
                size = struct.unpack("!Q", self._take(8))[0]
            data = self._take(size)
            if first & 0x0F == 8:
                raise ConnectionError("the browser closed the connection")
            if first & 0x0F in (9, 10):
                continue
            message += data
            if first & 0x80:
                return message.decode()

    def close(self):
        self.socket.close()


class Browser:
    def __init__(self, width=1280, height=900, dark=False):
        self.profile = tempfile.mkdtemp(prefix="dtrain-browser-")
        self.errors = []
        self.last_id = 0
        self.process = None
        self.process = subprocess.Popen(
            [find_chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--mute-audio", "--no-first-run", "--disable-extensions", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--proxy-server=direct://",
             f"--user-data-dir={self.profile}", "--remote-debugging-port=0", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            port_file = pathlib.Path(self.profile, "DevToolsActivePort")
            port = int(self._await(lambda: port_file.exists() and port_file.read_text().split("\n")[0],
                                   "port of the browser"))
            pages = self._await(lambda: [one for one in self._http(port, "/json/list") if one["type"] == "page"],
                                "page of the browser")
            path = pages[0]["webSocketDebuggerUrl"].split(f":{port}", 1)[1]
            self.socket = WebSocket("127.0.0.1", port, path)
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.call(f"{domain}.enable")
            self.resize(width, height)
            self.theme(dark)
        except BaseException:
            self.close()
            raise

    def _await(self, found, what):
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise ConnectionError(f"the browser ended with {self.process.returncode}")
            result = found()
            if result:
                return result
            time.sleep(0.02)
        raise TimeoutError(f"no {what} within {PATIENCE_S} s")

    @staticmethod
    def _http(port, path):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        try:
            connection.request("GET", path)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def call(self, method, **parameters):
        self.last_id += 1
        number = self.last_id
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        deadline = time.monotonic() + PATIENCE_S
        while True:
            message = json.loads(self.socket.receive(deadline))
            self._note(message)
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]

    def _note(self, message):
        method, of = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = of["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and of["entry"]["level"] == "error":
            self.errors.append(f"{of['entry']['source']}: {of['entry']['text']} {of['entry'].get('url', '')}")
        elif method == "Runtime.consoleAPICalled" and of["type"] == "error":
            self.errors.append(" ".join(str(one.get("description", one.get("value"))) for one in of["args"]))

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def theme(self, dark):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def go(self, url):
        self.call("Page.navigate", url=url)

    def run(self, expression):
        """Returns the value of a JavaScript expression; awaits a promise."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails'].get('exception', {}).get('description')}")
        return result["result"].get("value")

    def until(self, expression, what=None):
        """Waits until the expression is true."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                value = self.run(f"Boolean({expression})")
            except RuntimeError:
                value = None  # the page may still be loading
            if value:
                return
            time.sleep(0.05)
        text = self.run("document.body.innerText.slice(0, 2000)")
        raise TimeoutError(f"{what or expression}: not within {PATIENCE_S} s; errors: {self.errors}; "
                           f"the page says: {text}")

    def key(self, name):
        for kind in ("keyDown", "keyUp"):
            # submits a form
            text = {"text": "\r"} if name == "Enter" and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name,
                      windowsVirtualKeyCode={"Tab": 9, "Enter": 13, "Escape": 27}.get(name, 0), **text)

    def touch(self, width, height):
        """Emulates a telephone's screen from here on."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2, mobile=True)
        self.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=1)

    def swipe(self, *points):
        """Puts a finger down at the first of these [x, y] and lifts it at the last; a single point is a tap."""
        kinds = ["touchStart"] + ["touchMove"] * (len(points) - 1)
        for kind, (x, y) in zip(kinds, points):
            self.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def mouse(self, kind, x, y, button="none", clicks=0):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=clicks)

    def screenshot(self, path, full=False):
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                result = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=full)
                break
            except RuntimeError as error:
                # Right after a change of the window's size, Chromium may still report a width of 0.
                if "0 width" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        pathlib.Path(path).write_bytes(base64.b64decode(result["data"]))

    def _signal(self, number):
        """Sends a signal to the browser and all its processes."""
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def close(self):
        if self.process is not None:
            self._signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                pass
            # Debian's program is a script, which ends before the browser.
            self._signal(signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)
