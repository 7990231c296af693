"""The cost of open pages for a coordinator: usage: pages.py HOST:PORT PID [PAGES [SECONDS]]

Sends the requests of PAGES browsers, a quarter of them on each view of the newest experiment, over connections of
their own and with the tags of their cached answers, and prints the results: processor time and memory of the
coordinator, whose process is PID, over the same time with and without pages. To have live trials, run in another
terminal: coordinator_load --workers 500 --trials 500 --rate 250 --seconds 60, and measure during its paced phase.
"""

import asyncio
import os
import pathlib
import sys
import time

REFRESH_S = 2  # from app.js, with REFRESH_SHARE
SHARE = 8
REFRESH_MOST_S = 15
BASELINE_S = 8
TRIALS = 20
METRICS = ("loss,val_loss,learning_rate,grad_norm,tokens_per_second,data_seconds,forward_seconds,backward_seconds,"
           "comm_exposed_seconds,optimizer_seconds,other_seconds,eval_seconds,checkpoint_seconds")


def views(number):
    """Returns the requests of the page with this number."""
    of = f"experiments/last/trials/{1 + number % TRIALS}"
    return [
        ["experiments?page_size=500"],
        ["experiments/last", "experiments/last/trials?page_size=500",
         f"experiments/last/curves?trial={','.join(map(str, range(1, TRIALS + 1)))}&metric=loss&points=1000"],
        ["workers?page_size=500", "queue", "experiments/last/trials?state=running&page_size=500", "quotas", "notices"],
        [of, f"{of}/logs?tail=2000", f"experiments/last/checkpoints?trial={1 + number % TRIALS}&page_size=500",
         f"experiments/last/curves?trial={1 + number % TRIALS}&metric={METRICS}&points=1000"],
    ][number % 4]


class Browsers:
    def __init__(self, address):
        self.host, port = address.rsplit(":", 1)
        self.port = int(port)
        self.seconds, self.bytes, self.failed, self.unchanged = [], 0, 0, 0

    async def get(self, path, tag):
        """Returns the tag of the answer, or None."""
        start = time.monotonic()
        held = f"If-None-Match: {tag}\r\n" if tag else ""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        writer.write(f"GET /api/v1/{path} HTTP/1.1\r\nHost: localhost\r\n{held}\r\n".encode())
        answer = await reader.read()
        writer.close()
        self.seconds.append(time.monotonic() - start)
        self.bytes += len(answer)
        head = answer.split(b"\r\n\r\n", 1)[0].decode().split("\r\n")
        self.unchanged += " 304 " in head[0]
        self.failed += " 200 " not in head[0] and " 304 " not in head[0]
        return next((line[6:] for line in head if line.startswith("ETag: ")), None)

    async def page(self, number, pages, end):
        tags = {}
        await asyncio.sleep(REFRESH_S * number / pages)
        while time.monotonic() < end:
            start = time.monotonic()
            for path in views(number):
                tags[path] = await self.get(path, tags.get(path))
            await asyncio.sleep(min(REFRESH_MOST_S, max(REFRESH_S, SHARE * (time.monotonic() - start))))


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) // 1024


async def main():
    address, pid = sys.argv[1], int(sys.argv[2])
    pages = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 20
    begun, used, memory = time.monotonic(), processor_seconds(pid), memory_mib(pid)
    await asyncio.sleep(BASELINE_S)
    without = (processor_seconds(pid) - used) / (time.monotonic() - begun)
    browsers = Browsers(address)
    begun, used = time.monotonic(), processor_seconds(pid)
    await asyncio.gather(*(browsers.page(number, pages, begun + seconds) for number in range(pages)))
    with_pages = (processor_seconds(pid) - used) / (time.monotonic() - begun)
    took = sorted(browsers.seconds)
    print(f"{pages} pages: {len(took)} answers, {browsers.unchanged} of them unchanged, {browsers.failed} failed, "
          f"{browsers.bytes >> 20} MiB; p50 {1e3 * took[len(took) // 2]:.0f} ms, "
          f"p99 {1e3 * took[len(took) * 99 // 100]:.0f} ms")
    print(f"coordinator: {100 * without:.1f} % of a core without them, {100 * with_pages:.1f} % with; "
          f"memory {memory} MiB, then {memory_mib(pid)} MiB")


if __name__ == "__main__":
    asyncio.run(main())
