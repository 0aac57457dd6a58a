"""The measured rows as text, as Markdown and as HTML; `report` is what perf.json holds."""

import html
import statistics

from text_table import print_table

import rows

ASSERTIONS = "assertions on"


def make_report(measured, bench, titles):
    """Everything that was measured, as JSON."""
    used = {engine for values in measured.values.values() for engine in values}
    return {
        "tool": "perf", "num": measured.num, "rounds": measured.rounds, "machine": bench.machine,
        "engines": {name: title for name, title in titles.items() if name in used},
        "durability": measured.durability,
        "failures": [f"{engine}, {place}: {why}"
                     for (engine, place), why in measured.failures.items()],
        "rows": [row_of(row, measured.values[row.name]) for row in measured.chosen],
    }


def row_of(row, values):
    medians = {engine: statistics.median(rounds) for engine, rounds in values.items()}
    goal = rows.goal_of(row, medians)
    own = medians.get(row.subject)
    return {
        "name": row.name, "title": row.title, "unit": row.unit, "subject": row.subject,
        "values": values, "medians": medians,
        # How many times faster (or less) than each peer.
        "ratios": {engine: median / own for engine, median in medians.items()
                   if engine != row.subject and own},
        "goal": goal, "of_goal": own / goal if own and goal else None,
    }


def joined(before, report):
    """Two parts of one measurement: rows of the second take the place of those of the first."""
    by_name = {row["name"]: row for row in before["rows"]}
    by_name |= {row["name"]: row for row in report["rows"]}
    order = [row.name for row in rows.ROWS + rows.LARGE_ROWS]
    union = {name: before[name] | report[name] for name in ("engines", "durability")}
    both = {name: list(dict.fromkeys(before[name] + report[name]))
            for name in ("failures", "left_out")}
    return {**before, **report, **union, **both,
            "rows": sorted(by_name.values(), key=lambda row: order.index(row["name"]))}


def number(value):
    if value is None:
        return ""
    return f"{value:,.{3 if value < 1 else 2 if value < 100 else 0}f}"


def spread(row):
    """From the lowest to the highest round, as a share of the median."""
    values = row["values"].get(row["subject"], [])
    if len(values) < 2:
        return ""
    return f"{(max(values) - min(values)) / statistics.median(values):.0%}"


def peers_in(report):
    return [name for name in rows.PEERS if name in report["engines"]]


def mark(report, engine):
    return engine + ("*" if ASSERTIONS in report["engines"].get(engine, "") else "")


def peer_cell(row, engine):
    if engine not in row["medians"]:
        return ""
    ratio = row["ratios"].get(engine)
    return number(row["medians"][engine]) + (f" ({ratio:.2f}x)" if ratio else "")


def cells(report):
    """Titles, and the cells of each row."""
    peers = peers_in(report)
    titles = ["row", "", "winnow", "spread", *(mark(report, peer) for peer in peers), "goal",
              "of goal"]
    lines = []
    for row in report["rows"]:
        of_goal = "" if row["of_goal"] is None else f"{row['of_goal']:.2f}x"
        lines.append([row["title"], row["unit"], number(row["medians"].get(row["subject"])),
                      spread(row), *(peer_cell(row, peer) for peer in peers), number(row["goal"]),
                      of_goal])
    return titles, lines


def machine_text(report):
    machine = report["machine"]
    if not machine:
        return "unknown machine"
    return (f"{machine['cpu']}, {machine['num_cpus']} processors, "
            f"{machine['memory_bytes'] / 2**30:.0f} GiB, {machine['os']}, {machine['compiler']}")


def size_text(report):
    rounds = report["rounds"]
    return (f"{report['num']:,} keys of {rows.KEY_BYTES} bytes, medians of {rounds} interleaved "
            f"round{'' if rounds == 1 else 's'}")


def remarks(report):
    """What stands below a table, a line each."""
    lines = ["us: microseconds an operation (a key, a write, a seek); ms: milliseconds; x: bytes "
             "written to files for each byte given. Less is better."]
    by_durability = {}
    for engine, text in sorted(report["durability"].items()):
        by_durability.setdefault(text, []).append(engine)
    for text, engines in by_durability.items():
        survives = "a power failure" if text.endswith(", synced") else "the end of the process"
        lines.append(f"Writes of {', '.join(engines)}: {text}; they survive {survives}.")
    return lines + contenders(report)


