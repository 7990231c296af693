"""The speed of the page's charts: usage: plot.py [FOLDER …]

Draws 100 curves of 10,000 points with plot.js in a Chromium without a window, and prints milliseconds of script,
medians of nine: the first time; again without changes, as when the theme or the window changes; after a curve has
got a point; with another smoothing; zoomed in; with the pointer on a curve. FOLDER is that of the page, or of
another version to compare with; coordinator/http/page by default. No coordinator is needed.
"""

import http.server
import pathlib
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from browser import Browser, find_chromium  # noqa: E402

INDEX = b"<!doctype html><link rel=icon href=data:,><link rel=stylesheet href=/page/style.css><div id=box></div>"
MEASURE = """(async () => {
  const {Plot} = await import('/page/plot.js');
  const plot = new Plot({label: 'Curves'});
  document.getElementById('box').append(plot.element);
  const POINTS = 10000, CURVES = 100;
  const data = [];
  for (let c = 0; c < CURVES; ++c) {
    const xs = Float64Array.from({length: POINTS}, (_, i) => i);
    let level = 8;
    const ys = Float64Array.from(xs, (x) => (level = level * 0.9995 + Math.sin(x * c) * 0.1) + 1);
    data.push({key: `1/${c}`, name: `1/${c}`, xs, ys, colour: c});
  }
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const median = async (act) => {
    const took = [];
    for (let i = 0; i < 9; ++i) {
      const start = performance.now();
      act(i);
      took.push(performance.now() - start);
      await frame();
    }
    return took.sort((a, b) => a - b)[4].toFixed(1);
  };
  const options = {x: 'step', y: 'loss', smooth: 0};
  await frame();
  const copies = Array.from({length: 9}, () => data.map((one) => ({...one, ys: one.ys.slice()})));
  const out = {first: await median((i) => plot.set(copies[i], options))};
  plot.set(data, options);
  out.again = await median(() => plot.draw());
  const changed = data.slice(0, 9).map((one) => ({...one, ys: one.ys.slice()}));
  out.one_curve = await median((i) => plot.set(data.map((one, c) => (c === i ? changed[i] : one)), options));
  out.smoothing = await median((i) => plot.set(data, {smooth: 0.5 + i / 100}));
  plot.set(data, options);
  out.zoom = await median((i) => { plot.zoom = [1000 + i * 100, 6000 + i * 50]; plot.draw(); });
  out.pointing = await median((i) => plot.point(`1/${i}`));
  return out;
})()"""


def serve(folder):
    """Serves only the page's files, on loopback."""
    class Files(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            file = folder / pathlib.PurePosixPath(self.path).name
            data = INDEX if self.path == "/" else file.read_bytes() if file.is_file() else None
            self.send_response(200 if data is not None else 404)
            kinds = {".js": "text/javascript", ".css": "text/css"}
            self.send_header("Content-Type", kinds.get(file.suffix, "text/html"))
            self.end_headers()
            self.wfile.write(data or b"")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main():
    if find_chromium() is None:
        print("there is no chromium here: ./dev setup installs it")
        return 77
    for folder in [pathlib.Path(one) for one in sys.argv[1:]] or [ROOT / "coordinator/http/page"]:
        server = serve(folder)
        browser = Browser()
        try:
            browser.go(f"http://127.0.0.1:{server.server_port}/")
            browser.until("document.getElementById('box')")
            print(folder, browser.run(MEASURE))
        finally:
            browser.close()
            server.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
