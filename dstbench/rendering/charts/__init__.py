"""One description of each chart, in Vega-Lite, and how it is drawn: on the page of a report and in papers."""
