"""Makes plain HTML of the documentation: a page for each Markdown file, links between them.

usage: pages.py SOURCES TARGET
"""

import html
import pathlib
import re
import subprocess
import sys

HEAD = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem;
  padding: 0 1rem }}
pre {{ overflow-x: auto; padding: .75rem; border: 1px solid #8884 }}
table {{ border-collapse: collapse; display: block; overflow-x: auto }}
td, th {{ border: 1px solid #8884; padding: .25rem .5rem; text-align: left; vertical-align: top }}
</style></head>
<body><p><a href="index.html">callagent</a></p>
"""

DOC_LINK = re.compile(r"<doc:([A-Za-z0-9_-]+)(#[A-Za-z0-9_-]+)?>")
FILE_LINK = re.compile(r"\]\(([^():#\s]+\.md)\)")
SYMBOL = re.compile(r"``([^`]+)``")


def rendered(text):
    done = subprocess.run(
        ["cmark-gfm", "--unsafe", "-e", "table", "-e", "strikethrough"],
        input=text, text=True, capture_output=True, check=True)
    return done.stdout


def title_of(path):
    first = path.read_text(encoding="utf-8").splitlines()[0]
    return SYMBOL.sub(r"\1", first.lstrip("# ").strip())


def page_name(path, all_paths):
    """Where several pages have one name, each has that of its folder before it."""
    twins = [one for one in all_paths if one.stem == path.stem]
    name = path.stem if len(twins) == 1 else f"{path.parent.name.split('.')[0]}-{path.stem}"
    return name + ".html"


def find(name, near, all_paths):
    found = [one for one in all_paths if one.stem == name]
    own = [one for one in found if near.parent in (one.parent, one.parent.parent)]
    if not found:
        sys.exit(f"pages: {near}: <doc:{name}> leads nowhere")
    return (own or found)[0]


def main(sources, target):
    paths = sorted(pathlib.Path(sources).glob("*/*.docc/**/*.md"))
    places = {path.resolve(): path for path in paths}
    target.mkdir(parents=True, exist_ok=True)
    rows = []
    for path in paths:
        text = path.read_text(encoding="utf-8")

        def link(match, path=path):
            other = find(match[1], path, paths)
            return f"[{title_of(other)}]({page_name(other, paths)}{match[2] or ''})"

        def file_link(match, path=path):
            other = (path.parent / match[1]).resolve()
            if other not in places:
                sys.exit(f"pages: {path}: {match[1]} leads nowhere")
            return f"]({page_name(places[other], paths)})"

        text = FILE_LINK.sub(file_link, DOC_LINK.sub(link, text))
        text = SYMBOL.sub(r"`\1`", text)
        title = title_of(path)
        name = page_name(path, paths)
        body = HEAD.format(title=html.escape(title)) + rendered(text) + "</body></html>\n"
        (target / name).write_text(body, encoding="utf-8")
        catalogue = next(one for one in path.parts if one.endswith(".docc"))
        rows.append((catalogue, title, name))
    listing = ["<h1>callagent</h1>"]
    for catalogue in sorted({row[0] for row in rows}):
        listing.append(f"<h2>{catalogue.split('.')[0]}</h2>\n<ul>")
        for row in rows:
            if row[0] == catalogue:
                listing.append(f'<li><a href="{row[2]}">{html.escape(row[1])}</a></li>')
        listing.append("</ul>")
    index = HEAD.format(title="callagent") + "\n".join(listing) + "\n</body></html>\n"
    (target / "index.html").write_text(index, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
