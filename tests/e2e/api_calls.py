"""Makes each call of /api/v1 to a coordinator on which page_test.cc has trained: usage: api_calls.py
http://HOST:PORT"""

import http.client
import json
import sys


def get(connect, path):
    """Returns the status code and the answer."""
    connection = connect()
    connection.request("GET", f"/api/v1/{path}")
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    return response.status, answer


def main():
    address = sys.argv[1].removeprefix("http://")

    def ask(path):
        return get(lambda: http.client.HTTPConnection(address, timeout=30), path)

    for path, kind, items in [
            ("status", "Status", None), ("experiments", "ExperimentList", 2),
            ("experiments?page_size=1", "ExperimentList", 1),
            ("experiments/1", "Experiment", None), ("experiments/1/trials?state=finished", "TrialList", 4),
            ("experiments/last/trials/1", "Trial", None), ("experiments/1/trials/2/file", "TrialFile", None),
            ("experiments/1/trials/1/evaluations?tail=3", "EvaluationList", 3),
            ("experiments/1/trials/1/logs?grep=line", "LogLineList", 3),
            ("experiments/1/curves?trial=1,2,3,4&metric=loss,val_loss", "CurveList", 4),
            ("experiments/1/checkpoints?trial=1", "CheckpointList", 3), ("workers", "WorkerList", 2),
            ("queue", "Queue", 0), ("experiments/1/importance", "ImportanceList", 0), ("notices", "Notices", None),
            ("access", "Access", None)]:
        code, answer = ask(path)
        assert code == 200 and answer["kind"] == kind, f"{path}: {code} {answer}"
        assert items is None or len(answer["items"]) == items, f"{path}: not {items} items: {answer}"
    curve = ask("experiments/1/curves?trial=1&metric=loss,val_loss")[1]["items"][0]
    assert curve["complete"] and curve["rows"] == 300 and curve["metrics"]["loss"]["steps"][-1] == 300, curve
    assert len(curve["metrics"]["val_loss"]["values"]) == 6, curve
    for path, code, part in [("experiments/99", 404, "experiment 99 does not exist"), ("nothing", 404, "/api/v1/queue"),
                             ("experiments/1/trials/9", 404, "has 4 trials"),
                             ("experiments?page_size=0", 400, "1 to 500"),
                             ("experiments/1/curves?trial=9", 404, "has 4 trials"),
                             ("experiments/1/curves?trial=1&trial=2", 400, "given twice"),
                             ("experiments/1/report?format=pdf", 400, "html, md, csv")]:
        got, answer = ask(path)
        assert got == code and answer["kind"] == "Error" and part in answer["message"], f"{path}: {got} {answer}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
