"""An aligned table of text, as tools/report/text_table.h prints it."""


def print_table(titles, rows, num_left):
    """Rows of cells, one for each title; the first `num_left` columns are aligned left. Columns whose
    cells are all empty are left out."""
    kept = [column for column in range(len(titles)) if any(row[column] for row in rows)]
    widths = {column: max(len(line[column]) for line in [titles, *rows]) for column in kept}

    def line_of(cells):
        aligned = (cells[column].ljust(widths[column]) if column < num_left
                   else cells[column].rjust(widths[column]) for column in kept)
        return "  ".join(aligned).rstrip()

    lines = [line_of(titles)] + [line_of(row) for row in rows]
    lines.insert(1, "-" * (sum(widths.values()) + 2 * max(0, len(kept) - 1)))
    print("\n".join(lines))
