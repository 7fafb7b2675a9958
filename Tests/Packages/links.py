"""Follows the links of the pages in a folder: each leads to a page, and to a place on it."""

import html.parser
import pathlib
import sys


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.places, self.headings = [], set(), 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        fields = dict(attributes)
        if tag == "a" and "href" in fields:
            self.links.append(fields["href"])
        if "id" in fields:
            self.places.add(fields["id"])
        self.headings += tag == "h1"


def main(folder):
    pages = {path.name: Page(path.read_text(encoding="utf-8")) for path in folder.glob("*.html")}
    assert len(pages) > 20, pages.keys()
    wrong = []
    for name, page in pages.items():
        if page.headings == 0:
            wrong.append(f"{name}: no title")
        for link in page.links:
            if "://" in link or link.startswith("mailto:"):
                continue
            other, _, place = link.partition("#")
            if other and other not in pages:
                wrong.append(f"{name}: {link} leads nowhere")
            elif place and place not in pages[other or name].places:
                wrong.append(f"{name}: {link} is no place there")
    unseen = set(pages) - {link.partition("#")[0] for page in pages.values() for link in page.links}
    assert not unseen, f"no link leads to {unseen}"
    assert not wrong, "\n".join(wrong)
    print(f"links: {sum(len(page.links) for page in pages.values())} in {len(pages)} pages")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
