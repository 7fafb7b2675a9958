"""Judges the report of the Autobahn fuzzing client.

usage: report.py INDEX.json     exit code 1 when a case failed or closed uncleanly, or is missing
       report.py --self-test    sees that planted failures are found
"""

import json
import sys

CASES = 247  # the cases 1.* to 7.* and 10.* of version 0.8.2
GOOD = ("OK",)
NOTED = ("NON-STRICT", "INFORMATIONAL")


def judge(report, expected=CASES):
    """Returns the lines to print and whether the server passed."""
    if len(report) != 1:
        return [f"one server was tested, the report has {len(report)}"], False
    (cases,) = report.values()
    lines, failures, counts = [], 0, {}
    for name in sorted(cases, key=lambda case: [int(part) for part in case.split(".")]):
        behaviour, close = cases[name]["behavior"], cases[name]["behaviorClose"]
        counts[behaviour] = counts.get(behaviour, 0) + 1
        failed = behaviour not in GOOD + NOTED or close not in GOOD + NOTED
        failures += failed
        if failed or behaviour in NOTED:
            lines.append(f"{name}: {behaviour}, close {close}")
    if len(cases) != expected:
        lines.append(f"{expected} cases were to run, {len(cases)} did")
    summary = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    lines.append(f"Autobahn: {len(cases)} cases, {failures} failed ({summary})")
    return lines, failures == 0 and len(cases) == expected


def self_test():
    def report(behaviour, close):
        return {"a": {"1.1.1": {"behavior": "OK", "behaviorClose": "OK"},
                      "1.1.2": {"behavior": behaviour, "behaviorClose": close}}}

    assert judge(report("OK", "OK"), 2)[1]
    assert judge(report("NON-STRICT", "OK"), 2)[1]
    assert judge(report("INFORMATIONAL", "INFORMATIONAL"), 2)[1]
    for behaviour, close in [("FAILED", "OK"), ("OK", "FAILED"), ("OK", "UNCLEAN"),
                             ("OK", "WRONG CODE"), ("UNIMPLEMENTED", "OK")]:
        assert not judge(report(behaviour, close), 2)[1], (behaviour, close)
    assert not judge(report("OK", "OK"), 3)[1], "a missing case"
    assert not judge({})[1], "an empty report"


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    with open(sys.argv[1], encoding="utf-8") as file:
        lines, passed = judge(json.load(file))
    print("\n".join(lines))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
