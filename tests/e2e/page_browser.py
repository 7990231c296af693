"""The page in a real browser: usage: page_browser.py CASE http://HOST:PORT FOLDER [MORE]

CASE is a function below, or in page_cases.py, page_charts.py, page_parameters.py, page_pictures.py or page_search.py.
page_test.cc starts the coordinator, submits the experiments that the case looks at and runs the cases in order.
FOLDER is for screenshots, and for files by which the two programs tell each other how far they are. Exit code 77: there
is no Chromium here.
"""

import http.server
import pathlib
import sys
import threading
import time

from browser import PATIENCE_S, Browser, find_chromium
from page_cases import columns, focus, learns, listed, log, missing, press, rungs, touch
from page_charts import charts, phases
from page_parameters import parameters
from page_pictures import pictures
from page_search import copies, searches

HOSTILE = "<script>window.hacked=1</script>\"'><img src=x onerror=window.hacked=1>"


class Page(Browser):
    def __init__(self, base, folder, **options):
        super().__init__(**options)
        self.base, self.folder = base, pathlib.Path(folder)

    def show(self, address, ready):
        """Opens a view and waits until `ready` is true and the view is live."""
        self.go("about:blank")
        self.go(f"{self.base}/#{address}")
        self.until(ready, f"{address}: {ready}")
        self.until("document.getElementById('live').textContent.startsWith('live')", f"{address} is live")

    def shot(self, name):
        self.screenshot(self.folder / f"{name}.png", full=True)

    def tell(self, name):
        (self.folder / name).touch()

    def await_file(self, name):
        deadline = time.monotonic() + PATIENCE_S
        while not (self.folder / name).exists():
            if time.monotonic() > deadline:
                raise TimeoutError(f"nobody made {name}")
            time.sleep(0.02)

    def expect(self, expression, wanted=True):
        value = self.run(expression)
        if value != wanted:
            raise AssertionError(f"{expression} is {value!r}, not {wanted!r}")

    def expect_no_errors(self):
        if self.errors:
            raise AssertionError(f"the browser complains: {self.errors}")

    def expect_usable(self):
        """Expects landmarks, one heading of the first order, and a name for every element that can take the focus."""
        self.expect("['header', 'nav', 'main', 'footer'].every((name) => document.querySelector(name))")
        self.expect("document.querySelectorAll('h1').length", 1)
        self.expect("""[...document.querySelectorAll(
            'input, select, button, a, canvas[tabindex], [role=region], [role=log]')]
            .filter((one) => !((one.labels?.length && one.labels[0].textContent.trim()) ||
                               one.getAttribute('aria-label') || one.textContent.trim()))
            .map((one) => one.outerHTML.slice(0, 200)).join('\\n')""", "")
        self.expect("[...document.querySelectorAll('table')].every((one) => one.caption?.textContent)")
        self.expect("new Set([...document.querySelectorAll('[id]')].map((one) => one.id)).size ==="
                    " document.querySelectorAll('[id]').length")

    def expect_tree(self, landmarks=True):
        """Checks what a screen reader gets: landmarks, and a name for each control and picture."""
        nodes = [one for one in self.call("Accessibility.getFullAXTree")["nodes"] if not one.get("ignored")]
        told = [[str(one.get(key, {}).get("value", "")).strip() for key in ("role", "name")] for one in nodes]
        roles = [role for role, _ in told]
        for role in ("main", "navigation", "banner", "contentinfo") if landmarks else ("dialog",):
            if roles.count(role) != 1:
                raise AssertionError(f"{roles.count(role)} of {role}: {sorted(set(roles))}")
        used = ("button", "link", "textbox", "searchbox", "combobox", "checkbox", "slider", "spinbutton", "image",
                "img", "table", "region", "dialog", "progressbar", "log")
        nameless = [role for role, name in told if role in used and not name]
        if nameless:
            raise AssertionError(f"without a name for a screen reader: {nameless}")
        if "table" in roles and "columnheader" not in roles:
            raise AssertionError("a table has no headers")

    def expect_no_sideways(self):
        self.expect("document.documentElement.scrollWidth <= innerWidth ? '' : [...document.querySelectorAll('main *')]"
                    ".filter((one) => one.getBoundingClientRect().right > innerWidth && !one.closest('.scroll, pre'))"
                    ".slice(0, 3).map((one) => one.outerHTML.slice(0, 200)).join('\\n') || 'wider than the window'", "")


