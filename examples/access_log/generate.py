"""Writes access.log, one day of a small shop's web server: `python generate.py > access.log`, the same on every run."""

import random
from datetime import UTC, datetime, timedelta

LINES = 420
DAY = datetime(2025, 3, 10, tzinfo=UTC)

# path, weight, body size in bytes (low, high), usual seconds
PAGES = [
    ("/", 60, (8200, 8400), 0.04),
    ("/products", 45, (14000, 22000), 0.09),
    ("/products/espresso-machine", 22, (9000, 9400), 0.06),
    ("/products/hand-grinder", 18, (8700, 9100), 0.06),
    ("/products/filter-papers", 9, (6100, 6300), 0.05),
    ("/search", 30, (3000, 18000), 0.35),
    ("/cart", 20, (2100, 4800), 0.08),
    ("/checkout", 9, (5200, 5600), 0.40),
    ("/blog/dialing-in", 12, (21000, 21400), 0.07),
    ("/static/app.css", 38, (48211, 48211), 0.003),
    ("/static/app.js", 38, (182044, 182044), 0.005),
    ("/favicon.ico", 14, (1150, 1150), 0.002),
    ("/api/stock", 26, (180, 420), 0.12),
    ("/reports/export.csv", 4, (900000, 2400000), 3.2),
    ("/wp-login.php", 7, (152, 152), 0.002),
]
SEARCHES = ["grinder", "decaf", "caf%C3%A9", "filter+paper", "v60", "kettle"]
CLIENTS = [f"203.0.113.{n}" for n in (7, 11, 19, 42, 77, 130, 201)] + [
    "198.51.100.4",
    "198.51.100.23",
    "198.51.100.88",
    "2001:db8::8a2e:370:7334",
]
SCANNER = "192.0.2.66"
EXPORTER = "198.51.100.200"
AGENTS = [
    "Mozilla/5.0 (X11; Linux x86_64; rv:136.0) Gecko/20100101 Firefox/136.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_3 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
    " Version/18.3 Mobile Safari/604.1",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/134.0.0.0 Safari/537.36",
    "curl/8.12.1",
]
REFERRERS = ["-", "-", "https://shop.example/", "https://shop.example/products", "https://search.example/?q=grinder"]
# What real logs contain besides log lines; each goes in at the given place.
BROKEN = {
    57: '203.0.113.42 - - [10/Mar/2025:04:11:09 +0000] "\\x16\\x03\\x01" 400 152 "-" "-" 0.001',
    118: "203.0.113.7 - - [10/Mar/2025:08:02:",
    203: "",
    204: "--- log rotated ---",
    299: '198.51.100.4 - - [31/Feb/2025:14:20:01 +0000] "GET / HTTP/1.1" 200 8311 "-" "curl/8.12.1" 0.031',
    388: '203.0.113.19 - - [10/Mar/2025:20:40:12 +0000] "GET /cart HTTP/1.1" 999999 2210 "-" "curl/8.12.1" 0.044',
}


def busy(hour: int) -> int:
    """How many visits an hour draws: a quiet night, a lunch peak, a long evening."""
    return [3, 2, 1, 1, 1, 2, 5, 9, 14, 17, 18, 21, 27, 24, 19, 18, 17, 19, 24, 28, 27, 20, 11, 6][hour]


def status_of(rng: random.Random, path: str) -> int:
    if path == "/wp-login.php":
        return 404
    if path == "/checkout" and rng.random() < 0.25:
        return rng.choice([500, 502, 303])
    if path == "/api/stock" and rng.random() < 0.12:
        return 503
    if path.startswith("/static/") and rng.random() < 0.35:
        return 304
    if path.startswith("/products/") and rng.random() < 0.06:
        return 301
    return 200 if rng.random() > 0.02 else 404


def line_of(rng: random.Random, at: datetime) -> str:
    path, _, (low, high), usual = rng.choices(PAGES, [page[1] for page in PAGES])[0]
    client = rng.choice(CLIENTS)
    if path == "/wp-login.php":
        client = SCANNER
    elif path == "/reports/export.csv":
        client = EXPORTER
    status = status_of(rng, path)
    method = "POST" if path in ("/checkout", "/cart") and rng.random() < 0.5 else "GET"
    user = "mara" if client == EXPORTER else "-"
    size: int | str = rng.randint(low, high)
    if status == 304:
        size = "-"
    elif status >= 400:
        size = 152
    elif status in (301, 303):
        size = 0
    if path == "/search":
        path += "?q=" + rng.choice(SEARCHES)
    seconds = max(0.001, rng.lognormvariate(0, 0.5) * usual)
    if status in (502, 503):
        seconds += 5
    stamp = at.strftime("%d/%b/%Y:%H:%M:%S +0000")
    agent = "python-requests/2.32" if client == SCANNER else rng.choice(AGENTS)
    referrer = rng.choice(REFERRERS)
    return f'{client} - {user} [{stamp}] "{method} {path} HTTP/1.1" {status} {size} "{referrer}" "{agent}" {seconds:.3f}'


def main() -> None:
    rng = random.Random(20250310)
    hours = rng.choices(range(24), [busy(hour) for hour in range(24)], k=LINES)
    times = sorted(DAY + timedelta(hours=hour, seconds=rng.randrange(3600)) for hour in hours)
    lines = [line_of(rng, at) for at in times]
    for place, text in BROKEN.items():
        lines.insert(place - 1, text)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
