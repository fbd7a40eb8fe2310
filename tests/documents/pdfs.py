"""Small PDF files made by hand."""

FONTS = ("Helvetica", "Helvetica-Bold", "Helvetica-Oblique")
Line = tuple[float, float, float, str]
"""Left, baseline, size and text; *text* is bold and _text_ italic."""


def made(pages: list[list[Line]], title: str = "") -> bytes:
    """A PDF file with the standard fonts."""
    fonts = " ".join(f"/F{number} {number + 3} 0 R" for number in range(len(FONTS)))
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    objects += [f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>" for name in FONTS]
    numbers = []
    for page in pages:
        stream = "BT "
        for left, baseline, size, text in page:
            font = 1 if text.startswith("*") else 2 if text.startswith("_") else 0
            plain = text.strip("*_").replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
            stream += f"/F{font} {size} Tf 1 0 0 1 {left} {baseline} Tm ({plain}) Tj "
        objects.append(f"<< /Length {len(stream) + 2} >> stream\n{stream}ET\nendstream")
        content = len(objects)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {content} 0 R"
            f" /Resources << /Font << {fonts} >> >> >>"
        )
        numbers.append(len(objects))
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(f'{each} 0 R' for each in numbers)}] /Count {len(numbers)} >>"
    objects.append(f"<< /Title ({title}) >>")
    output, places = "%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(output))
        output += f"{number} 0 obj\n{each}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    count = len(objects) + 1
    output += (
        f"xref\n0 {count}\n0000000000 65535 f \n{table}trailer\n<< /Size {count} /Root 1 0 R /Info {count - 1} 0 R >>\n"
    )
    return f"{output}startxref\n{output.index('xref')}\n%%EOF".encode("cp1252")


def lines(*given: str, left: float = 50, start: float = 700, size: float = 10) -> list[Line]:
    return [(left, start - 12 * number, size, text) for number, text in enumerate(given)]