# Number of opaque colours on a canvas: more than one show that something is drawn on it.
INKED = """(() => { const canvas = [...document.querySelectorAll('.plot canvas')][%d];
    const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    const seen = new Set();
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] > 200) seen.add(data[i] * 65536 + data[i + 1] * 256 + data[i + 2]);
    }
    return seen.size; })()"""

VIEWS = [
    ("experiments", "/", "document.querySelectorAll('tbody tr').length >= 2"),
    ("experiment", "/experiments/1", "document.querySelectorAll('tbody tr').length === 4"),
    ("trial", "/experiments/1/trials/1", "document.querySelector('pre.log')?.textContent.includes('line 2')"),
    ("fleet", "/fleet", "document.querySelectorAll('.host li').length === 2"),
    ("compare", "/compare?of=1/1,1/2", "document.querySelectorAll('main table').length === 2"),
]


def views(page):
    """Each view shows its contents, has names for everything, and causes no complaint from the browser."""
    for name, address, ready in VIEWS:
        page.show(address, ready)
        page.shot(name)
        page.expect_usable()
        page.expect_tree()
        page.expect_no_errors()
    page.show(*VIEWS[0][1:])
    page.expect("document.querySelector('tbody').textContent.includes('finished')")
    page.expect("document.title", "Experiments · dtrain")
    page.show(*VIEWS[1][1:])
    page.until(f"{INKED % 0} > 3", "curves are drawn")
    page.expect("document.querySelector('figcaption').textContent.includes('4 curves')")
    page.expect("document.querySelector('main').textContent.includes('optimizer.lr')")
    page.until("document.querySelector('[aria-label=Importance]').textContent.includes('12')",
               "why nothing is said of importance yet")
    report = page.run("fetch(document.querySelector('a[download]').href).then(async (one) => "
                      "[one.headers.get('Content-Disposition'), await one.text()])")
    assert report[0] == 'attachment; filename="experiment-1.html"' and "optimizer.lr" in report[1], report
    page.run("(() => { const box = [...document.querySelectorAll('select')].find((one) => one.labels[0].textContent"
             ".startsWith('Y axis')); box.value = 'grad_norm'; box.dispatchEvent(new Event('change')); })()")
    page.until("[...document.querySelectorAll('figcaption')].some((one) => one.textContent"
               ".includes('grad_norm over optimizer.lr, 4 trials'))", "any metric against any parameter")
    page.show(*VIEWS[2][1:])
    page.expect("document.querySelector('[aria-label=Checkpoints] tbody').rows.length > 0")
    page.until(f"{INKED % 0} > 3", "the loss is drawn")
    page.expect("document.querySelector('.story').textContent.includes('ended as finished')")
    page.run("document.querySelectorAll('details')[document.querySelectorAll('details').length - 1].open = true")
    page.until("[...document.querySelectorAll('pre')].at(-1).textContent.includes('version: 1')", "the exact file")
    page.show(*VIEWS[4][1:])
    page.expect("[...document.querySelectorAll('tbody th')].some((one) => one.textContent === 'optimizer.lr')")
    page.go(f"{page.base}/#/nowhere")
    page.until("document.querySelector('h1').textContent.includes('No such view')")
    page.expect_no_errors()


def live(page):
    """A running trial's figures change without a reload."""
    page.show("/experiments/1/trials/1", "document.querySelector('dl.facts')?.textContent.includes('running')")
    step = "Number(/step ([\\d,]+)/.exec(document.querySelector('dl.facts').textContent)[1].replaceAll(',', ''))"
    first = page.run(step)
    page.until(f"{step} > {first + 20}", "the step goes on")
    page.until(f"{INKED % 0} > 3", "the loss is drawn")
    page.show("/fleet", "document.querySelectorAll('.host li.busy').length === 1")
    page.until("document.querySelector('tbody')?.textContent.includes('2/1')", "who waits is in the queue")
    quotas = "document.querySelector('section[aria-label=Quotas]')"
    page.until(f"!{quotas}.hidden && {quotas}.querySelectorAll('tbody tr').length === 1", "the quota is there")
    cells = f"[...{quotas}.querySelectorAll('tbody td, tbody th')].map((cell) => cell.textContent).slice(0, 4).join()"
    page.expect(cells, "label team=vision,1,1,ann")
    page.until("document.querySelector('.host li.busy').textContent.includes('tokens/s')", "how well it is used")
    page.shot("fleet-busy")
    page.expect_no_errors()


