"""A comparison as a page to read, print and pass on: one file, no network, no script.

    words    what was found, in sentences
    charts   curves and distributions, drawn by Vega-Altair (the extra `report`)
    page     the page around them

Law of the package: the page is complete in one file, and every text that users wrote is escaped.
"""
