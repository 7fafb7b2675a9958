"""Follows the links of a site that DocC made: each leads to a page of it, and to a place on it.

usage: site.py SITE BASE

Looked at are the pages as a server sends them (what they load), the data of which DocC's scripts
make what people see (links between pages, to places, images), and the index at the side. No page
may load anything from elsewhere, and every page must be reached from the first one.
"""

import html.parser
import json
import pathlib
import sys
import urllib.parse

OUTSIDE = ("https://", "http://", "mailto:")
LOADING = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}


class Loaded(html.parser.HTMLParser):
    """What a page loads, and the scripts that stand in it."""

    def __init__(self, text):
        super().__init__()
        self.addresses, self.scripts = [], 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        fields = dict(attributes)
        if tag in LOADING and LOADING[tag] in fields:
            self.addresses.append(fields[LOADING[tag]])
        self.scripts += tag == "script" and "src" not in fields


def walk(value):
    """Every object below a value."""
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value:
        if isinstance(one, (dict, list)):
            yield from walk(one)


class Page:
    """One page, from its data."""

    def __init__(self, path):
        self.data = json.loads(path.read_text(encoding="utf-8"))
        self.references = self.data.get("references", {})
        own = {key: value for key, value in self.data.items() if key != "references"}
        # The titles of its parts, by which the scripts of DocC make places too.
        self.places = {"topics", "see-also", "relationships", "discussion", "parameters",
                       "return-value", "declarations", "default-implementations", "app-top"}
        self.used = set()
        # Protocols of other modules, such as Sendable: named there, and no link.
        self.foreign = {
            each for one in self.data.get("relationshipsSections", [])
            for each in one["identifiers"]}
        for one in walk(own):
            if "anchor" in one:
                self.places.add(one["anchor"].lower())
            if one.get("type") in ("reference", "image", "video"):
                self.used.add(one["identifier"])
            for name in ("identifiers", "seeAlso", "topics"):
                self.used |= {each for each in one.get(name, []) if isinstance(each, str)}

    def links(self):
        for identifier in sorted(self.used):
            found = self.references.get(identifier)
            yield identifier, found


class Site:
    def __init__(self, folder, base):
        self.folder, self.base = folder, f"/{base}/"
        data = folder / "data"
        self.pages = {
            "/" + str(path.relative_to(data).with_suffix("")): Page(path)
            for path in sorted(data.rglob("*.json"))}
        self.wrong, self.count = [], 0
        self.reached = {}

    def holds(self, path):
        return (self.folder / urllib.parse.unquote(path).lstrip("/")).is_file()

    def check_page(self, path, page):
        self.reached[path] = set()
        if not self.holds(f"{path}/index.html"):
            self.wrong.append(f"{path}: there is data, but no page")
        for identifier, found in page.links():
            self.count += 1
            if found is None:
                self.wrong.append(f"{path}: {identifier} is named and not described")
            elif found.get("type") == "unresolvable":
                if identifier not in page.foreign:
                    self.wrong.append(f"{path}: {identifier} leads nowhere")
            elif found.get("type") in ("image", "video"):
                for variant in found["variants"]:
                    if not self.holds(variant["url"]):
                        self.wrong.append(f"{path}: the file {variant['url']} is not there")
            elif "url" in found:
                self.check_link(path, found["url"])

    def check_link(self, path, url):
        if url.startswith(OUTSIDE):
            return
        target, _, place = url.partition("#")
        target = urllib.parse.unquote(target).rstrip("/") or path
        if target not in self.pages:
            self.wrong.append(f"{path}: {url} leads nowhere")
            return
        self.reached[path].add(target)
        wanted = urllib.parse.unquote(place).lower()
        if place and wanted not in self.pages[target].places:
            self.wrong.append(f"{path}: {url} is no place there")

    def check_loading(self, path):
        name = path.relative_to(self.folder)
        page = Loaded(path.read_text(encoding="utf-8"))
        if page.scripts:
            self.wrong.append(f"{name}: a script stands in the page")
        for address in page.addresses:
            self.count += 1
            if not address.startswith(self.base) or not self.holds(address[len(self.base):]):
                self.wrong.append(f"{name}: loads {address}, which is no file of the site")

    def check_index(self):
        index = json.loads((self.folder / "index/index.json").read_text(encoding="utf-8"))
        paths = {one["path"] for one in walk(index) if "path" in one and "title" in one}
        assert paths, "the index at the side is empty"
        for path in sorted(paths):
            self.check_link("/documentation", path)

    def check_reach(self):
        seen, waiting = set(), ["/documentation"]
        while waiting:
            path = waiting.pop()
            if path not in seen:
                seen.add(path)
                waiting += self.reached.get(path, ())
        for path in sorted(set(self.pages) - seen):
            self.wrong.append(f"no link leads to {path}")

    def check(self):
        for path, page in self.pages.items():
            self.check_page(path, page)
        for path in sorted(self.folder.rglob("*.html")):
            self.check_loading(path)
        self.check_index()
        self.check_reach()


def main(folder, base):
    site = Site(folder, base)
    site.check()
    if site.wrong:
        sys.exit("\n".join(site.wrong))
    assert len(site.pages) > 50, f"{len(site.pages)} pages"
    print(f"site: {site.count} links in {len(site.pages)} pages")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2])
