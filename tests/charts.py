"""What stands for a chart where charts are not what is tested."""

#: What vl-convert would return of an empty chart.
EMPTY_CHART = '<svg xmlns="http://www.w3.org/2000/svg" width="340" height="9"></svg>'