def contenders(report):
    """What was run, what was not, and what failed."""
    lines = []
    for engine, title in report["engines"].items():
        star = "* " if ASSERTIONS in title else ""
        lines.append(f"{star}{title}" if title.startswith(engine) else f"{star}{engine}: {title}")
    lines += [f"Left out: {what}." for what in report.get("left_out", [])]
    lines += [f"FAILED: {failure}" for failure in report["failures"]]
    return lines


def print_text(report):
    print(f"\n{size_text(report)}\n{machine_text(report)}\n")
    titles, lines = cells(report)
    print_table(titles, lines, num_left=2)
    print()
    print("\n".join(goal_remarks() + remarks(report)))


def goal_remarks():
    return ["(1.50x): the peer takes as many times what Winnow takes. of goal: Winnow's share of the "
            "goal, met at 1.00x and below.",
            f"Goals that are figures are for {rows.GOALS_ARE_FOR:,} keys."]


def escaped(text):
    """A star as such, not as emphasis."""
    return text.replace("*", "\\*")


def section(intro, titles, lines, num_left, picture, below):
    """A section of a README: the table, whose first `num_left` columns are words, a picture of it
    and a list."""
    shown = [intro, "", "| " + " | ".join(titles) + " |",
             "|" + "---|" * num_left + "---:|" * (len(titles) - num_left)]
    shown += ["| " + " | ".join(line) + " |" for line in lines]
    if picture:
        shown += ["", picture]
    shown += [""] + ["* " + escaped(line) for line in below]
    return "\n".join(shown) + "\n"


def markdown(report, plot):
    """Table and plot of the rows, with their command and machine."""
    peers = peers_in(report)
    titles = ["", "unit", "Winnow", *(escaped(mark(report, peer)) for peer in peers)]
    lines = []
    for row in report["rows"]:
        best = min(row["medians"], key=row["medians"].get, default=None)
        shown = {row["subject"]: number(row["medians"].get(row["subject"])),
                 **{peer: peer_cell(row, peer) for peer in peers}}
        if best in (row["subject"], rows.MAPPED):
            shown[best] = f"**{shown[best]}**"
        lines.append([row["title"], row["unit"], *shown.values()])
    return section(f"`{report['command']}`, {size_text(report)}, on {machine_text(report)}. "
                   "In brackets, how many times what Winnow takes.", titles, lines, 2,
                   plot and f"![Each row, and each engine's time in it]({plot})", remarks(report))


def curves_markdown(report, titles, lines, num_left, plot):
    """The same of a measurement on more and more keys."""
    rounds = report["rounds"]
    medians = f"medians of {rounds} round{'' if rounds == 1 else 's'}"
    return section(f"`{report['command']}`, keys of {rows.KEY_BYTES} bytes, {medians}, on "
                   f"{machine_text(report)}.", titles,
                   [[escaped(cell) for cell in line] for line in lines], num_left,
                   plot and f"![The same as curves]({plot})", contenders(report))


def html_table(titles, lines):
    def line_of(tag, line):
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in line) + "</tr>\n"
    body = "".join(line_of("td", line) for line in lines)
    return f"<table>{line_of('th', titles)}{body}</table>\n"


STYLE = ("body{font:14px sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222;"
         "background:#fff}table{border-collapse:collapse;margin:1em 0}td,th{padding:2px 9px;"
         "border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}td:first-child,"
         "th:first-child{text-align:left}svg{display:block;margin:1.5em 0}")


def page(title, body):
    """An HTML page that loads nothing from elsewhere."""
    escaped = html.escape(title)
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escaped}</title>'
            f"<style>{STYLE}</style></head><body>\n<h1>{escaped}</h1>\n{body}</body></html>\n")


def html_remarks(report, lines):
    return (f"<p>{html.escape(size_text(report))}; {html.escape(machine_text(report))}.</p>\n",
            "".join(f"<p>{html.escape(line)}</p>\n" for line in lines))
