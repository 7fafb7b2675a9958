"""Copies all documentation catalogues, with links between them as the site has them.

usage: catalogues.py SOURCES TARGET

In the sources a page points at one of another catalogue as at any file beside it:
[Rules](../../CallCore/CallCore.docc/Rules.md). DocC knows one catalogue at a time, and leaves such
a link as it is. Here it becomes the address that the page has on the site.
"""

import pathlib
import re
import shutil
import sys

FENCE = re.compile(r"^\s*```")
CODE = re.compile(r"(`+)(?:.*?)\1")
LINK = re.compile(r"(?<=\]\()([^()\s]+)(?=\))")
OUTSIDE = re.compile(r"(https?|mailto|doc):")


def address(page):
    """/documentation/callcore/rules for …/CallCore.docc/Rules.md."""
    catalogue = next(one for one in page.parts if one.endswith(".docc"))
    module = catalogue.removesuffix(".docc")
    is_first = page.stem == module and first_line(page) == f"# ``{module}``"
    rest = "" if is_first else f"/{page.stem.lower()}"
    return f"/documentation/{module.lower()}{rest}"


def first_line(page):
    return page.read_text(encoding="utf-8").partition("\n")[0]


class Rewriting:
    """The links of one page."""

    def __init__(self, page, pages):
        self.page, self.pages = page, pages
        self.complaints = []

    def replacement(self, link, number):
        if OUTSIDE.match(link) or link.startswith("#"):
            return link
        path, _, place = link.partition("#")
        other = (self.page.parent / path).resolve()
        if place:
            self.complaints.append(f"{self.page}:{number}: {link}: to a page, not to a place on it")
        elif other not in self.pages:
            self.complaints.append(f"{self.page}:{number}: {link} leads to no page of the site")
        else:
            return address(other)
        return link

    def line(self, line, number):
        """What stands in `code` is no link."""
        done, start = "", 0
        for code in CODE.finditer(line):
            done += self.text(line[start:code.start()], number) + code[0]
            start = code.end()
        return done + self.text(line[start:], number)

    def text(self, text, number):
        return LINK.sub(lambda match: self.replacement(match[1], number), text)

    def whole(self):
        lines, is_code = [], False
        for number, line in enumerate(self.page.read_text(encoding="utf-8").split("\n"), 1):
            if FENCE.match(line):
                is_code = not is_code
            elif not is_code:
                line = self.line(line, number)
            lines.append(line)
        return "\n".join(lines)


def main(sources, target):
    pages = {page.resolve() for page in sources.glob("*/*.docc/**/*.md")}
    if not pages:
        sys.exit(f"catalogues: there are none in {sources}")
    complaints = []
    for catalogue in sorted(sources.glob("*/*.docc")):
        shutil.copytree(catalogue, target / catalogue.name)
        for page in sorted(catalogue.rglob("*.md")):
            rewriting = Rewriting(page, pages)
            new = target / catalogue.name / page.relative_to(catalogue)
            new.write_text(rewriting.whole(), encoding="utf-8")
            complaints += rewriting.complaints
    if complaints:
        sys.exit("\n".join(complaints))


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