def hostile(page):
    """Names are shown as text everywhere, and do not reverse the direction of a line."""
    for name, address, ready in [
            ("hostile-experiments", "/", "document.querySelectorAll('tbody tr').length >= 1"),
            ("hostile-experiment", "/experiments/1", "document.querySelector('h1 bdi')"),
            ("hostile-trial", "/experiments/1/trials/1", "document.querySelector('dl.facts')"),
            ("hostile-compare", "/compare?of=1/1,1/1", "document.querySelector('main table')"),
            ("hostile-fleet", "/fleet", "document.querySelector('main h1')")]:
        for width in (390, 1280):
            page.resize(width, 900)
            page.show(address, ready)
            page.expect("window.hacked === undefined")
            page.expect("document.querySelectorAll('main script, main img, main iframe').length", 0)
            page.expect_no_sideways()
        page.shot(name)
    page.show("/", "document.querySelectorAll('tbody tr').length >= 1")
    page.expect(f"[...document.querySelectorAll('tbody bdi')].some((one) => one.textContent.includes({HOSTILE!r}))")
    page.expect("getComputedStyle(document.querySelector('tbody bdi')).unicodeBidi", "isolate")
    page.show("/experiments/1?filter=%3Cscript%3E&trials=%22%3E%3Cb%3E&metric=%3Cimg%20src%3Dx%3E&sort=--",
              "document.querySelector('h1 bdi')")
    page.expect("window.hacked === undefined && document.querySelectorAll('main img').length === 0")
    page.expect_no_errors()


def sizes(page):
    """From a telephone to a wall screen, light and dark, nothing is wider than the window."""
    for dark in (False, True):
        page.theme(dark)
        for width, height in ((390, 844), (2560, 1440)):
            page.resize(width, height)
            for name, address, ready in VIEWS:
                page.show(address, ready)
                page.expect_no_sideways()
                page.shot(f"{name}-{width}{'-dark' if dark else ''}")
    page.expect("getComputedStyle(document.documentElement).backgroundColor !== 'rgb(251, 251, 250)'")
    page.expect_no_errors()


def settings(page):
    """The address holds the user's settings, and a reload shows the same."""
    page.show("/experiments/1", "document.querySelectorAll('tbody tr').length === 4")
    page.run("document.querySelector('[data-focus=\"choose 1/2\"]').click()")
    page.run("document.querySelector('[data-column=\"trial\"]').click()")
    page.run("document.querySelector('[data-column=\"trial\"]').click()")
    box = "[...document.querySelectorAll('label')].find((one) => one.textContent === '%s').querySelector('input')"
    page.run(f"{box % 'log values'}.click()")
    page.run(f"{box % 'Seed'}.click()")
    seen = f"""JSON.stringify([document.querySelector('[data-focus="choose 1/2"]').checked,
        [...document.querySelectorAll('tbody tr td a')].map((one) => one.textContent).slice(0, 4),
        [...document.querySelectorAll('thead th')].map((one) => one.textContent),
        {box % 'log values'}.checked])"""
    page.until("document.querySelector('figcaption').textContent.includes('1 curve')", "the chosen curve alone")
    before = page.run(seen)
    assert '"1/4"' in before and "Seed" in before and before.startswith("[true"), before
    page.run("location.reload()")
    page.until("document.querySelectorAll('tbody tr').length === 4")
    page.until("document.querySelector('figcaption').textContent.includes('1 curve')", "the chosen curve alone, again")
    page.expect(seen, before)
    # Filter the list with the keyboard alone.
    page.run("document.querySelector('main input[type=search]').focus()")
    page.call("Input.insertText", text="1/3")
    page.until("document.querySelectorAll('tbody tr').length === 1")
    # Zoom with the mouse and with keys.
    page.run("window.scrollTo(0, 0)")
    left, top, width, height = page.run(
        "(() => { const box = document.querySelector('canvas.over').getBoundingClientRect();"
        " return [box.left, box.top, box.width, box.height]; })()")
    page.mouse("mousePressed", left + width * 0.4, top + height / 2, "left", 1)
    page.mouse("mouseMoved", left + width * 0.6, top + height / 2, "left")
    page.mouse("mouseReleased", left + width * 0.6, top + height / 2, "left", 1)
    page.until("document.querySelector('figcaption').textContent.includes('zoomed')")
    zoom = page.run("new URLSearchParams(location.hash.split('?')[1]).get('zoom')")
    page.run("location.reload()")
    page.until("document.querySelector('figcaption')?.textContent.includes('zoomed')", "what was zoomed to, again")
    page.expect("new URLSearchParams(location.hash.split('?')[1]).get('zoom')", zoom)
    page.until("document.querySelector('figcaption').textContent.includes('1 curve')", "the chosen curve alone")
    page.run("document.querySelector('canvas.over').focus()")
    page.key("Escape")
    page.until("!document.querySelector('figcaption').textContent.includes('zoomed')")
    page.expect("location.hash.includes('zoom')", False)
    page.key("ArrowLeft")
    page.until("!document.querySelector('.tip').hidden && document.querySelector('.tip').textContent.includes('1/2')")
    page.expect("document.querySelector('.tip').textContent.includes('optimizer.lr=')")
    page.expect_no_errors()


