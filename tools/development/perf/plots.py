"""Plots as SVG: dots on a logarithmic scale, and lines on two."""

import html
import math

COLOURS = {"winnow": "#1b6ca8", "winnow_leveldb": "#1b6ca8", "winnow_mapped": "#7fb8e6",
           "rocksdb": "#d1495b", "rocksdb_tuned": "#edae49", "leveldb": "#66a182", "lmdb": "#8d5a97",
           "wiredtiger": "#8c8c8c",
           # of styles.py
           "winnow leveled": "#1b6ca8", "winnow lazy_leveled": "#66a182",
           "winnow tiered": "#8d5a97", "rocksdb leveled": "#d1495b",
           "rocksdb universal": "#edae49"}
STEPS = (1, 2, 5)
LINE_PLOT = (700, 380)  # width and height


def colour_of(engine):
    return COLOURS.get(engine, "#444")


class LogScale:
    """From positive values to pixels, with round numbers for the axis."""

    def __init__(self, values, first_pixel, last_pixel):
        values = [value for value in values if value > 0] or [1]
        self.low = math.log10(min(values)) - 0.08
        self.high = math.log10(max(values)) + 0.08
        self.first = first_pixel
        self.span = last_pixel - first_pixel

    def __call__(self, value):
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.first + share * self.span

    def ticks(self):
        decades = range(math.floor(self.low), math.ceil(self.high) + 1)
        steps = STEPS if self.high - self.low < 3 else STEPS[:1]
        return [step * 10.0**decade for decade in decades for step in steps
                if self.low <= math.log10(step * 10.0**decade) <= self.high]


def text(x, y, content, anchor="start", size=12):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">'
            f"{html.escape(content)}</text>")


def line(x1, y1, x2, y2, colour="#ddd", width=1):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width}"/>')


def dot(x, y, engine, content):
    return (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{6 if engine.startswith("winnow") else 5}" '
            f'fill="{colour_of(engine)}" fill-opacity="0.85"><title>{html.escape(content)}</title>'
            "</circle>")


def legend(engines, y, x=10):
    parts = []
    for engine in engines:
        parts += [dot(x, y - 4, engine, engine), text(x + 10, y, engine)]
        x += 30 + 8 * len(engine)
    return parts


def svg(width, height, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif" fill="#222">'
            f'<rect width="{width}" height="{height}" fill="#fff"/>' + "".join(parts) + "</svg>\n")


def dot_plot(title, report):
    """A line for each row measured in microseconds, a dot for each engine, a stroke at the goal."""
    chosen = [row for row in report["rows"] if row["unit"] == "us" and row["medians"]]
    if not chosen:
        return ""
    width, top, step, left = 900, 64, 24, 270
    bottom = top + step * len(chosen)
    scale = LogScale([value for row in chosen for value in
                      (*row["medians"].values(), *([row["goal"]] if row["goal"] else []))],
                     left, width - 20)
    parts = [text(10, 20, title, size=15)]
    parts += legend(report["engines"], 44)
    for tick in scale.ticks():
        parts += [line(scale(tick), top - 8, scale(tick), bottom),
                  text(scale(tick), bottom + 16, f"{tick:g}", "middle")]
    for index, row in enumerate(chosen):
        y = top + step * index + step / 2
        parts += [line(left, y, width - 20, y, "#eee"), text(left - 10, y + 4, row["title"], "end")]
        if row["goal"]:
            parts.append(line(scale(row["goal"]), y - 9, scale(row["goal"]), y + 9, "#222", 2))
        for engine in sorted(row["medians"], key=lambda name: name == row["subject"]):  # on top
            value = row["medians"][engine]
            parts.append(dot(scale(value), y, engine, f"{engine}: {value:.3g} us"))
    parts.append(text(width - 20, bottom + 34, "microseconds an operation; | the goal", "end"))
    return svg(width, bottom + 44, parts)


def count_text(count):
    """Short enough to stand beside the next tick."""
    for unit, name in ((1e6, " M"), (1e3, " k")):
        if count >= unit:
            return f"{count / unit:g}{name}"
    return f"{count:g}"


def line_plot(title, x_title, y_title, curves):
    """`curves`: points (x, y) by engine, both scales logarithmic, so that zeros have no place."""
    curves = {engine: [point for point in curve if min(point) > 0]
              for engine, curve in curves.items()}
    points = [point for curve in curves.values() for point in curve]
    if not points:
        return ""
    width, height, left, top, bottom = *LINE_PLOT, 80, 60, 330
    across = LogScale([x for x, _ in points], left, width - 20)
    up = LogScale([y for _, y in points], bottom, top)
    parts = [text(10, 20, title, size=15)]
    parts += legend(curves, 44)
    for tick in across.ticks():
        parts += [line(across(tick), top, across(tick), bottom),
                  text(across(tick), bottom + 16, count_text(tick), "middle")]
    for tick in up.ticks():
        parts += [line(left, up(tick), width - 20, up(tick)),
                  text(left - 6, up(tick) + 4, f"{tick:g}", "end")]
    for engine, curve in curves.items():
        pixels = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in curve)
        parts.append(f'<polyline points="{pixels}" fill="none" stroke="{colour_of(engine)}" '
                     'stroke-width="2"/>')
        parts += [dot(across(x), up(y), engine, f"{engine}: {y:.4g}") for x, y in curve]
    parts += [text(width - 20, bottom + 36, x_title, "end"), text(left, top - 4, y_title)]
    return svg(width, height, parts)


def points_of(by_engine):
    """The points of line_plot, of medians as curves keep them."""
    return {engine: [(point["keys"], point["median"]) for point in points]
            for engine, points in by_engine.items()}


def line_plots(titled):
    """Those of `titled` (title, y_title and curves of each) in one picture, two in a row."""
    width, height = LINE_PLOT
    drawn = [plot for title, unit, curves in titled
             if (plot := line_plot(title, "keys", unit, curves))]
    parts = [plot.replace("<svg ", f'<svg x="{index % 2 * width}" y="{index // 2 * height}" ', 1)
             for index, plot in enumerate(drawn)]
    return svg(2 * width, (len(drawn) + 1) // 2 * height, parts)
