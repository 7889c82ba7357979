"""Opens reports in a headless Chromium and holds what a reader is promised.

    python3 scripts/report_check.py --out DIR [--axe axe.min.js] [--size ci] PAGE.html …

Each page is opened in light and in dark, 1280 and 390 pixels wide, and printed;
with --size ci in light on the wide screen and in dark on the narrow one alone.
In each: nothing is asked of a network, the console stays empty (a violation of
the page's policy would be said there), the page is no wider than the screen, no
block covers the next, each figure is in the theme that was asked for and has
a size, no text of a figure is outside of it, and axe-core finds nothing
where it is given. Screenshots and PDFs are left in DIR.

Talks to the browser through a pipe in its DevTools protocol, so that it needs
nothing but Python and a Chromium, or the Chrome that CHROME names.
"""

import argparse
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

BROWSERS = [
    os.environ.get("CHROME", ""),
    "chromium",
    "chromium-browser",
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
]
WIDE, NARROW = (1280, 900), (390, 844)
LOOKS = {
    "full": [("light", WIDE), ("light", NARROW), ("dark", WIDE), ("dark", NARROW)],
    "ci": [("light", WIDE), ("dark", NARROW)],
}

# What a page says of itself: a list of faults.
LOOK = r"""
(theme, width) => {
  const faults = [];
  const shown = e => e.checkVisibility() && e.getClientRects().length > 0;
  // Not innerWidth, which grows with a page that is too wide for a phone.
  if (document.documentElement.scrollWidth > width)
    faults.push(`the page is ${document.documentElement.scrollWidth} px wide, the screen ${width}`);
  const figures = document.querySelectorAll('figure');
  for (const f of figures) {
    const name = f.querySelector('svg text')?.textContent ?? '?';
    const there = [...f.querySelectorAll('svg')].filter(shown);
    if (there.length !== 1) {
      faults.push(`figure "${name}": ${there.length} drawings are shown, not one`);
      continue;
    }
    const ground = getComputedStyle(there[0].querySelector('path')).fill.match(/\d+/g).slice(0, 3);
    if (ground.every(c => c > 128) !== (theme === 'light')) faults.push(`figure "${name}" is not ${theme}: its ground is ${ground}`);
    const box = there[0].getBoundingClientRect();
    if (box.width < 100 || box.height < 60) faults.push(`figure "${name}" is ${box.width} × ${box.height} px`);
    for (const t of there[0].querySelectorAll('text')) {
      const b = t.getBoundingClientRect();
      if (b.left < box.left - 1 || b.right > box.right + 1 || b.top < box.top - 1 || b.bottom > box.bottom + 1)
        faults.push(`figure "${name}": the text "${t.textContent}" is outside of it`);
    }
    if ((f.querySelector('[role=img]').getAttribute('aria-label') ?? '').length < 20) faults.push(`figure "${name}" has no words`);
  }
  if (figures.length && !document.fonts.check('11px "Liberation Sans"')) faults.push('the font of figures is not there');
  for (const parent of document.querySelectorAll('body, main, section, header')) {
    const blocks = [...parent.children].filter(shown);
    blocks.slice(1).forEach((b, i) => {
      const above = blocks[i].getBoundingClientRect(), below = b.getBoundingClientRect();
      if (below.top < above.bottom - 1) faults.push(`<${b.tagName}> "${b.textContent.trim().slice(0, 40)}" covers what is above it`);
    });
  }
  for (const cell of document.querySelectorAll('td, th')) {
    if (shown(cell) && cell.scrollWidth > cell.clientWidth + 1) faults.push(`the cell "${cell.textContent.slice(0, 40)}" is wider than its column`);
  }
  if (document.querySelector('script, iframe, object, embed, base, form')) faults.push('there is an element that runs or asks for something');
  return faults;
}
"""


class Browser:
    """A Chromium and its DevTools protocol: JSON messages that end in a null byte, on descriptors 3 and 4."""

    def __init__(self, program, profile):
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def descriptors():
            # Through copies, for 3 or 4 may be one of the pipes' own ends.
            a, b = os.dup(to_browser), os.dup(from_browser)
            a, b = os.dup(a), os.dup(b)
            os.dup2(a, 3)
            os.dup2(b, 4)

        flags = ["--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--disable-background-networking",
                 "--disable-component-update", "--hide-scrollbars", f"--user-data-dir={profile}"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            flags.append("--no-sandbox")  # which does not work for root, as in a container
        self.process = subprocess.Popen([program, *flags, "about:blank"], preexec_fn=descriptors, close_fds=False,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.number, self.events = b"", 0, []

    def message(self):
        while b"\0" not in self.rest:
            part = os.read(self.read_end, 1 << 20)
            if not part:
                sys.exit("report_check: the browser ended")
            self.rest += part
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, session=None, **params):
        self.number += 1
        call = {"id": self.number, "method": method, "params": params}
        if session:
            call["sessionId"] = session
        data = json.dumps(call).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data):]
        while True:
            m = self.message()
            if m.get("id") == self.number:
                if "error" in m:
                    sys.exit(f"report_check: {method}: {m['error']['message']}")
                return m["result"]
            self.events.append(m)

    def wait(self, method):
        while not any(e.get("method") == method for e in self.events):
            self.events.append(self.message())

    def close(self):
        self.call("Browser.close")
        self.process.wait(20)


