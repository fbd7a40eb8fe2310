"""Drawing: self-contained HTML pages, SVG pictures, axes, colours and number formats."""
