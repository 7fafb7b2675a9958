"""Prometheus itself, and its tool, read the figures, the alerts and the dashboards."""

import http.client
import json
import pathlib
import re
import shutil
import subprocess
import urllib.parse

import pytest

from agent import HTTPReply, free_port, wait_for
from support import ACCEPT, SUPPORT, call
from test_tls import CONFIG as TLS, certify

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MONITORING = ROOT / "examples" / "monitoring"
OPERATING = "Sources/AgentServer/AgentServer.docc/Operating.md"
BOARDS = sorted(MONITORING.glob("*.json"))
COUNTING = ACCEPT.replace('kv.incr("asked", 1)', 'count("asked", 1, { kind = "vip" })')

FILE = """global: {{ scrape_interval: 1s, evaluation_interval: 1s }}
rule_files: ["{rules}"]
scrape_configs:
  - job_name: callagent
    static_configs: [{{ targets: [{targets}] }}]
"""


def tool(name):
    found = shutil.which(name)
    assert found, f"{name} is missing: sh examples/install.sh --checks"
    return found


def promtool(*arguments, **options):
    """What the tool says, and whether it is content."""
    done = subprocess.run(
        [tool("promtool"), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=60, check=False, **options)
    return done.returncode, done.stdout


def scrape(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/metrics")
        return HTTPReply(connection.getresponse()).text
    finally:
        connection.close()


class Prometheus:
    """A real one, that looks at some servers every second."""

    def __init__(self, folder, targets):
        self.port = free_port()
        targets = ", ".join(f'"127.0.0.1:{port}"' for port in targets)
        (folder / "prometheus.yml").write_text(
            FILE.format(rules=MONITORING / "rules.yml", targets=targets))
        self.log = open(folder / "prometheus.log", "wb")
        self.process = subprocess.Popen(
            [tool("prometheus"), f"--config.file={folder}/prometheus.yml",
             f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def ask(self, path, **parameters):
        """Data of an answer; None: it does not answer yet. A refusal is an error."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", f"/api/v1/{path}?{urllib.parse.urlencode(parameters)}")
            reply = HTTPReply(connection.getresponse())
        except OSError:
            return None
        finally:
            connection.close()
        if reply.status == 503:
            return None
        assert reply.body and reply.body["status"] == "success", reply.text
        return reply.body["data"]

    def series(self, expression):
        """How many series an expression gives; what cannot be parsed is an error."""
        return len(self.ask("query", query=expression)["result"])

    def names(self):
        return set(self.ask("label/__name__/values") or [])

    def close(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


@pytest.fixture
def servers(make_agent):
    """One that has served calls with a plugin, and one with a certificate; their ports."""
    first, second = free_port(), free_port()
    agent = make_agent(SUPPORT + f'metrics = "127.0.0.1:{first}"\n', {"support": COUNTING}).start()
    call(agent, "ann")
    secure = make_agent(TLS + f'metrics = "127.0.0.1:{second}"\n', folder="secure")
    certify(secure.folder)
    secure.launch()
    secure.logs("figures can be read")
    return first, second


# The figures


def test_promtool_finds_nothing_to_complain_about(servers):
    for port in servers:
        text = scrape(port)
        assert promtool("check", "metrics", input=text) == (0, "")
    assert "callagent_plugin_asked_total" in scrape(servers[0])
    # It would: a counter without its ending, a unit that is none.
    code, said = promtool("check", "metrics", input="# TYPE wait_ms counter\nwait_ms 1\n")
    assert code != 0 and "_total" in said and "help" in said


# The alerts


def test_promtool_likes_the_rules_and_their_tests():
    code, said = promtool("check", "rules", str(MONITORING / "rules.yml"))
    assert code == 0 and "SUCCESS" in said and "FAILED" not in said, said
    code, said = promtool("test", "rules", str(MONITORING / "rules_test.yml"))
    assert code == 0, said


@pytest.mark.parametrize("right, wrong", [
    ("expr: callagent_ready == 0\n        for: 2m", "expr: callagent_ready == 0\n        for: 1m"),
    ("expr: callagent_ready == 0\n        for: 2m", "expr: callagent_ready == 0\n        for: 5m"),
    ("takes no calls", "takes few calls"),
    ("callagent_webhooks_disabled > 0", "callagent_webhook_disabled > 0"),
    ("severity: critical", "severity: warning")])
def test_the_tests_of_the_rules_find_a_mistake(tmp_path, right, wrong):
    rules = (MONITORING / "rules.yml").read_text()
    assert right in rules
    (tmp_path / "rules.yml").write_text(rules.replace(right, wrong))
    shutil.copy(MONITORING / "rules_test.yml", tmp_path)
    code, said = promtool("test", "rules", str(tmp_path / "rules_test.yml"))
    assert code != 0 and "FAILED" in said, said


def test_an_alert_comes_before_clients_are_sent_away_for_want_of_connections(make_agent):
    """A tenth of the connections is kept for those who come back, so nobody sees more in use."""
    agent = make_agent("limits = { connections = 50 }\n").start()
    with pytest.raises(AssertionError, match="too many connections"):
        for number in range(60):
            agent.connect(f"user-{number}")
    figures = agent.metrics()
    used = figures["callagent_connections"] / figures["callagent_connections_limit"]
    rules = (MONITORING / "rules.yml").read_text()
    bound = re.search(r"callagent_connections / callagent_connections_limit > ([0-9.]+)", rules)[1]
    assert used > float(bound), (used, bound)


def headings():
    lines = (ROOT / OPERATING).read_text().splitlines()
    return [line.lstrip("# ") for line in lines if line.startswith("### Callagent")]


def test_every_alert_is_tested_and_has_a_paragraph():
    rules = (MONITORING / "rules.yml").read_text()
    alerts = re.findall(r"^ +- alert: (\w+)$", rules, re.M)
    assert len(alerts) == 25 and len(set(alerts)) == 25
    assert headings() == alerts
    tests = (MONITORING / "rules_test.yml").read_text()
    for alert in alerts:
        part = rules.split(f"- alert: {alert}\n")[1].split("- alert: ")[0]
        assert f"runbook_url: {OPERATING}#{alert.lower()}\n" in part + "\n", alert
        assert re.search(r"severity: (critical|warning)\n", part), alert
        assert "summary:" in part and "description:" in part, alert
        mine = tests.split(f"- name: {alert}\n")[1].split("  - name: ")[0]
        assert mine.count(f"alertname: {alert}\n") == 2 and "exp_alerts: []" in mine, alert


# The dashboards


def overlap(one, other):
    return (one["x"] < other["x"] + other["w"] and other["x"] < one["x"] + one["w"]
            and one["y"] < other["y"] + other["h"] and other["y"] < one["y"] + one["h"])


def defects(board):
    """What Grafana would show wrong, as far as its form tells."""
    found = []
    panels = board["panels"]
    if len({panel["id"] for panel in panels}) != len(panels):
        found.append("an id twice")
    for place, panel in enumerate(panels):
        spot = panel["gridPos"]
        if spot["x"] + spot["w"] > 24:
            found.append(f"{panel['title']} is too wide")
        found += [f"{panel['title']} lies over {other['title']}" for other in panels[:place]
                  if overlap(spot, other["gridPos"])]
        if panel["type"] != "row":
            used = [panel["datasource"], *(one["datasource"] for one in panel["targets"])]
            if any(one != {"type": "prometheus", "uid": "${datasource}"} for one in used):
                found.append(f"{panel['title']} has a data source of its own")
            if len({one["refId"] for one in panel["targets"]}) != len(panel["targets"]):
                found.append(f"{panel['title']} has a letter twice")
    variables = {one["name"]: one["type"] for one in board["templating"]["list"]}
    if variables != {"datasource": "datasource", "instance": "query"}:
        found.append("other variables")
    return found


def test_dashboards_have_the_form_that_grafana_wants():
    boards = [json.loads(path.read_text()) for path in BOARDS]
    assert [path.stem for path in BOARDS] == ["delivery", "overview", "policies"]
    assert len({board["uid"] for board in boards}) == len({board["title"] for board in boards}) == 3
    for board in boards:
        assert defects(board) == []
    # Mistakes that are put in are found.
    board = boards[0]
    panels = [panel for panel in board["panels"] if panel["type"] != "row"]
    panels[1]["gridPos"] = panels[0]["gridPos"]
    panels[2]["id"] = panels[3]["id"]
    panels[4]["datasource"] = {"type": "prometheus", "uid": "mine"}
    assert len(defects(board)) == 3


# Both, beside a real Prometheus


def expressions(board):
    """Every expression of a dashboard, as Grafana sends it."""
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            text = target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")
            assert "$" not in text, text
            yield text


def selectors(expression):
    """Each metric that an expression names, with its labels if it chooses among them."""
    name = r"(?:\w+:\w+:\w+|callagent_\w+|process_\w+|\bup\b)"
    return re.findall(name + r"(?:\{[^}]*\})?", expression)


def lost(prometheus, expression):
    """What an expression names and nobody serves; it is asked as it stands, too."""
    prometheus.series(expression)
    missing = [one for one in selectors(expression) if not prometheus.series(one)]
    for labels in re.findall(r"\bby \(([^)]*)\)", expression):
        name = selectors(expression)[0].split("{")[0]
        missing += [f"{label} of {name}" for label in labels.split(", ")
                    if not prometheus.series(f'{name}{{{label}!=""}}')]
    return missing


@pytest.fixture
def prometheus(servers, tmp_path):
    """One that has seen both servers twice, and has judged the rules since."""
    made = Prometheus(tmp_path, servers)
    try:
        wait_for("Prometheus", lambda: made.ask("query", query="1"))
        wait_for("two looks at both servers", lambda: made.series(
            'count_over_time(callagent_ready[1m]) > 1') == 2)
        wait_for("what follows from them", lambda: {
            "plugin:callagent_hook_failures:ratio_rate10m",
            "instance:callagent_pushes_failed:ratio_rate10m"} <= made.names())
        yield made
    finally:
        made.close()


def test_every_expression_is_about_what_is_served(prometheus):
    groups = prometheus.ask("rules")["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len(rules) == 27
    assert [(rule["name"], rule["lastError"]) for rule in rules if rule["health"] != "ok"] == []
    assert [rule["name"] for rule in rules if rule.get("state") == "firing"] == []
    # What nodes of a cluster serve is looked at by `test_cluster.py`; here one stands alone.
    asked = [rule["query"] for rule in rules
             if not re.search("callagent_(cluster|link)_", rule["query"])]
    for path in BOARDS:
        asked += expressions(json.loads(path.read_text()))
    assert len(asked) > 80
    for expression in asked:
        assert selectors(expression), expression
        assert lost(prometheus, expression) == [], expression
    # Everything that the servers tell is looked at by somebody, but for what plugins count and how
    # many questions needed no thread.
    seen = {re.sub(r"_(bucket|sum|count)$", "", one.split("{")[0])
            for expression in asked for one in selectors(expression)}
    served = {re.sub(r"_(bucket|sum|count)$", "", name) for name in prometheus.names()
              if name.startswith(("callagent_", "process_"))}
    assert served - seen == {
        "callagent_plugin_asked_total", "callagent_fast_lane_questions_total"}
    # A name, a label and a value that are put in wrong are found.
    good = 'sum by (op) (rate(callagent_requests_total{instance=~".*"}[1m]))'
    assert lost(prometheus, good) == []
    for right, wrong in [("requests", "request"), ("by (op)", "by (ops)"), (".*", "nobody")]:
        assert lost(prometheus, good.replace(right, wrong)) != [], wrong
    with pytest.raises(AssertionError, match="bad_data"):
        lost(prometheus, good + ")")