def restart(page):
    """While the coordinator is away, the contents stay, with a notice; then the page is live again."""
    page.show("/experiments/1", "document.querySelectorAll('tbody tr').length === 4")
    page.tell("open")
    page.until("!document.getElementById('banner').hidden", "the page says that nobody answers")
    page.expect("document.getElementById('banner').textContent.includes('the view shows the state of')")
    page.expect("document.querySelectorAll('tbody tr').length", 4)
    page.shot("restart")
    page.tell("lost")
    page.until("document.getElementById('banner').hidden", "the page is live again")
    page.run("location.hash = '#/'")
    page.until("document.querySelectorAll('tbody tr').length === 3", "what was submitted meanwhile")


def write(page, selector, text):
    page.run(f"(() => {{ const box = document.querySelector('dialog {selector}'); box.focus(); box.select(); }})()")
    page.call("Input.insertText", text=text)


def done(page, part):
    """Expects that the dialog is closed and the page reports the result."""
    page.until(f"!document.querySelector('dialog') && document.getElementById('said').textContent.includes({part!r})",
               f"the page says {part}")


def acts(page):
    """Each act asks first, depending on how much it costs, and shows its result."""
    shown = "document.querySelector('dl.facts').textContent.includes(%r)"
    page.show("/experiments/1", "!document.querySelector('.acts').hidden")
    page.expect("document.querySelector('#who').textContent", "")
    page.expect_usable()
    press(page, "Pause…")
    page.until("document.querySelector('dialog').textContent.includes('save and stop')")
    page.expect_tree(landmarks=False)
    page.shot("pause")
    press(page, "Go back")
    page.until("!document.querySelector('dialog')")
    press(page, "Pause…")
    press(page, "Pause")
    done(page, "experiment 1: done; 1 trial save and stop")
    page.until(shown % "paused by", "it is paused")
    press(page, "Resume")
    press(page, "Resume")
    page.until(f"!({shown % 'paused by'})", "it goes on")
    press(page, "Priority…")
    write(page, "input", "4000000000")
    press(page, "Save")
    page.until("document.querySelector('dialog .error').textContent.includes('2147483647')", "the coordinator's words")
    page.shot("refused")
    write(page, "input", "7")
    press(page, "Save")
    done(page, "experiment 1: done")
    press(page, "Note…")
    write(page, "textarea", "too <b>hot</b>")
    press(page, "Save")
    page.until(shown % "too <b>hot</b>", "the note")
    press(page, "Labels…")
    write(page, "textarea", "team=a\nold=x")
    press(page, "Save")
    page.until(shown % "old=x", "the labels")
    press(page, "Labels…")
    write(page, "textarea", "team=a")
    press(page, "Save")
    page.until(f"!({shown % 'old=x'})", "one label is gone")
    page.shot("acts")
    # An act that cannot be undone needs the number typed; the keyboard alone is enough.
    press(page, "Cancel…")
    page.expect("document.querySelector('dialog [type=submit]').disabled")
    write(page, "[data-typed]", "2")
    page.expect("document.querySelector('dialog [type=submit]').disabled")
    write(page, "[data-typed]", "1")
    page.expect("!document.querySelector('dialog [type=submit]').disabled")
    page.shot("cancel")
    page.key("Enter")
    done(page, "cancelling 1 trial")
    page.until(shown % "cancelled", "it is cancelled")
    page.show("/experiments/1/trials/1", "document.querySelector('.acts')?.textContent.includes('Retry')")
    page.show("/fleet", "[...document.querySelectorAll('.host button')].some((one) => one.textContent === 'Drain…')")
    press(page, "Drain…")
    write(page, "input", "new disk")
    press(page, "Drain")
    page.until("document.querySelector('.host').textContent.includes('new disk')", "it is drained")
    page.shot("drained")
    press(page, "Undrain")
    press(page, "Undrain")
    page.until("!document.querySelector('.host').textContent.includes('new disk')", "it is back")
    page.errors = [one for one in page.errors if "400" not in one]  # from the refused priority
    page.expect_no_errors()


