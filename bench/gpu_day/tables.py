"""Prints a day's results as Markdown, to paste. Pure."""

import math


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _newest(results: list[dict], what: str, *keys: str) -> list[dict]:
    """Returns the newest of records about the same thing, in the order of the first."""
    kept: dict[tuple, dict] = {}
    for record in results:
        if record.get("what") == what:
            kept[tuple(record.get(key) for key in keys)] = record
    return list(kept.values())


def _number(value, form: str = ".2f") -> str:
    return "–" if value is None or (isinstance(value, float) and math.isnan(value)) else f"{value:{form}}"


def _machine(results: list[dict]) -> str:
    lines = [f"{record['clocks']}" for record in _newest(results, "gpu")]
    for record in _newest(results, "ceilings"):
        lines.append(f"torch {record['torch']}, cuDNN {record['cudnn']}; copies "
                     f"{record['copy_bytes_per_second'] / 1e12:.2f} TB/s, bf16 products "
                     f"{record['bf16_flops_per_second'] / 1e12:.0f} TFLOP/s")
    for record in _newest(results, "tools"):
        lines.append("; ".join(f"{name}: {version}" for name, version in record["tools"].items() if version))
    return "\n\n".join(lines)


def _tests(results: list[dict]) -> str:
    told = _newest(results, "test", "name")
    if not told:
        return ""
    hows = [record["how"] for record in told]
    line = ", ".join(f"{hows.count(how)} {how}" for how in ("OK", "FAILED", "ENDED", "SKIPPED") if how in hows)
    bad = [[record["name"], record["how"], record["words"].strip().replace("\n", " ")[:300].replace("|", "/")]
           for record in told if record["how"] in ("FAILED", "ENDED")]
    return line + ("\n\n" + _table(["case", "", "what it said"], bad) if bad else "")


def _speed(results: list[dict]) -> str:
    rows = []
    for record in _newest(results, "bench", "shape", "who") + _newest(results, "pytorch", "shape", "who"):
        beside = " (while the trainer was built)" if record.get("beside_build") else ""
        if record.get("failed"):
            rows.append([record["shape"], record["who"] + beside, record["failed"], "", "", "", ""])
            continue
        apart = f"{record['early']:.1e}, {record['all']:.1e}" if "early" in record else ""
        rows.append([record["shape"], record["who"] + beside, _number(record["ms"]),
                     _number(record["tokens_per_second"], ",.0f"), _number(record.get("memory_gib")),
                     _number(record.get("ratio")) if record.get("ratio") else "", apart])
    return _table(["shape", "who", "ms a step", "tokens/s", "GiB", "times dttrain's", "losses apart (first 20, all)"],
                  rows) if rows else ""


def _steps(results: list[dict]) -> str:
    parts = [f"{record['shape']}: {record['ms']:.2f} ms a step by CUDA events; " +
             ", ".join(f"{phase} {ms:.2f}" for phase, ms in record["phases"].items())
             for record in _newest(results, "phases", "shape")]
    for record in _newest(results, "step_table", "shape"):
        rows = [[row["group"], str(row["launches"]), _number(row["ms"]), _number(row["gb"]) if row["gb"] else "",
                 _number(row["h100"], ".1f"), _number(row["h200"], ".1f")] for row in record["groups"]]
        rows.append(["**sum**", str(record["launches"]), _number(record["ms"]), "",
                     _number(sum(row["h100"] for row in record["groups"]), ".1f"),
                     _number(sum(row["h200"] for row in record["groups"]), ".1f")])
        parts.append(f"{record['shape']} on {record['device']}, by {record['by']}\n\n" + _table(
            ["group", "launches", "ms", "GB", "H100, estimated", "H200, estimated"], rows))
    return "\n\n".join(parts)


def _checks(results: list[dict]) -> str:
    rows = [[record["tool"], record["summary"].replace("|", "/"), "our kernels" if record.get("only_ours") else "all"]
            for record in _newest(results, "sanitizer", "tool")]
    rows += [["nvcc", "; ".join(record["used"]), "our kernels"] for record in _newest(results, "nvcc")]
    return _table(["tool", "what it said", "of"], rows) if rows else ""


def _recipe(results: list[dict]) -> str:
    parts = []
    for record in _newest(results, "recipe", "shape"):
        every = max(1, record["steps"] // 10)
        rows = [[str(step), f"{record['ours'][step - 1]:.5f}", f"{record['theirs'][step - 1]:.5f}"]
                for step in sorted({1, *range(every, record["steps"] + 1, every)})]
        parts.append(f"{record['shape']}, {record['steps']} steps: at most {record['all']:.1e} apart, "
                     f"{record['early']:.1e} in the first 20. {record['problem']}\n\n" +
                     _table(["step", "dttrain", "PyTorch eager"], rows))
    return "\n\n".join(parts)


def _memory(results: list[dict]) -> str:
    rows = []
    for record in _newest(results, "memory", "shape"):
        if "plan" not in record:
            rows.append([record["shape"], record.get("failed", ""), "", "", "", ""])
            continue
        plan = record["plan"]
        rows.append([record["shape"]] + [f"{value / 2**30:.2f}" for value in (
            record["tensors"], plan["tensor_bytes"], record["reserved"], record["used"], plan["memory_bytes"])])
    return _table(["shape", "tensors at the peak, GiB", "plan", "the allocator", "the device", "plan with the context"],
                  rows) if rows else ""


def _settings(results: list[dict]) -> str:
    rows = [[record["shape"], record["setting"], _number(record.get("ms")), record.get("failed", "")]
            for record in _newest(results, "setting", "shape", "setting")]
    return _table(["shape", "setting", "ms a step", ""], rows) if rows else ""


PARTS = [("Machine", _machine), ("tests/gpu", _tests), ("Speed", _speed), ("A step", _steps),
         ("Our kernels under compute-sanitizer", _checks), ("The recipe's first steps", _recipe),
         ("Memory", _memory), ("Settings", _settings)]


def page(results: list[dict], order: list[str], past: dict[str, dict]) -> str:
    """`past`: by stage, as in state.json."""
    parts = [f"## {name}\n\n{text}" for name, made in PARTS if (text := made(results))]
    rows = [[name, past.get(name, {}).get("status") or "open", f"{past.get(name, {}).get('seconds', 0):.0f}",
             past.get(name, {}).get("note", "").replace("|", "/")] for name in order]
    parts.append("## Stages\n\n" + _table(["stage", "", "seconds", ""], rows))
    return "\n\n".join(parts) + "\n"
