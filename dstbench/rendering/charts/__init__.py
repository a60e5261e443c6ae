"""Charts: declared once, of marks and axes, and drawn for the page of a report and for papers."""