def evaluate(browser, tab, expression):
    got = browser.call("Runtime.evaluate", tab, expression=expression, returnByValue=True, awaitPromise=True)
    if "exceptionDetails" in got:
        sys.exit(f"report_check: {got['exceptionDetails']['exception'].get('description')}")
    return got["result"].get("value")


def told(events):
    """What the page asked for, and what its console has."""
    out = []
    for e in events:
        p = e.get("params", {})
        match e.get("method"):
            case "Network.requestWillBeSent" if not p["request"]["url"].startswith(("data:", "file:")):
                out.append("asks for " + p["request"]["url"])
            case "Log.entryAdded":
                out.append("console: " + p["entry"]["text"])
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown":
                out.append("console: " + json.dumps(p)[:200])
    return out


def check(browser, page, out, axe, size):
    """All faults of a page, in all its looks."""
    faults = []
    for theme, (width, height) in LOOKS[size]:
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        tab = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        browser.events.clear()
        for domain in ("Page", "Runtime", "Log", "Network"):
            browser.call(domain + ".enable", tab)
        browser.call("Emulation.setDeviceMetricsOverride", tab, width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        browser.call("Emulation.setEmulatedMedia", tab, features=[{"name": "prefers-color-scheme", "value": theme}])
        browser.call("Page.navigate", tab, url=page.resolve().as_uri())
        browser.wait("Page.loadEventFired")
        evaluate(browser, tab, "document.fonts.ready.then(() => true)")
        name = f"{page.stem}-{width}-{theme}"
        found = told(browser.events) + evaluate(browser, tab, f"({LOOK})('{theme}', {width})")
        shoot(browser, tab, out / f"{name}.png")
        evaluate(browser, tab, "document.querySelectorAll('details').forEach(d => d.open = true)")
        found += [f"opened: {f}" for f in evaluate(browser, tab, f"({LOOK})('{theme}', {width})")]
        if axe:
            evaluate(browser, tab, axe + "; true")
            found += evaluate(browser, tab, "axe.run().then(r => r.violations.map(v => `axe ${v.id}: ${v.help}: ${v.nodes.length} × ${v.nodes[0].html.slice(0, 120)} ${(v.nodes[0].any[0]?.message ?? '').slice(0, 160)}`))")
        if size == "full" and theme == "dark" and width > 600:
            pdf = browser.call("Page.printToPDF", tab, printBackground=True, preferCSSPageSize=True)["data"]
            (out / f"{page.stem}.pdf").write_bytes(base64.b64decode(pdf))
        browser.call("Target.closeTarget", targetId=target)
        faults += [f"{name}: {f}" for f in dict.fromkeys(found)]
    return faults


def shoot(browser, tab, path):
    size = browser.call("Page.getLayoutMetrics", tab)["cssContentSize"]
    clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 8000), "scale": 1}
    shot = browser.call("Page.captureScreenshot", tab, captureBeyondViewport=True, clip=clip)
    path.write_bytes(base64.b64decode(shot["data"]))


def main():
    args = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    args.add_argument("--out", type=pathlib.Path, required=True, help="folder for screenshots and PDFs")
    args.add_argument("--axe", type=pathlib.Path, help="axe-core's script")
    args.add_argument("--size", choices=LOOKS, default="full", help="in how many looks each page is opened")
    args.add_argument("pages", type=pathlib.Path, nargs="+", metavar="PAGE.html")
    args = args.parse_args()
    program = next((p for p in map(shutil.which, filter(None, BROWSERS)) if p), None)
    if not program:
        sys.exit("report_check: no Chromium is on the path: install it (Debian: apt-get install chromium), or name one in CHROME")
    args.out.mkdir(parents=True, exist_ok=True)
    axe = args.axe.read_text() if args.axe else ""
    faults = []
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(program, profile)
        for page in args.pages:
            found = check(browser, page, args.out, axe, args.size)
            print(f"{page.name}: {page.stat().st_size / 1e6:.2f} MB, {len(found)} faults", flush=True)
            faults += found
        browser.close()
    print("\n".join(faults))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