FOREIGN = """<!doctype html><title>elsewhere</title><script>
const base = %r;
async function attack() {
  const tries = [];
  for (const path of ["pause", "cancel", "change"]) {
    const url = `${base}/api/v1/experiments/1/${path}`;
    const body = path === "change" ? '{"note": "hacked"}' : "{}";
    for (const type of ["text/plain", "application/json", "application/x-www-form-urlencoded"]) {
      for (const mode of ["cors", "no-cors"]) {
        tries.push(fetch(url, {method: "POST", mode, body, credentials: "include", headers: {"Content-Type": type}})
          .then((response) => response.type, () => "refused"));
      }
      navigator.sendBeacon(url, new Blob([body], {type}));
    }
  }
  return (await Promise.all(tries)).join();
}
</script>"""


def foreign(page):
    """Requests that a page on another port of this host sends have no effect."""
    text = (FOREIGN % page.base).encode()

    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page.go(f"http://127.0.0.1:{server.server_port}/")
        page.until("document.title === 'elsewhere'")
        answers = page.run("attack()").split(",")
        assert set(answers) <= {"refused", "opaque"}, answers
        server.shutdown()
    # The page's own requests succeed, so the refusals were due to the foreign origin.
    page.errors.clear()
    page.show("/experiments/1", "!document.querySelector('.acts').hidden")
    note = ("fetch('/api/v1/experiments/1/change', {method: 'POST', body: JSON.stringify({note: %r}),"
            " headers: {'Content-Type': %r}}).then((response) => response.status)")
    page.expect(note % ("x", "text/plain"), 400)
    page.expect(note % ("", "application/json"), 200)


def tokens(page):
    """Without a token, everything can be seen and nothing done; with a token its owner can act, in this tab alone."""
    token = pathlib.Path(sys.argv[4]).read_text(encoding="ascii").strip()
    page.show("/experiments/1", "document.getElementById('who').textContent === 'Sign in…'")
    page.expect("document.querySelector('.acts').hidden")
    press(page, "Sign in…")
    write(page, "input", "dtr_wrong")
    press(page, "Sign in")
    page.until("document.querySelector('dialog .error').textContent.includes('64 hex digits')", "why it does not hold")
    page.shot("sign-in")
    write(page, "input", token)
    press(page, "Sign in")
    page.until("document.getElementById('who').textContent.startsWith('admin')", "who is signed in")
    page.until("!document.querySelector('.acts').hidden")
    page.expect("document.cookie", "")
    press(page, "Note…")
    write(page, "textarea", "by the admin")
    press(page, "Save")
    page.until("document.querySelector('main').textContent.includes('by the admin')")
    page.run("location.reload()")
    page.until("document.getElementById('who').textContent.startsWith('admin')", "a reload loses nothing")
    page.until("document.querySelector('main ol')?.textContent.includes('admin')", "the history says who")
    page.shot("signed-in")
    press(page, "Sign out")
    page.until("document.getElementById('who').textContent === 'Sign in…'")
    page.until("document.querySelector('.acts').hidden")
    page.expect("sessionStorage.length", 0)
    page.expect_no_errors()


def main():
    case, base, folder = sys.argv[1:4]
    if find_chromium() is None:
        print("there is no chromium here: ./dev setup installs it")
        return 77
    page = Page(base, folder)
    try:
        cases = (views, live, hostile, sizes, settings, restart, acts, foreign, tokens,
                 charts, columns, copies, focus, learns, listed, log, missing, parameters, phases, pictures, rungs,
                 searches, touch)
        {one.__name__: one for one in cases}[case](page)
    except Exception:
        page.shot(f"failed-{case}")
        raise
    finally:
        page.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
