"""Makes a site of DocC fit for the console: no script in a page, and the same bytes each time.

usage: finish.py SITE BASE SCRIPT

Its pages may run scripts of the site's own folder only, and are no part of the console's origin:
SCRIPT stands in for what they have inline, and for what a browser denies them there.
"""

import json
import pathlib
import re
import sys

NOSCRIPT = re.compile("<noscript>.*?</noscript>")
# What a page says without scripts; DocC's own words take four times the rest of it.
WITHOUT = ('<noscript>These pages need JavaScript. '
           '<a href="/help/Operating">Those for operators</a> do not.</noscript>')
# Comments of code, on the ground of a light page: DocC's grey, and one that can be read.
FAINT, READABLE = "--color-syntax-comments:#707f8c", "--color-syntax-comments:#566370"
# For cards of social networks, which come to no console, and what pages are made from.
NEEDLESS = ("developer-og.jpg", "developer-og-twitter.jpg", "index-template.html")
# The compiler's names of symbols. No page shows them, and they are a twentieth of the packed site.
UNSEEN = ("externalID", "preciseIdentifier")
# What DocC colours; pages ask for it by the name of the language.
COLOURED = ("c", "cpp", "css", "diff", "http", "java", "llvm", "objectivec", "perl", "php", "ruby",
            "scss")
LANGUAGE = re.compile('"syntax":"([a-z]+)"')


def main(site, base, script):
    inline = f'<script>var baseUrl = "/{base}/"</script>'
    linked = f'<script src="/{base}/js/callagent.js"></script>'
    pages = sorted(site.rglob("*.html"))
    for page in pages:
        text = page.read_text(encoding="utf-8")
        if page.name in NEEDLESS:
            continue
        if text.count(inline) != 1 or text.count("<script>") != 1:
            sys.exit(f"finish: {page}: other scripts than known")
        text, count = NOSCRIPT.subn(WITHOUT, text.replace(inline, linked))
        if count != 1:
            sys.exit(f"finish: {page}: other words without scripts than known")
        page.write_text(text, encoding="utf-8")
    if not pages:
        sys.exit(f"finish: no page in {site}")
    for name in NEEDLESS:
        (site / name).unlink(missing_ok=True)
    sheets = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.css")}
    if not any(FAINT in text for text in sheets.values()):
        sys.exit("finish: another colour of comments than known")
    for path, text in sheets.items():
        path.write_text(text.replace(FAINT, READABLE), encoding="utf-8")
    # The order of names within DocC's objects is another one each time.
    for path in sorted(site.rglob("*.json")):
        value = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(packed(seen(value)), encoding="utf-8")
    drop_languages(site)
    # It asks for these, and would go on without, after a complaint.
    (site / "theme-settings.json").write_text("{}", encoding="utf-8")
    text = script.read_text(encoding="utf-8").replace("BASE", f"/{base}/")
    (site / "js" / "callagent.js").write_text(text, encoding="utf-8")
    for path in [site, *site.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


def drop_languages(site):
    """What colours languages that no page has goes."""
    used = set()
    for path in site.glob("data/**/*.json"):
        used.update(LANGUAGE.findall(path.read_text(encoding="utf-8")))
    for name in set(COLOURED) - used:
        for path in site.glob(f"js/highlight-js-{name}-js.*.js"):
            path.unlink()


def seen(value):
    """What pages show of a value."""
    if isinstance(value, dict):
        return {name: seen(one) for name, one in value.items() if name not in UNSEEN}
    return [seen(one) for one in value] if isinstance(value, list) else value


def packed(value):
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]))
